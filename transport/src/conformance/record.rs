//! The events that the ranks of a plan have noted, and their text.
//!
//! A record is text: a line with the plan's name, then one for each rank, its events in order. A letter names
//! the event, numbers behind it the rank and the step: `p4` posted, `k1.4.SUM` a packet, `m1.4.SUM`
//! memory that was checked behind a packet, `e1.4.SUM` at the end, `w4` written, `r4.SUM` read, `v4.VALUE` fetched by an
//! atomic, `u2.VALUE` shared word 2 at the end, `l1` lost, `f1` a foreign packet or completion, `s` a stray byte. A rank that was killed in the middle has `-`.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// An event that one rank has noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The rank has posted its step at this position.
    Posted(usize),
    /// The packet of the step that `from` posted at `at` has arrived; `sum` is that of its data.
    Packet {
        /// The sender.
        from: u32,
        /// The position of its step.
        at: usize,
        /// The checksum of the data.
        sum: u64,
    },
    /// The contents, directly behind a packet, of the slot into which the write of `from` at `at` goes.
    Memory {
        /// The rank that wrote.
        from: u32,
        /// The position of its step.
        at: usize,
        /// The checksum of the contents.
        sum: u64,
    },
    /// As `Memory`, at the end.
    FinalMemory {
        /// The rank that wrote.
        from: u32,
        /// The position of its step.
        at: usize,
        /// The checksum of the contents.
        sum: u64,
    },
    /// The rank's write at this position is complete.
    Written(usize),
    /// The rank's read at this position is complete.
    Read {
        /// The position of its step.
        at: usize,
        /// The checksum of the destination's contents.
        sum: u64,
    },
    /// The rank's atomic at this position is complete.
    Fetched {
        /// The position of its step.
        at: usize,
        /// The value that it found.
        value: u64,
    },
    /// The value of a shared word of this rank; noted at the end.
    FinalWord {
        /// The number of the word.
        word: u32,
        /// Its value.
        value: u64,
    },
    /// A peer is lost.
    Lost(u32),
    /// A packet of this peer that is not of the plan, or a completion (with this rank itself) of no operation.
    Foreign(u32),
    /// A byte outside all slots has changed; noted at the end.
    Stray,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Posted(at) => write!(f, "p{at}"),
            Self::Packet { from, at, sum } => write!(f, "k{from}.{at}.{sum:x}"),
            Self::Memory { from, at, sum } => write!(f, "m{from}.{at}.{sum:x}"),
            Self::FinalMemory { from, at, sum } => write!(f, "e{from}.{at}.{sum:x}"),
            Self::Written(at) => write!(f, "w{at}"),
            Self::Read { at, sum } => write!(f, "r{at}.{sum:x}"),
            Self::Fetched { at, value } => write!(f, "v{at}.{value:x}"),
            Self::FinalWord { word, value } => write!(f, "u{word}.{value:x}"),
            Self::Lost(rank) => write!(f, "l{rank}"),
            Self::Foreign(rank) => write!(f, "f{rank}"),
            Self::Stray => write!(f, "s"),
        }
    }
}

impl FromStr for Event {
    type Err = RecordError;

    fn from_str(word: &str) -> Result<Self, RecordError> {
        let parse = || {
            let kind = word.chars().next()?;
            let mut numbers = word[kind.len_utf8()..].split('.');
            let event = {
                let mut rank = || numbers.next()?.parse().ok();
                match kind {
                    'l' => Self::Lost(rank()?),
                    'f' => Self::Foreign(rank()?),
                    's' => return (word == "s").then_some(Self::Stray),
                    'p' | 'w' | 'r' | 'v' | 'u' => {
                        let number: u32 = rank()?;
                        let at = number as usize;
                        let mut value = || u64::from_str_radix(numbers.next()?, 16).ok();
                        match kind {
                            'p' => Self::Posted(at),
                            'w' => Self::Written(at),
                            'r' => Self::Read { at, sum: value()? },
                            'v' => Self::Fetched { at, value: value()? },
                            _ => Self::FinalWord { word: number, value: value()? },
                        }
                    }
                    'k' | 'm' | 'e' => {
                        let (from, at) = (rank()?, numbers.next()?.parse().ok()?);
                        let sum = u64::from_str_radix(numbers.next()?, 16).ok()?;
                        match kind {
                            'k' => Self::Packet { from, at, sum },
                            'm' => Self::Memory { from, at, sum },
                            _ => Self::FinalMemory { from, at, sum },
                        }
                    }
                    _ => return None,
                }
            };
            numbers.next().is_none().then_some(event)
        };
        parse().ok_or_else(|| RecordError(word.chars().take(80).collect()))
    }
}

/// The events that the ranks of a plan have noted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The transport and its settings.
    pub transport: String,
    /// The name of the plan.
    pub plan: String,
    /// By rank; `None` for one that was killed in the middle.
    pub ranks: Vec<Option<Vec<Event>>>,
}

/// A text that is not a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not part of a record: write the file anew with the test that makes it")]
pub struct RecordError(String);

/// The word between the plan and the transport in the first line.
const OVER: &str = " over ";
const BEGIN: &str = "plan ";

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{BEGIN}{}{OVER}{}", self.plan, self.transport)?;
        for rank in &self.ranks {
            writeln!(f, "{}", RecordLine(rank.as_deref()))?;
        }
        Ok(())
    }
}

/// The events of one rank, as a line.
#[derive(Clone, Copy, Debug)]
pub struct RecordLine<'a>(pub Option<&'a [Event]>);

impl fmt::Display for RecordLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(events) = self.0 else { return write!(f, "-") };
        for (count, event) in events.iter().enumerate() {
            if count > 0 {
                write!(f, " ")?;
            }
            write!(f, "{event}")?;
        }
        Ok(())
    }
}

/// The events in a line.
///
/// # Errors
/// When a word is not an event.
pub fn parse_record_line(line: &str) -> Result<Option<Vec<Event>>, RecordError> {
    if line == "-" {
        return Ok(None);
    }
    line.split_whitespace().map(str::parse).collect::<Result<_, _>>().map(Some)
}

/// The records in a text, one after the other.
///
/// # Errors
/// When it is not made of records.
pub fn parse(text: &str) -> Result<Vec<Record>, RecordError> {
    let mut records: Vec<Record> = Vec::new();
    for line in text.lines() {
        if let Some((plan, transport)) = line.strip_prefix(BEGIN).and_then(|rest| rest.rsplit_once(OVER)) {
            let (plan, transport) = (plan.to_owned(), transport.to_owned());
            records.push(Record { transport, plan, ranks: Vec::new() });
        } else {
            let bad = || RecordError(line.chars().take(80).collect());
            records.last_mut().ok_or_else(bad)?.ranks.push(parse_record_line(line)?);
        }
    }
    Ok(records)
}
