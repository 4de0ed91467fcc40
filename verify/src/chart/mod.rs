//! Message-sequence charts: one execution, a lane for each rank, time from top to bottom.
//!
//! A [`Chart`] holds the rows and arrows; [`Chart::text`] draws it for a terminal, [`Chart::svg`] and [`Chart::html`]
//! for a browser. A packet leaves in one row and arrives in a later one, so that packets which cross are seen to
//! cross. An epoch of a window is a bar left of its rank's lane, from the call that opens it until it is complete.

mod bars;
mod canvas;
mod html;
mod svg;
mod terminal;

pub(crate) use bars::place;
pub use bars::{BarPart, EpochBar};

use std::borrow::Cow;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// One execution, to be drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chart {
    /// The ranks that are drawn, ascending.
    pub lanes: Vec<u32>,
    /// Ranks that take part and are not drawn, ascending.
    pub left_out: Vec<u32>,
    /// Steps before the first that is drawn.
    pub skipped: u32,
    /// What happens, in order.
    pub rows: Vec<ChartRow>,
    /// Packets and data between the lanes, in the order in which they are sent.
    pub arrows: Vec<Arrow>,
    /// The epochs of windows, in the order in which they are opened.
    pub bars: Vec<EpochBar>,
    /// The ends of ranks that do not finish.
    pub ends: Vec<LaneEnd>,
}

/// Something that happens at one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartRow {
    /// The number of the step, from 1.
    pub step: u32,
    /// The lane, as an index into [`Chart::lanes`].
    pub lane: usize,
    /// Other lanes whose ranks take part, ascending: those that enter the same collective.
    pub others: Vec<usize>,
    /// The text; may be empty if an arrow says it all.
    pub text: String,
    /// The same in a word or two, where there is no room; empty if it is no statement.
    pub brief: String,
    /// The arrow that ends here.
    pub arrives: Option<usize>,
    /// The arrows that begin here.
    pub sends: Vec<usize>,
    /// Of the row with the violation: what goes wrong.
    pub wrong: Option<String>,
    /// Of a call that waits in the end: who is late.
    pub late: Option<String>,
}

/// A packet or data between two lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// The lane where it begins.
    pub from: usize,
    /// The lane where it ends.
    pub to: usize,
    /// The row in which it is sent.
    pub leaves: usize,
    /// The row in which it arrives, if it does.
    pub arrives: Option<usize>,
    /// What it is.
    pub label: String,
    /// What kind of thing.
    pub kind: ArrowKind,
}

/// What an arrow carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrowKind {
    /// A packet of a message.
    Control,
    /// The data of a message.
    Data,
    /// The data of a put, a get or an accumulate, to where it is written.
    Transfer,
    /// An operand that goes to a target, and what was there, which comes back to the origin.
    Exchange,
    /// A grant of a window, or one of its packets: the request or release of a lock, or the end of an access.
    Synchronization,
}

/// The end of a rank that does not finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneEnd {
    /// Which lane.
    pub lane: usize,
    /// Why.
    pub text: String,
    /// The ranks that are late, and with what.
    pub late: Option<String>,
}

impl Arrow {
    /// Whether a rank has sent it to itself.
    fn is_loop(&self) -> bool {
        self.from == self.to
    }
}

impl Chart {
    /// How many epochs stand beside each other left of a lane.
    fn columns(&self, lane: usize) -> usize {
        self.bars.iter().filter(|bar| bar.lane == lane).map(|bar| bar.column + 1).max().unwrap_or(0)
    }

    /// `Not drawn: ranks 16, 17 and 12 more.`
    fn not_drawn(&self) -> Option<String> {
        const NAMED_MAX: usize = 8;
        let mut missing = Vec::new();
        match self.skipped {
            0 => {}
            1 => missing.push("step 1".to_owned()),
            skipped => missing.push(format!("steps 1 to {skipped}")),
        }
        if !self.left_out.is_empty() {
            let named: Vec<String> = self.left_out.iter().take(NAMED_MAX).map(u32::to_string).collect();
            let s = if self.left_out.len() == 1 { "" } else { "s" };
            let more = self.left_out.len().saturating_sub(NAMED_MAX);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            missing.push(format!("rank{s} {}{more}", named.join(", ")));
        }
        (!missing.is_empty()).then(|| format!("Not drawn: {}.", missing.join("; ")))
    }
}

/// The number of an arrow as a reader sees it: ① to ⑳, then (21).
fn number(arrow: usize) -> String {
    let circled = u32::try_from(arrow).ok().filter(|arrow| *arrow < 20);
    match circled.and_then(|arrow| char::from_u32(0x2460 + arrow)) {
        Some(circled) => circled.to_string(),
        None => format!("({})", arrow + 1),
    }
}

/// `text` in lines of at most `width` characters, broken at blanks where it has some.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width.max(1))
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let lines = textwrap::wrap(text, options).into_iter();
    lines.filter(|line| !line.is_empty()).map(Cow::into_owned).collect()
}
