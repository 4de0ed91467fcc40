//! Deadlocks: which rank waits for which, and the cycle.

mod ahead;
mod stuck_state;
mod waiting;

use super::execution::Execution;
use super::names::Names;
use super::waits;
use super::wording::{bytes, ranks};
use crate::cycle;
use crate::explore::Path;
use crate::program::Start;
use crate::report::StuckReport;
use carrousel_rank::{Kind, Protocol};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use stuck_state::StuckState;
pub(super) use waiting::Waiting;

/// The most ranks of a cycle that are named one by one, and the most ranks whose steps are told as examples.
const LISTED_MAX: usize = 8;
/// The most sentences about stuck ranks.
const SAYINGS_MAX: usize = 4;
/// The most ranks that are the cause, all of which are told.
const CAUSES_MAX: usize = 3;
/// Of ranks that wait in the same way, so many are told step by step.
const ALIKE_TOLD: usize = 2;
/// The most sentences about ranks that wait because of them.
const VICTIMS_MAX: usize = 2;
/// Sentences that are told as examples if there are more.
const EXAMPLES: usize = 3;
/// From so many ranks on that wait in the same way, one is told as an example.
const ALIKE_MIN: usize = 3;
/// Ranks from which a cycle is searched: if there is one, one of the first ranks is near it.
const STARTS_MAX: usize = 32;

/// A sentence about some stuck ranks.
struct Saying<'a> {
    /// The first of them.
    first: &'a Waiting,
    ranks: Vec<u16>,
    text: String,
}

/// A deadlock: the ranks that can never go on.
pub(super) struct Deadlock {
    /// Every stuck rank.
    pub(super) waiting: Vec<Waiting>,
    /// Ranks that wait for each other, each for the next, the last for the first.
    pub(super) cycle: Vec<u16>,
}

impl Deadlock {
    /// Looks at the last state of a path.
    pub(super) fn new<P: Protocol>(names: &Names<'_>, execution: &Execution, path: &Path<P>) -> Self {
        let Some((state, _)) = path.steps.last() else {
            return Self { waiting: Vec::new(), cycle: Vec::new() };
        };
        let stuck_state = StuckState::new(names, execution, state);
        let waiting: Vec<Waiting> = (0..names.ranks()).filter_map(|rank| stuck_state.waiting(rank)).collect();
        let cycle = cycle(&waiting);
        Self { waiting, cycle }
    }

    /// The ranks that can never go on, those of the cycle first.
    pub(super) fn ranks(&self) -> Vec<u16> {
        let rest = self.waiting.iter().map(|waiting| waiting.rank).filter(|rank| !self.cycle.contains(rank));
        self.cycle.iter().copied().chain(rest).collect()
    }

    /// Whether a rank is a cause, rather than one that only waits for others that wait: it is in the cycle, or waits for
    /// something that no rank has still to do.
    fn is_cause(&self, waiting: &Waiting) -> bool {
        let is_first = || self.cycle.is_empty() && waiting.edges.is_empty();
        self.cycle.contains(&waiting.rank) || waiting.is_never() || is_first()
    }

    /// The ranks that are the cause, those of the cycle first, in its order; all if none is.
    fn causes(&self) -> Vec<&Waiting> {
        let place = |waiting: &&Waiting| self.cycle.iter().position(|rank| *rank == waiting.rank);
        let mut causes: Vec<&Waiting> = self.waiting.iter().filter(|it| self.is_cause(it)).collect();
        causes.sort_by_key(|waiting| place(waiting).unwrap_or(usize::MAX));
        if causes.is_empty() {
            causes.extend(&self.waiting);
        }
        causes
    }

    /// The ranks that only wait for others that wait.
    fn victims(&self) -> Vec<&Waiting> {
        let causes = self.causes();
        let is_victim = |waiting: &&Waiting| causes.iter().all(|cause| cause.rank != waiting.rank);
        self.waiting.iter().filter(is_victim).collect()
    }

    /// All ranks that wait, for programs.
    pub(super) fn reports(&self, names: &Names<'_>) -> Vec<StuckReport> {
        let victims: HashSet<u16> = self.victims().iter().map(|waiting| waiting.rank).collect();
        let report = |waiting: &Waiting| StuckReport {
            rank: u32::from(waiting.rank),
            line: waiting.line,
            what: names.statement(waiting.rank, waiting.pc),
            is_victim: victims.contains(&waiting.rank),
        };
        self.waiting.iter().map(report).collect()
    }

    /// The ranks whose steps are told: those of the cycle, or else those that are the cause. Of many that wait in the same way, some are told as
    /// examples.
    pub(super) fn told(&self) -> Vec<u16> {
        let mut causes = self.causes();
        if !self.cycle.is_empty() {
            causes.truncate(self.cycle.len());
        }
        if causes.len() <= CAUSES_MAX {
            return causes.iter().map(|waiting| waiting.rank).collect();
        }
        let alike = classes(causes.into_iter(), Waiting::likeness);
        let examples = alike.iter().flat_map(|alike| alike.iter().take(ALIKE_TOLD)).take(LISTED_MAX);
        examples.map(|waiting| waiting.rank).collect()
    }

    /// The other ranks that wait in the same way as some that are told.
    pub(super) fn alike(&self) -> Vec<u16> {
        let told = self.told();
        let is_told = |waiting: &&&Waiting| told.contains(&waiting.rank);
        let ways: HashSet<_> = self.waiting.iter().filter(|it| is_told(&it)).map(Waiting::likeness).collect();
        let others = self.waiting.iter().filter(|it| !is_told(&it) && ways.contains(&it.likeness()));
        others.map(|waiting| waiting.rank).collect()
    }

    /// The deadlock in sentences: first what its causes wait for, then the cycle, the ranks that wait because of it, and MPI's
    /// rule.
    pub(super) fn summary(&self, names: &Names<'_>) -> String {
        let (mut causes, victims) = (self.causes(), self.victims());
        // What never comes is a cause by itself, whatever the ranks of a cycle do.
        let apart = if self.cycle.is_empty() { Vec::new() } else { causes.split_off(self.cycle.len()) };
        let mut sayings = sayings(&causes, "");
        if sayings.len() > SAYINGS_MAX {
            sayings.truncate(EXAMPLES);
        }
        let mut text = format!("Deadlock: {}", joined(&sayings));
        let told: usize = sayings.iter().map(|saying| saying.ranks.len()).sum();
        match causes.len() - told {
            0 => {}
            1 => text.push_str("; 1 more rank waits forever"),
            more => text.push_str(&format!("; {more} more ranks wait forever")),
        }
        text.push('.');
        if self.cycle.len() > 1 {
            text.push_str(&format!(" They wait for each other: {}.", self.circle()));
            text.push_str(self.in_different_orders(names));
        }
        let room = VICTIMS_MAX.max(SAYINGS_MAX.saturating_sub(sayings.len()));
        text.push_str(&others("Apart from that,", &apart, "", room));
        text.push_str(&others("Because of this,", &victims, ", too,", room));
        text.push_str(&self.ended(names, &text));
        let mixed = self.waiting.iter().flat_map(|waiting| &waiting.reasons);
        let mixed = mixed.filter_map(|reason| reason.epoch.as_ref()?.mixed).next();
        if let Some(mixed) = mixed {
            text.push(' ');
            text.push_str(&mixed.sentence(names));
            return text;
        }
        // What is least known comes before what everybody knows.
        let queued = sayings.iter().find(|saying| saying.first.is_queued());
        if let Some(rule) = queued.or(sayings.first()).and_then(|saying| rule(names, saying.first)) {
            text.push(' ');
            text.push_str(&rule);
        }
        text
    }

    /// ` Ranks 1 and 2 have finished.`: those that do not wait, if the text has not said so.
    fn ended(&self, names: &Names<'_>, text: &str) -> String {
        let waits: HashSet<u16> = self.waiting.iter().map(|waiting| waiting.rank).collect();
        let ended: Vec<u16> = (0..names.ranks()).filter(|rank| !waits.contains(rank)).collect();
        let verb = if ended.len() == 1 { "has" } else { "have" };
        let said = format!("{} {verb} finished", ranks(&ended));
        match &ended[..] {
            [] => String::new(),
            _ if text.contains(&said) => String::new(),
            [_, _, ..] if waits.len() == 1 => " All other ranks have finished.".to_owned(),
            _ => format!(" {}{}.", said[..1].to_uppercase(), &said[1..]),
        }
    }

    /// That the ranks of the cycle enter collectives of several communicators in different orders, if that is so.
    fn in_different_orders(&self, names: &Names<'_>) -> &'static str {
        let of_cycle = self.waiting.iter().filter(|waiting| self.cycle.contains(&waiting.rank));
        let entered = of_cycle.map(|waiting| match waiting.requests[..] {
            [request] => match names.start(waiting.rank, request)? {
                Start::Collective { communicator, .. } => Some(*communicator),
                _ => None,
            },
            _ => None,
        });
        match entered.collect::<Option<HashSet<_>>>() {
            Some(communicators) if communicators.len() > 1 => {
                " They enter collectives of these communicators in different orders."
            }
            _ => "",
        }
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
}

/// The sentences about some stuck ranks, equal ones once. `too` stands behind their verbs.
fn sayings<'a>(waiting: &[&'a Waiting], too: &str) -> Vec<Saying<'a>> {
    let mut sayings = Vec::new();
    for alike in classes(waiting.iter().copied(), Waiting::likeness) {
        let mut same = classes(alike.iter().copied(), Waiting::account);
        if same.len() > 1 && alike.len() < ALIKE_MIN {
            sayings.extend(same.iter().map(|ranks| Saying::new(ranks, &[], too)));
        } else {
            let first = same.swap_remove(0);
            let told: HashSet<u16> = first.iter().map(|waiting| waiting.rank).collect();
            let others: Vec<u16> =
                alike.iter().map(|waiting| waiting.rank).filter(|rank| !told.contains(rank)).collect();
            sayings.push(Saying::new(&first, &others, too));
        }
    }
    sayings
}

/// A sentence about further ranks that wait: some of them, and how many more there are. Empty without such ranks.
fn others(because: &str, waiting: &[&Waiting], too: &str, room: usize) -> String {
    if waiting.is_empty() {
        return String::new();
    }
    let mut sayings = sayings(waiting, too);
    sayings.truncate(room);
    let told: usize = sayings.iter().map(|saying| saying.ranks.len()).sum();
    let more = match waiting.len() - told {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!(" {because} {}{more}.", joined(&sayings))
}

fn joined(sayings: &[Saying<'_>]) -> String {
    sayings.iter().map(|saying| saying.text.as_str()).collect::<Vec<_>>().join("; ")
}

impl<'a> Saying<'a> {
    /// A sentence about ranks that wait for the same (at least one), and others that wait in the same way.
    fn new(same: &[&'a Waiting], others: &[u16], too: &str) -> Self {
        let first = same[0];
        let mut all: Vec<u16> = same.iter().map(|waiting| waiting.rank).collect();
        let verb = if all.len() == 1 { "waits" } else { "wait" };
        let mut text = format!("{} {verb}{too} {} {}", ranks(&all), first.place, first.why());
        text.truncate(text.trim_end().len());
        if !others.is_empty() {
            let verb = if others.len() == 1 { "waits" } else { "wait" };
            text.push_str(&format!("; {} {verb} there in the same way", ranks(others)));
        }
        all.extend(others);
        Saying { first, ranks: all, text }
    }
}

/// Those of equal keys together, in the order of their first members.
fn classes<'a, K: Eq + Hash>(
    all: impl Iterator<Item = &'a Waiting>,
    key: impl Fn(&'a Waiting) -> K,
) -> Vec<Vec<&'a Waiting>> {
    let mut classes: Vec<Vec<&Waiting>> = Vec::new();
    let mut by_key: HashMap<K, usize> = HashMap::new();
    for waiting in all {
        let class = *by_key.entry(key(waiting)).or_insert(classes.len());
        if class == classes.len() {
            classes.push(Vec::new());
        }
        classes[class].push(waiting);
    }
    classes
}

/// The rule that makes a rank wait.
fn rule(names: &Names<'_>, waiting: &Waiting) -> Option<String> {
    if names.fault(waiting.rank).is_some() {
        return None;
    }
    let Some(request) = waiting.requests.first().copied() else {
        return Some(
            "A probe returns only when a message that it matches has come (MPI-4.1, 3.8.1).".to_owned(),
        );
    };
    Some(match names.start(waiting.rank, request)? {
        Start::Send { synchronous: true, .. } => {
            "A synchronous send is complete only when its receive has begun (MPI-4.1, 3.4).".to_owned()
        }
        Start::Send { len, .. } => match names.eager_threshold() {
            Some(largest) if *len <= largest => format!(
                "MPI lets a standard send wait for its receive (MPI-4.1, 3.4), and one does so whose receiver has \
                 {} of eager messages without a receive, or would have more (option eager_window).",
                bytes(names.eager_window())
            ),
            Some(largest) => format!(
                "MPI lets a standard send wait for its receive (MPI-4.1, 3.4), and one of more than {} does so \
                 (option eager_threshold).",
                bytes(largest)
            ),
            None => "MPI lets a standard send of any size wait for its receive (MPI-4.1, 3.4).".to_owned(),
        },
        Start::Synchronize(_) if waiting.is_queued() => waits::QUEUE.to_owned(),
        Start::Synchronize(_) => waits::rule(names, waiting.rank, request).to_owned(),
        Start::Access(_) => {
            "An access with a request is complete only when its target has granted it: the lock of its epoch \
             (MPI-4.1, 12.3.5)."
                .to_owned()
        }
        Start::Later(_) => return None,
        Start::Receive { .. } => {
            "A receive is complete only when it has a message of its source and tag (MPI-4.1, 3.2.4)."
                .to_owned()
        }
        Start::Collective { kind: Kind::Barrier, .. } => {
            "A barrier is complete only when every rank has entered it (MPI-4.1, 6.3).".to_owned()
        }
        Start::Collective { .. } => {
            "Every rank has to enter a collective, and until all have, it may wait for them (MPI-4.1, 6.14)."
                .to_owned()
        }
    })
}

/// A shortest cycle near the first ranks; empty if there is none.
fn cycle(waiting: &[Waiting]) -> Vec<u16> {
    let edges = waiting.iter().map(|waiting| (waiting.rank, waiting.edges.clone())).collect();
    let starts = waiting.iter().take(STARTS_MAX).map(|waiting| waiting.rank);
    cycle::shortest(starts, &edges).unwrap_or_default()
}
