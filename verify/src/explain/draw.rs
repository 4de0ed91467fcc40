//! From an execution to a chart.

use super::diagnosis::Diagnosis;
use super::draw_epochs::bars;
use super::execution::{ExecutedStep, Execution, Sent, SentId};
use super::late::{self, Wait};
use super::names::Names;
use super::of_windows;
use super::slice::{Slice, ToldStep};
use super::stuck::Deadlock;
use super::weakest;
use crate::action::{Action, Choice};
use crate::chart::{Arrow, ArrowKind, Chart, ChartRow, LaneEnd};
use crate::network::{ChannelKind, InFlight, Message};
use crate::program::{Act, Ordinal};
use crate::weakest::LockStep;
use carrousel_rank::Packet;
use carrousel_rank::epoch::TransferKind;
use std::collections::{BTreeSet, HashMap};

/// Ranks that are drawn.
const LANES_MAX: usize = 16;
/// Steps that are drawn: the last ones.
const ROWS_MAX: usize = 200;

/// What stands at the end of a chart.
pub(super) struct Ending<'a> {
    /// The ranks that can never go on.
    pub(super) deadlock: Option<&'a Deadlock>,
    /// What is wrong, if it is something else.
    pub(super) diagnosis: &'a Diagnosis,
    /// The step at which it goes wrong.
    pub(super) wrong: Option<usize>,
    /// Ranks that wait for late ones.
    pub(super) late: &'a [Wait],
}

/// Draws the steps that are kept, and how they end.
pub(super) fn chart(names: &Names<'_>, execution: &Execution, slice: &Slice, ending: &Ending<'_>) -> Chart {
    let &Ending { deadlock, diagnosis, .. } = ending;
    let keep = &slice.keep[..];
    let is_whole = keep.iter().all(|keep| *keep);
    let stuck = deadlock.map_or(Vec::new(), |deadlock| match is_whole {
        true => deadlock.ranks(),
        false => deadlock.told(),
    });
    let first: Vec<u16> = diagnosis.ranks.iter().copied().chain(stuck).collect();
    // Ranks with steps of their own; one that only enters a collective has no lane for that.
    let alone = slice.told.iter().filter_map(|told| match told {
        ToldStep::One(at) => Some(execution.steps[*at].at),
        ToldStep::Collective(..) => None,
    });
    let acting: BTreeSet<u16> = first.iter().copied().chain(alone).collect();
    // A collective is drawn where the last of these ranks enters it.
    let place = |told: &ToldStep| match told {
        ToldStep::One(at) => Some(*at),
        ToldStep::Collective(_, entries) => {
            let is_drawn = |entry: &&usize| acting.contains(&execution.steps[**entry].at);
            entries.iter().rfind(is_drawn).or(entries.last()).copied()
        }
    };
    let kept: Vec<(&ToldStep, usize, &ExecutedStep)> = slice
        .told
        .iter()
        .filter_map(|told| Some((told, place(told)?)))
        .map(|(told, at)| (told, at, &execution.steps[at]))
        .collect();
    let skipped = kept.len().saturating_sub(ROWS_MAX);
    let drawn = &kept[skipped..];
    let acting = drawn.iter().map(|(.., step)| step.at);
    let sent = drawn.iter().flat_map(|(.., step)| &step.sent).map(|sent| &execution.sent[*sent]);
    let addressed = sent.filter(|_| is_whole).map(|sent| sent.channel.at);
    let (lanes, left_out) = lanes(first.into_iter().chain(acting).chain(addressed));
    let mut pen = Pen {
        names,
        execution,
        keep,
        is_whole,
        lanes: &lanes,
        arrows: HashMap::new(),
        steps: Vec::new(),
        chart: Chart::default(),
    };
    for (number, (told, at, step)) in drawn.iter().enumerate() {
        pen.row((skipped + number) as u32 + 1, *at, step, told);
    }
    pen.ends(ending);
    let mut chart = pen.chart;
    let first = drawn.first().map_or(0, |(_, at, _)| *at);
    chart.bars = bars(names, execution, &lanes, first, &pen.steps);
    chart.skipped = skipped as u32;
    chart.lanes = lanes.iter().map(|rank| u32::from(*rank)).collect();
    chart.left_out = left_out.iter().map(|rank| u32::from(*rank)).collect();
    chart
}

/// The ranks that are drawn, those that come first if there are too many, and the others.
fn lanes(ranks: impl Iterator<Item = u16>) -> (Vec<u16>, Vec<u16>) {
    let (mut drawn, mut left_out) = (BTreeSet::new(), BTreeSet::new());
    for rank in ranks {
        if drawn.len() < LANES_MAX || drawn.contains(&rank) {
            drawn.insert(rank);
        } else {
            left_out.insert(rank);
        }
    }
    (drawn.into_iter().collect(), left_out.into_iter().collect())
}

struct Pen<'a> {
    names: &'a Names<'a>,
    execution: &'a Execution,
    /// Which steps are told.
    keep: &'a [bool],
    /// All are.
    is_whole: bool,
    lanes: &'a [u16],
    /// The arrow of each item that was sent.
    arrows: HashMap<SentId, usize>,
    /// The step of each row.
    steps: Vec<usize>,
    chart: Chart,
}

impl Pen<'_> {
    fn lane(&self, rank: u16) -> Option<usize> {
        self.lanes.binary_search(&rank).ok()
    }

    /// Draws the step `at` as the one with this number.
    fn row(&mut self, number: u32, at: usize, step: &ExecutedStep, told: &ToldStep) {
        let Some(lane) = self.lane(step.at) else { return };
        let entries = match told {
            ToldStep::One(_) => &[][..],
            ToldStep::Collective(_, entries) => entries,
        };
        let entered = entries.iter().map(|entry| self.execution.steps[*entry].at);
        let mut others: Vec<usize> = entered.filter_map(|rank| self.lane(rank)).collect();
        others.sort_unstable();
        others.retain(|other| *other != lane);
        let row = self.chart.rows.len();
        let arrives = step.landed.and_then(|landed| self.arrows.get(&landed).copied());
        if let Some(arrow) = arrives {
            self.chart.arrows[arrow].arrives = Some(row);
        }
        let text = match (told, step.pc) {
            (ToldStep::Collective(..), Some(pc)) => self.collective_text(step.at, usize::from(pc)),
            _ => self.text(step, arrives.is_some()),
        };
        let sends: Vec<usize> = step.sent.iter().filter_map(|id| self.arrow(*id, row)).collect();
        self.steps.push(at);
        let brief = self.brief(step).unwrap_or_default();
        let row =
            ChartRow { step: number, lane, others, text, brief, arrives, sends, wrong: None, late: None };
        self.chart.rows.push(row);
    }

    /// Begins the arrow of an item that is sent in `row`; `None` if its end is not drawn.
    fn arrow(&mut self, id: SentId, row: usize) -> Option<usize> {
        let sent = &self.execution.sent[id];
        // A write or read is drawn as its data. Its completion stays within a rank.
        if matches!(sent.item, InFlight::Completion(_) | InFlight::Moved(_)) {
            return None;
        }
        // An item that arrives at a step that is left out would look as if it never arrived.
        if sent.landed.is_some_and(|landed| !self.keep[landed]) {
            return None;
        }
        // Of what is still on its way, only data and messages say something of a program.
        let is_small = matches!(sent.item, InFlight::OfEpoch { .. } | InFlight::Granted(..))
            || sent.channel.context.is_collective();
        if sent.landed.is_none() && is_small && !self.is_whole {
            return None;
        }
        let (from, to) = (self.lane(sent.channel.peer)?, self.lane(sent.channel.at)?);
        let (label, kind) = self.label(sent);
        let arrow = self.chart.arrows.len();
        self.chart.arrows.push(Arrow { from, to, leaves: row, arrives: None, label, kind });
        self.arrows.insert(id, arrow);
        Some(arrow)
    }

    fn label(&self, sent: &Sent) -> (String, ArrowKind) {
        let message = |message: Message| self.names.tag(message.from, message.send);
        match sent.item {
            InFlight::Data(data, notice) => {
                let notice = notice.map_or(String::new(), |packet| format!(" + {}", packet.name()));
                (format!("data {}{notice}", message(data.message)), ArrowKind::Data)
            }
            InFlight::Read(..) | InFlight::Completion(_) => (
                sent.message.map_or("data".to_owned(), |sent| format!("data {}", message(sent))),
                ArrowKind::Data,
            ),
            InFlight::Transfer(moving) => {
                let origin = sent.channel.origin();
                let kind = match self.names.kind_of_access(origin, moving.access) {
                    Some(TransferKind::Put | TransferKind::Get | TransferKind::Accumulate) | None => {
                        ArrowKind::Transfer
                    }
                    Some(_) => ArrowKind::Exchange,
                };
                (self.names.access(origin, moving.access), kind)
            }
            InFlight::Moved(_) => ("complete".to_owned(), ArrowKind::Synchronization),
            InFlight::OfEpoch { .. } | InFlight::Granted(..) => {
                let name = of_windows::packet_name(&sent.item).unwrap_or_default();
                (name.to_owned(), ArrowKind::Synchronization)
            }
            InFlight::Packet(packet, _) | InFlight::Notice(packet)
                if sent.channel.context.is_collective() =>
            {
                let name = self.names.collective(sent.channel.peer, sent.channel.context.communicator());
                match packet {
                    Packet::Eager { len: 0, .. } => (name.to_owned(), ArrowKind::Control),
                    Packet::Eager { .. } => (name.to_owned(), ArrowKind::Data),
                    _ => (format!("{} {name}", packet.name()), ArrowKind::Control),
                }
            }
            InFlight::Packet(packet, _) | InFlight::Notice(packet) => {
                let receive = match packet {
                    Packet::Rtr(rtr) => self.execution.ordinal(sent.channel.peer, rtr.receive),
                    Packet::Cancel { rtr } => self.execution.ordinal(sent.channel.peer, rtr.receive),
                    _ => None,
                };
                let about = receive.map(|receive| self.names.tag(sent.channel.peer, receive));
                let about =
                    about.or(sent.message.map(message)).map_or(String::new(), |about| format!(" {about}"));
                let kind =
                    if matches!(packet, Packet::Eager { .. }) { ArrowKind::Data } else { ArrowKind::Control };
                (format!("{}{about}", packet.name()), kind)
            }
        }
    }

    /// The text of a row, next to its arrow.
    fn text(&self, step: &ExecutedStep, has_arrow: bool) -> String {
        let at = step.at;
        let tag = |request: Ordinal| self.names.tag(at, request);
        match step.action {
            Action::Announce { receive, .. } => format!("announces {}", tag(receive)),
            Action::Lock(LockStep { window, host, origin, is_grant, .. }) => {
                let verb = if is_grant { "gets" } else { "gives back" };
                format!("{verb} {}", weakest::lock_of(self.names, (window, host), origin))
            }
            Action::Step { choice, .. } => {
                self.own_text(step, usize::from(step.pc.unwrap_or_default()), choice)
            }
            Action::Land(_) | Action::Overtake { .. } => {
                let mut parts = Vec::new();
                if let Some(landed) = step.landed.filter(|_| !has_arrow) {
                    let sent = &self.execution.sent[landed];
                    parts.push(match (sent.item, sent.channel.kind) {
                        (InFlight::Completion(_), ChannelKind::Written) => "write complete".to_owned(),
                        (InFlight::Completion(_), _) => "read complete".to_owned(),
                        (InFlight::Moved(_), _) => "transfer complete".to_owned(),
                        _ => format!("{} from rank {}", self.label(sent).0, sent.channel.peer),
                    });
                }
                match (step.kept, step.matched) {
                    (Some(_), _) => parts.push("no receive yet".to_owned()),
                    (_, Some((receive, _))) if step.completed.is_empty() => {
                        parts.push(format!("for {}", tag(receive)))
                    }
                    _ => {}
                }
                parts.extend(step.completed.iter().map(|request| format!("{} complete", tag(*request))));
                parts.join(", ")
            }
        }
    }

    /// Whether a step is followed by the return of its statement.
    fn returns_later(&self, rank: u16, pc: usize) -> bool {
        let line = |pc: usize| self.names.line(rank, pc);
        matches!(self.names.act(rank, pc + 1), Some(Act::Wait(_))) && line(pc) == line(pc + 1)
    }

    /// A collective that ranks enter. Those of a split are told apart by their colors.
    fn collective_text(&self, rank: u16, pc: usize) -> String {
        let line = self.names.line(rank, pc).filter(|_| self.names.has_lines());
        let line = line.map_or(String::new(), |line| format!("{line}: "));
        match self.names.split(rank, pc) {
            Some((statement, groups)) => format!("{line}{statement}, {groups}"),
            None => format!("{line}{}", self.names.statement(rank, pc)),
        }
    }

    /// The line and the verb of a statement; none if it has values that only this execution has.
    fn brief(&self, step: &ExecutedStep) -> Option<String> {
        let pc = usize::from(step.pc?);
        let line = self.names.line(step.at, pc).filter(|_| self.names.has_lines())?;
        if self.names.values(step.at, pc).is_some() || !step.learnt.is_empty() {
            return None;
        }
        let statement = self.names.statement(step.at, pc);
        let called = statement.split_once(" = ").map_or(&*statement, |(_, called)| called);
        let returns = match self.names.act(step.at, pc) {
            Some(Act::AwaitGrants(_)) if self.returns_later(step.at, pc) => ": its epoch opens",
            Some(Act::Wait(_) | Act::AwaitGrants(_)) => " returns",
            _ => "",
        };
        Some(format!("{line}: {}{returns}", called.split_whitespace().next()?))
    }

    fn own_text(&self, step: &ExecutedStep, pc: usize, choice: Choice) -> String {
        let line = self.names.line(step.at, pc).filter(|_| self.names.has_lines());
        let line = line.map_or(String::new(), |line| format!("{line}: "));
        let outcome = match (self.names.act(step.at, pc), choice) {
            (Some(Act::Test(_)), Choice::Fail) => ", not yet",
            (Some(Act::Test(_)), _) => ", done",
            (Some(Act::AwaitGrants(_)), _) if self.returns_later(step.at, pc) => ": its epoch opens",
            (Some(Act::Wait(_) | Act::AwaitGrants(_)), _) => " returns",
            (Some(Act::Start(_)), Choice::Decline) => ", declines",
            _ => "",
        };
        let values = self.names.values(step.at, pc).map_or(String::new(), |values| format!(" ({values})"));
        let statement = format!("{}{values}", self.names.statement(step.at, pc));
        // The end of a blocking statement is told by its verb alone: its beginning is drawn, too.
        let called = statement.split_once(" = ").map_or(&*statement, |(_, called)| called);
        let verb = called.split_whitespace().next().filter(|verb| *verb != "wait");
        let known = step.learnt.iter().map(|message| self.names.message_known(step.at, *message));
        let known = known.map(|known| format!(" ({known})")).collect::<String>();
        match (self.names.act(step.at, pc), verb) {
            (Some(Act::Wait(_)), Some(verb)) => format!("{line}{verb}{outcome}{known}"),
            _ => format!("{line}{statement}{outcome}{known}"),
        }
    }

    fn ends(&mut self, &Ending { deadlock, diagnosis, wrong, late }: &Ending<'_>) {
        for waiting in deadlock.map_or(&[][..], |deadlock| &deadlock.waiting) {
            if let Some(lane) = self.lane(waiting.rank) {
                let statement = self.names.statement(waiting.rank, waiting.pc);
                let line = self.names.line(waiting.rank, waiting.pc).filter(|_| self.names.has_lines());
                let text = match line {
                    Some(line) => format!("stuck at line {line}: {statement}"),
                    None => format!("stuck: {statement}"),
                };
                self.chart.ends.push(LaneEnd { lane, text, late: None });
            }
        }
        for wait in late {
            self.late(wait);
        }
        if deadlock.is_none()
            && !diagnosis.here.is_empty()
            && let Some(last) = self.chart.rows.len().checked_sub(1)
        {
            let row = self.steps.iter().position(|step| Some(*step) == wrong).unwrap_or(last);
            self.chart.rows[row].wrong = Some(diagnosis.here.clone());
        }
    }

    /// Writes who is late where the lane of the rank that waits ends, or else at its last call on the epoch.
    fn late(&mut self, wait: &Wait) {
        let Some(lane) = self.lane(wait.rank) else { return };
        let words = Some(late::in_words(&wait.late));
        if let Some(end) = self.chart.ends.iter_mut().find(|end| end.lane == lane) {
            end.late = words;
            return;
        }
        let call = self.names.step_of(wait.rank, wait.request);
        let is_call = |step: &usize| {
            let step = &self.execution.steps[*step];
            step.at == wait.rank && step.pc.map(usize::from).is_some_and(|pc| Some(pc) == call)
        };
        if let Some(row) = self.steps.iter().rposition(is_call) {
            self.chart.rows[row].late = words;
        }
    }
}
