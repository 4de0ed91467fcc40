//! Deadlocks: who waits for whom, and the cycle.

use super::names::{Names, bytes, ranks};
use crate::explore::Path;
use crate::program::{Act, Ordinal, Start};
use crate::state::{Message, Proc, State};
use carrousel_rank::{Context, Envelope, Pattern, Protocol, RankId, Source, Tag, TagSelector};
use std::collections::{HashMap, HashSet, VecDeque};

/// Ranks that are listed one by one if there are no more.
const LISTED_MAX: usize = 8;
/// Ranks that are listed for example if there are more.
const EXAMPLES: usize = 3;
/// Ranks from which a cycle is searched; where there is one, one of the first will be near it.
const STARTS_MAX: usize = 32;

/// A rank that can never go on.
pub(super) struct Waiting {
    pub(super) rank: u16,
    /// Its next step.
    pub(super) pc: usize,
    /// The first request that it waits for; none for a probe.
    request: Option<Ordinal>,
    /// `rank 0 waits at line 5 (...) for ...`.
    sentence: String,
    /// Unfinished ranks that could end it.
    edges: Vec<u16>,
}

/// A state in which nothing moves.
pub(super) struct Deadlock {
    /// Every stuck rank.
    pub(super) waiting: Vec<Waiting>,
    /// Ranks that wait for each other, each for the next, the last for the first.
    pub(super) cycle: Vec<u16>,
}

impl Deadlock {
    /// Looks at the last state of a path.
    pub(super) fn new<P: Protocol>(names: &Names<'_>, path: &Path<P>) -> Self {
        let Some((state, _)) = path.steps.last() else {
            return Self { waiting: Vec::new(), cycle: Vec::new() };
        };
        let scene = Scene { names, state };
        let waiting: Vec<Waiting> = (0..names.ranks()).filter_map(|rank| scene.waiting(rank)).collect();
        let cycle = cycle(&waiting);
        Self { waiting, cycle }
    }

    /// The ranks whose story has to be told.
    pub(super) fn ranks(&self) -> Vec<u16> {
        let all = self.waiting.iter().map(|waiting| waiting.rank);
        if self.waiting.len() > LISTED_MAX && !self.cycle.is_empty() {
            self.cycle.clone()
        } else {
            all.collect()
        }
    }

    /// Who waits for what, the cycle, and the rule.
    pub(super) fn summary(&self, names: &Names<'_>) -> String {
        let listed = self.listed();
        let mut text = String::from("Deadlock: ");
        text.push_str(&listed.iter().map(|waiting| waiting.sentence.as_str()).collect::<Vec<_>>().join("; "));
        let more = self.waiting.len() - listed.len();
        if more > 0 {
            let s = if more == 1 { " waits" } else { "s wait" };
            text.push_str(&format!("; {more} more rank{s} forever"));
        }
        text.push('.');
        if self.cycle.len() > 1 {
            text.push_str(&format!(" They wait for each other: {}.", self.circle()));
        }
        if let Some(rule) = listed.first().and_then(|waiting| rule(names, waiting)) {
            text.push(' ');
            text.push_str(&rule);
        }
        text
    }

    /// `rank 0 -> rank 1 -> rank 0`.
    fn circle(&self) -> String {
        let mut names: Vec<String> = self.cycle.iter().map(|rank| format!("rank {rank}")).collect();
        let count = names.len();
        names.extend(names.first().cloned());
        if count > LISTED_MAX {
            names.splice(3..count - 1, [String::from("...")]);
            return format!("{} ({count} ranks)", names.join(" -> "));
        }
        names.join(" -> ")
    }

    fn listed(&self) -> Vec<&Waiting> {
        let in_cycle = |waiting: &&Waiting| self.cycle.contains(&waiting.rank);
        if self.waiting.len() <= LISTED_MAX {
            self.waiting.iter().collect()
        } else if self.cycle.is_empty() {
            self.waiting.iter().take(EXAMPLES).collect()
        } else {
            self.waiting.iter().filter(in_cycle).take(EXAMPLES).collect()
        }
    }
}

/// The rule that makes a rank wait.
fn rule(names: &Names<'_>, waiting: &Waiting) -> Option<String> {
    let Some(request) = waiting.request else {
        return Some(
            "A probe returns only when a message that it matches has come (MPI-4.1, 3.8.1).".to_owned(),
        );
    };
    Some(match names.start(waiting.rank, request)? {
        Start::Send { synchronous: true, .. } => {
            "A synchronous send is complete only when its receive has begun (MPI-4.1, 3.4).".to_owned()
        }
        Start::Send { .. } => match names.eager_threshold() {
            Some(largest) => format!(
                "MPI lets a standard send wait for its receive (MPI-4.1, 3.4), and one of more than {} does so \
                 (option eager_threshold).",
                bytes(largest)
            ),
            None => "MPI lets a standard send of any size wait for its receive (MPI-4.1, 3.4).".to_owned(),
        },
        Start::Receive { .. } => {
            "A receive is complete only when it has a message of its source and tag (MPI-4.1, 3.2.4)."
                .to_owned()
        }
        Start::Barrier => {
            "A barrier is complete only when every rank has entered it (MPI-4.1, 6.3).".to_owned()
        }
    })
}

struct Scene<'a, P: Protocol> {
    names: &'a Names<'a>,
    state: &'a State<P>,
}

impl<P: Protocol> Scene<'_, P> {
    fn proc(&self, rank: u16) -> Option<&Proc<P>> {
        self.state.procs.get(usize::from(rank)).map(|proc| &**proc)
    }

    fn pc(&self, rank: u16) -> usize {
        self.proc(rank).map_or(0, |proc| usize::from(proc.pc))
    }

    fn is_finished(&self, rank: u16) -> bool {
        self.names.act(rank, self.pc(rank)).is_none()
    }

    fn waiting(&self, rank: u16) -> Option<Waiting> {
        let proc = self.proc(rank)?;
        let pc = usize::from(proc.pc);
        let mut edges = Vec::new();
        let mut request = None;
        let mut reasons: Vec<String> = match self.names.act(rank, pc)? {
            Act::Wait(ordinals) => {
                let open: Vec<Ordinal> = ordinals.iter().copied().filter(|o| !proc.is_over(*o)).collect();
                request = open.first().copied();
                let mut reasons: Vec<String> =
                    open.iter().take(3).map(|ordinal| self.reason(rank, pc, *ordinal, &mut edges)).collect();
                if open.len() > reasons.len() {
                    reasons.push(format!("for {} more requests", open.len() - reasons.len()));
                }
                reasons
            }
            Act::Probe(source, tag) => vec![self.for_message(rank, *source, *tag, "", &mut edges)],
            _ => Vec::new(),
        };
        edges.sort_unstable();
        edges.dedup();
        reasons.dedup();
        let sentence = format!("rank {rank} waits {} {}", self.names.place(rank, pc), reasons.join(", and "));
        Some(Waiting { rank, pc, request, sentence: sentence.trim_end().to_owned(), edges })
    }

    /// `for rank 1 to receive it (at line 9)`.
    fn reason(&self, rank: u16, pc: usize, ordinal: Ordinal, edges: &mut Vec<u16>) -> String {
        // A blocking statement waits for what it has started itself.
        let own = self.names.step_of(rank, ordinal).is_some_and(|start| {
            self.names.has_lines() && self.names.statement(rank, start) == self.names.statement(rank, pc)
        });
        let request = self.names.request_in_full(rank, ordinal);
        match self.names.start(rank, ordinal) {
            Some(Start::Send { to, tag, .. }) => {
                let it = if own { "it".to_owned() } else { format!("its {request}") };
                self.for_receive(rank, Message { from: rank, send: ordinal }, *to as u16, *tag, &it, edges)
            }
            Some(Start::Receive { from, tag, .. }) => {
                let into = if own { String::new() } else { format!(" for its {request}") };
                self.for_message(rank, *from, *tag, &into, edges)
            }
            Some(Start::Barrier) => self.for_barrier(rank, ordinal, edges),
            None => "for a request".to_owned(),
        }
    }

    fn for_receive(
        &self,
        rank: u16,
        message: Message,
        to: u16,
        tag: u32,
        it: &str,
        edges: &mut Vec<u16>,
    ) -> String {
        let has_come = self.proc(to).is_some_and(|proc| proc.arrived.contains(&message));
        if !has_come && rank != to {
            return format!("for {it}, which rank {to} has received already");
        }
        if self.is_finished(to) {
            return format!("for rank {to} to receive {it}, but rank {to} has finished");
        }
        let envelope =
            Envelope { source: RankId(u32::from(rank)), tag: Tag(tag), context: Context::MESSAGES };
        edges.push(to);
        match self.later_receive(to, &envelope) {
            Some(pc) => format!("for rank {to} to receive {it} {}", self.at_line(to, pc)),
            None => format!("for rank {to} to receive {it}, which no later statement of rank {to} does"),
        }
    }

    fn for_message(
        &self,
        rank: u16,
        from: Source,
        tag: TagSelector,
        into: &str,
        edges: &mut Vec<u16>,
    ) -> String {
        let tag_text = match tag {
            TagSelector::Tag(tag) => format!(" with tag {}", tag.0),
            TagSelector::Any => String::new(),
        };
        let other = self.other_message(rank, from);
        match from {
            Source::Rank(from) => {
                let from = from.0 as u16;
                let wanted = format!("for a message of rank {from}{tag_text}{into}");
                if self.is_finished(from) {
                    return format!("{wanted}, but rank {from} has finished without sending one{other}");
                }
                edges.push(from);
                match self.later_send(from, rank, tag) {
                    Some(pc) => format!("{wanted}, which it would send {}{other}", self.at_line(from, pc)),
                    None => format!("{wanted}, which no later statement of rank {from} sends{other}"),
                }
            }
            Source::Any => {
                let senders: Vec<u16> = (0..self.names.ranks())
                    .filter(|from| self.later_send(*from, rank, tag).is_some())
                    .collect();
                let wanted = format!("for a message of any rank{tag_text}{into}");
                if senders.is_empty() {
                    return format!("{wanted}, but no rank has one left to send{other}");
                }
                edges.extend(&senders);
                format!("{wanted} ({} would send one){other}", ranks(&senders))
            }
        }
    }

    /// A message that is there and does not match: often what a wrong tag looks like.
    fn other_message(&self, rank: u16, from: Source) -> String {
        let fits = |message: &&Message| match from {
            Source::Rank(from) => from.0 == u32::from(message.from),
            Source::Any => true,
        };
        let other = self.proc(rank).and_then(|proc| proc.arrived.iter().find(fits));
        other.map_or(String::new(), |message| match self.names.start(message.from, message.send) {
            Some(Start::Send { tag, .. }) => {
                format!(" ({}, which is there, has tag {tag})", self.names.message(*message))
            }
            _ => String::new(),
        })
    }

    fn for_barrier(&self, rank: u16, ordinal: Ordinal, edges: &mut Vec<u16>) -> String {
        let starts = |rank: u16| self.names.program(rank).map_or(&[][..], |program| &program.starts);
        let is_barrier = |start: &&Start| matches!(start, Start::Barrier);
        let number = starts(rank).iter().take(usize::from(ordinal) + 1).filter(is_barrier).count();
        let entered = |rank: u16| {
            let steps = self.names.program(rank).map_or(&[][..], |program| &program.steps);
            let begun =
                steps.iter().take(self.pc(rank)).filter(|step| matches!(step.act, Act::Start(_))).count();
            starts(rank).iter().take(begun).filter(is_barrier).count()
        };
        let missing: Vec<u16> = (0..self.names.ranks()).filter(|rank| entered(*rank) < number).collect();
        let (gone, late): (Vec<u16>, Vec<u16>) = missing.iter().partition(|rank| self.is_finished(**rank));
        edges.extend(&late);
        let mut text = match missing.is_empty() {
            true => "for the barrier".to_owned(),
            false => format!("for {} to enter the barrier", ranks(&missing)),
        };
        if !gone.is_empty() {
            let verb = if gone.len() == 1 { "has" } else { "have" };
            text.push_str(&format!(", but {} {verb} finished", ranks(&gone)));
        }
        text
    }

    /// `at line 9`.
    fn at_line(&self, rank: u16, pc: usize) -> String {
        match self.names.line(rank, pc).filter(|_| self.names.has_lines()) {
            Some(line) => format!("at line {line}"),
            None => format!("in `{}`", self.names.statement(rank, pc)),
        }
    }

    fn later_receive(&self, rank: u16, envelope: &Envelope) -> Option<usize> {
        self.later(rank, |start| match *start {
            Start::Receive { from, tag, .. } => {
                Pattern { source: from, tag, context: Context::MESSAGES }.matches(envelope)
            }
            _ => false,
        })
    }

    fn later_send(&self, rank: u16, receiver: u16, wanted: TagSelector) -> Option<usize> {
        self.later(rank, |start| match *start {
            Start::Send { to, tag, .. } => to == u32::from(receiver) && wanted.matches(Tag(tag)),
            _ => false,
        })
    }

    /// The next step of a rank that starts something of a kind.
    fn later(&self, rank: u16, is_wanted: impl Fn(&Start) -> bool) -> Option<usize> {
        let program = self.names.program(rank)?;
        let steps = program.steps.iter().enumerate().skip(self.pc(rank));
        steps.map(|(pc, step)| (pc, &step.act)).find_map(|(pc, act)| match act {
            Act::Start(ordinal) => is_wanted(program.starts.get(usize::from(*ordinal))?).then_some(pc),
            _ => None,
        })
    }
}

/// A shortest cycle near the first ranks; empty if there is none.
fn cycle(waiting: &[Waiting]) -> Vec<u16> {
    let edges: HashMap<u16, &[u16]> =
        waiting.iter().map(|waiting| (waiting.rank, &waiting.edges[..])).collect();
    let found = waiting.iter().take(STARTS_MAX).filter_map(|from| shortest(from.rank, &edges));
    found.min_by_key(Vec::len).unwrap_or_default()
}

/// A shortest way from a rank back to itself, along stuck ranks.
fn shortest(start: u16, edges: &HashMap<u16, &[u16]>) -> Option<Vec<u16>> {
    let mut came_from: HashMap<u16, u16> = HashMap::new();
    let mut seen = HashSet::from([start]);
    let mut queue = VecDeque::from([start]);
    while let Some(rank) = queue.pop_front() {
        for next in edges.get(&rank).copied().unwrap_or_default() {
            if *next == start {
                let mut way = vec![rank];
                while let Some(before) = way.last().and_then(|rank| came_from.get(rank)) {
                    way.push(*before);
                }
                way.reverse();
                return Some(way);
            }
            if seen.insert(*next) {
                came_from.insert(*next, rank);
                queue.push_back(*next);
            }
        }
    }
    None
}
