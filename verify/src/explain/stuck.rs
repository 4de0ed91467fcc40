//! Deadlocks: who waits for whom, and the cycle.

use super::names::{Names, bytes, ranks};
use super::walk::Walk;
use crate::explore::Path;
use crate::program::{Act, Ordinal, Start};
use crate::state::{Message, Proc, State};
use carrousel_rank::{Context, Envelope, Pattern, Protocol, RankId, Source, Tag, TagSelector};
use std::collections::{HashMap, HashSet, VecDeque};

/// Ranks of a cycle that are named one by one if there are no more, and stuck ranks whose steps are told.
const LISTED_MAX: usize = 8;
/// Things said of stuck ranks if there are no more.
const SAYINGS_MAX: usize = 4;
/// Things said for example if there are more.
const EXAMPLES: usize = 3;
/// Ranks that wait in the same way are told by an example if there are so many.
const ALIKE_MIN: usize = 3;
/// Reasons that are given of a rank that waits for several requests.
const REASONS_MAX: usize = 2;
/// Ranks from which a cycle is searched; where there is one, one of the first will be near it.
const STARTS_MAX: usize = 32;

/// A rank that can never go on.
pub(super) struct Waiting {
    pub(super) rank: u16,
    /// Its next step.
    pub(super) pc: usize,
    /// The line of that, if the reader knows it.
    line: Option<u32>,
    /// `at line 5 (...)`.
    place: String,
    /// The first request that it waits for; none for a probe.
    request: Option<Ordinal>,
    /// One for each request that it waits for.
    reasons: Vec<Reason>,
    /// Unfinished ranks that could end it.
    edges: Vec<u16>,
}

/// Why a request is not complete.
struct Reason {
    /// `for rank 1 to receive it at line 9`.
    text: String,
    /// How it stands, ranks aside.
    shape: Shape,
    /// It is the same for every rank that it is true of, and says nothing of that rank's own.
    common: bool,
    /// The message that it is about, if that has come.
    message: Option<Message>,
}

/// A reason with the ranks left out: the line of the request, what keeps it, and where that could end.
type Shape = (Option<u32>, &'static str, Option<u32>);

/// What is said of some stuck ranks.
struct Saying<'a> {
    /// The first of them.
    first: &'a Waiting,
    ranks: Vec<u16>,
    text: String,
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
    pub(super) fn new<P: Protocol>(names: &Names<'_>, walk: &Walk, path: &Path<P>) -> Self {
        let Some((state, _)) = path.steps.last() else {
            return Self { waiting: Vec::new(), cycle: Vec::new() };
        };
        let scene = Scene { names, walk, state };
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

    /// The messages that have come and that the reasons of these ranks are about.
    pub(super) fn messages(&self, ranks: &[u16]) -> HashSet<Message> {
        let told = self.waiting.iter().filter(|waiting| ranks.contains(&waiting.rank));
        told.flat_map(|waiting| &waiting.reasons).filter_map(|reason| reason.message).collect()
    }

    /// Who waits for what, the cycle, and the rule.
    pub(super) fn summary(&self, names: &Names<'_>) -> String {
        let mut sayings = self.sayings();
        if sayings.len() > SAYINGS_MAX {
            // What keeps the others comes first: a cycle, or what nobody can end.
            sayings.sort_by_key(|saying| {
                let is_cause = |rank: &u16| self.cycle.contains(rank);
                !(saying.ranks.iter().any(is_cause) || saying.first.edges.is_empty())
            });
            sayings.truncate(EXAMPLES);
        }
        let told: usize = sayings.iter().map(|saying| saying.ranks.len()).sum();
        let mut text = String::from("Deadlock: ");
        text.push_str(&sayings.iter().map(|saying| saying.text.as_str()).collect::<Vec<_>>().join("; "));
        let more = self.waiting.len() - told;
        if more > 0 {
            let s = if more == 1 { " waits" } else { "s wait" };
            text.push_str(&format!("; {more} more rank{s} forever"));
        }
        text.push('.');
        if self.cycle.len() > 1 {
            text.push_str(&format!(" They wait for each other: {}.", self.circle()));
        }
        if let Some(rule) = sayings.first().and_then(|saying| rule(names, saying.first)) {
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

    /// What is said of the stuck ranks, equal things once.
    fn sayings(&self) -> Vec<Saying<'_>> {
        let mut sayings = Vec::new();
        for alike in classes(self.waiting.iter(), Waiting::is_like) {
            let mut same = classes(alike.iter().copied(), Waiting::is_as);
            if same.len() > 1 && alike.len() < ALIKE_MIN {
                sayings.extend(same.iter().map(|ranks| Saying::new(ranks, &[])));
            } else {
                let first = same.swap_remove(0);
                let others: Vec<u16> = alike
                    .iter()
                    .map(|w| w.rank)
                    .filter(|rank| first.iter().all(|w| w.rank != *rank))
                    .collect();
                sayings.push(Saying::new(&first, &others));
            }
        }
        sayings
    }
}

impl<'a> Saying<'a> {
    /// Of ranks that wait for the same, at least one, and of others that wait in the same way.
    fn new(same: &[&'a Waiting], others: &[u16]) -> Self {
        let first = same[0];
        let mut all: Vec<u16> = same.iter().map(|waiting| waiting.rank).collect();
        let verb = if all.len() == 1 { "waits" } else { "wait" };
        let mut text = format!("{} {verb} {} {}", ranks(&all), first.place, first.why());
        text.truncate(text.trim_end().len());
        if !others.is_empty() {
            let verb = if others.len() == 1 { "waits" } else { "wait" };
            text.push_str(&format!("; {} {verb} there in the same way", ranks(others)));
        }
        all.extend(others);
        Saying { first, ranks: all, text }
    }
}

impl Waiting {
    /// Whether another rank waits in the same way: at the same line, for requests of the same lines that
    /// stand alike.
    fn is_like(&self, other: &Self) -> bool {
        let shapes = |waiting: &Self| waiting.reasons.iter().map(|reason| reason.shape).collect::<Vec<_>>();
        self.rank == other.rank
            || (self.line.is_some() && self.line == other.line && shapes(self) == shapes(other))
    }

    /// Whether what is said of this rank is true of the other one, word by word.
    fn is_as(&self, other: &Self) -> bool {
        let is_common = |waiting: &Self| waiting.reasons.iter().all(|reason| reason.common);
        self.rank == other.rank
            || (self.place == other.place
                && is_common(self)
                && is_common(other)
                && self.reasons.iter().map(|reason| &reason.text).eq(other.reasons.iter().map(|r| &r.text)))
    }

    /// `for ..., and for ..., and for 2 more requests`.
    fn why(&self) -> String {
        let mut reasons: Vec<String> =
            self.reasons.iter().take(REASONS_MAX).map(|reason| reason.text.clone()).collect();
        reasons.dedup();
        match self.reasons.len().saturating_sub(REASONS_MAX) {
            0 => {}
            1 => reasons.push("for 1 more request".to_owned()),
            more => reasons.push(format!("for {more} more requests")),
        }
        reasons.join(", and ")
    }
}

/// Equivalence classes, in the order of their first members.
fn classes<'a>(
    all: impl Iterator<Item = &'a Waiting>,
    is_same: impl Fn(&Waiting, &Waiting) -> bool,
) -> Vec<Vec<&'a Waiting>> {
    let mut classes: Vec<Vec<&Waiting>> = Vec::new();
    for waiting in all {
        match classes.iter_mut().find(|class| is_same(class[0], waiting)) {
            Some(class) => class.push(waiting),
            None => classes.push(vec![waiting]),
        }
    }
    classes
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
    walk: &'a Walk,
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

    /// The line of a step, if the reader knows it.
    fn line(&self, rank: u16, pc: usize) -> Option<u32> {
        self.names.line(rank, pc).filter(|_| self.names.has_lines())
    }

    fn waiting(&self, rank: u16) -> Option<Waiting> {
        let proc = self.proc(rank)?;
        let pc = usize::from(proc.pc);
        let mut edges = Vec::new();
        let mut request = None;
        let reasons: Vec<Reason> = match self.names.act(rank, pc)? {
            Act::Wait(ordinals) => {
                let is_waited_for = |o: &Ordinal| !proc.is_over(*o) || self.is_unbuffered(rank, proc, *o);
                let open: Vec<Ordinal> = ordinals.iter().copied().filter(is_waited_for).collect();
                request = open.first().copied();
                open.iter().map(|ordinal| self.reason(rank, pc, *ordinal, &mut edges)).collect()
            }
            Act::Probe(source, tag) => vec![self.for_message(rank, *source, *tag, None, &mut edges)],
            _ => Vec::new(),
        };
        edges.sort_unstable();
        edges.dedup();
        let (line, place) = (self.line(rank, pc), self.names.place(rank, pc));
        Some(Waiting { rank, pc, line, place, request, reasons, edges })
    }

    /// Whether the wait that is next waits for a send all the same, because MPI need not have buffered it.
    fn is_unbuffered(&self, rank: u16, proc: &Proc<P>, request: Ordinal) -> bool {
        match self.names.start(rank, request) {
            Some(Start::Send { to, .. }) => {
                proc.refuses && self.state.is_unmatched(Message { from: rank, send: request }, *to as u16)
            }
            _ => false,
        }
    }

    /// `for rank 1 to receive it at line 9`.
    fn reason(&self, rank: u16, pc: usize, ordinal: Ordinal, edges: &mut Vec<u16>) -> Reason {
        // A blocking statement waits for what it has started itself.
        let own = self.names.step_of(rank, ordinal).is_some_and(|start| {
            self.names.has_lines() && self.names.statement(rank, start) == self.names.statement(rank, pc)
        });
        let its = (!own).then_some(ordinal);
        let mut reason = match self.names.start(rank, ordinal) {
            Some(Start::Send { to, tag, .. }) => {
                let message = Message { from: rank, send: ordinal };
                self.for_receive(message, *to as u16, *tag, its, edges)
            }
            Some(Start::Receive { from, tag, .. }) => self.for_message(rank, *from, *tag, its, edges),
            Some(Start::Barrier) => self.for_barrier(rank, ordinal, edges),
            None => Reason::new("for a request".to_owned(), "unknown"),
        };
        reason.shape.0 = self.names.step_of(rank, ordinal).and_then(|start| self.line(rank, start));
        reason
    }

    /// Why a send waits; `its` is its request, where that is to be named.
    fn for_receive(
        &self,
        message: Message,
        to: u16,
        tag: u32,
        its: Option<Ordinal>,
        edges: &mut Vec<u16>,
    ) -> Reason {
        let rank = message.from;
        let it =
            its.map_or("it".to_owned(), |send| format!("its {}", self.names.request_in_full(rank, send)));
        let has_come = self.proc(to).is_some_and(|proc| proc.arrived.contains(&message));
        if !has_come && rank != to {
            return Reason::new(format!("for {it}, which rank {to} has received already"), "received");
        }
        let wanted = format!("for rank {to} to receive {it}");
        let envelope =
            Envelope { source: RankId(u32::from(rank)), tag: Tag(tag), context: Context::MESSAGES };
        let reason = if self.is_finished(to) {
            Reason::new(format!("{wanted}, but rank {to} has finished"), "finished")
        } else if let Some(pc) = self.later_receive(to, &envelope) {
            edges.push(to);
            let reason = Reason::new(format!("{wanted} {}", self.at_line(to, pc)), "later");
            Reason { shape: (None, reason.shape.1, self.line(to, pc)), ..reason }
        } else {
            Reason::new(format!("{wanted}, which no later statement of rank {to} does"), "never")
        };
        Reason { message: Some(message), ..reason }
    }

    /// Why a receive or a probe waits; `its` is the request, where that is to be named.
    fn for_message(
        &self,
        rank: u16,
        from: Source,
        tag: TagSelector,
        its: Option<Ordinal>,
        edges: &mut Vec<u16>,
    ) -> Reason {
        let request = its.map(|receive| format!("for its {}", self.names.request_in_full(rank, receive)));
        let tag_text = match tag {
            TagSelector::Tag(tag) => format!(" with tag {}", tag.0),
            TagSelector::Any => String::new(),
        };
        let (one, another, which) = match its {
            None => ("one", "another one", "which"),
            Some(_) => ("such a message", "another such message", "whose message"),
        };
        let other = self.other_message(rank, from);
        let beside = other.as_ref().map_or("", |(_, text)| text.as_str());
        let reason = match from {
            Source::Rank(from) => {
                let from = from.0 as u16;
                let wanted = request.unwrap_or_else(|| format!("for a message of rank {from}{tag_text}"));
                let taken = self.taken(rank, from, tag, its);
                if self.is_finished(from) {
                    let text = format!("{wanted}, but rank {from} has finished without sending ");
                    match taken {
                        None => Reason::new(text + one, "finished"),
                        Some(taken) => Reason::new(format!("{text}{another}: {}", taken.text), "taken"),
                    }
                } else if let Some(pc) = self.later_send(from, rank, tag) {
                    edges.push(from);
                    let who = if its.is_none() { "it".to_owned() } else { format!("rank {from}") };
                    let text = format!("{wanted}, {which} {who} would send {}", self.at_line(from, pc));
                    Reason { shape: (None, "later", self.line(from, pc)), ..Reason::new(text, "later") }
                } else {
                    let text = format!("{wanted}, {which} no later statement of rank {from} sends");
                    match taken.filter(|taken| taken.is_surprising) {
                        None => Reason::new(text, "never"),
                        Some(taken) => Reason::new(format!("{text}: {}", taken.text), "never, taken"),
                    }
                }
            }
            Source::Any => {
                let senders: Vec<u16> = (0..self.names.ranks())
                    .filter(|from| self.later_send(*from, rank, tag).is_some())
                    .collect();
                let wanted = request.unwrap_or_else(|| format!("for a message of any rank{tag_text}"));
                if senders.is_empty() {
                    Reason::new(format!("{wanted}, but no rank has {one} left to send"), "none left")
                } else {
                    edges.extend(&senders);
                    Reason::new(format!("{wanted} ({} would send {one})", ranks(&senders)), "later")
                }
            }
        };
        let common = its.is_none() && other.is_none() && !reason.shape.1.ends_with("taken");
        let text = format!("{}{beside}", reason.text);
        Reason { text, common, message: other.map(|(message, _)| message), ..reason }
    }

    /// A message of `from` that could have been for this receive or probe, had no other receive got it: of
    /// several the last one that a wildcard got, or the last one.
    fn taken(&self, rank: u16, from: u16, tag: TagSelector, its: Option<Ordinal>) -> Option<Taken> {
        let is_wild = |receive: Ordinal| match self.names.start(rank, receive) {
            Some(Start::Receive { from, tag, .. }) => *from == Source::Any || *tag == TagSelector::Any,
            _ => false,
        };
        let fits = |message: Message| match self.names.start(message.from, message.send) {
            Some(Start::Send { tag: sent, .. }) => message.from == from && tag.matches(Tag(*sent)),
            _ => false,
        };
        let here = self.walk.beats.iter().filter(|beat| beat.at == rank);
        let matched = here.filter_map(|beat| beat.matched).filter(|(_, message)| fits(*message));
        let (receive, message) =
            matched.enumerate().max_by_key(|(at, (receive, _))| (is_wild(*receive), *at))?.1;
        let text = format!(
            "its {} went to the receive {}",
            self.names.message_itself(message),
            self.names.whereabouts(rank, receive)
        );
        Some(Taken { text, is_surprising: is_wild(receive) || its.is_none() })
    }

    /// A message that is there and does not match: often what a wrong tag looks like.
    fn other_message(&self, rank: u16, from: Source) -> Option<(Message, String)> {
        let fits = |message: &&Message| match from {
            Source::Rank(from) => from.0 == u32::from(message.from),
            Source::Any => true,
        };
        let message = self.proc(rank)?.arrived.iter().find(fits)?;
        match self.names.start(message.from, message.send)? {
            Start::Send { tag, .. } => {
                let text = format!(" ({}, which is there, has tag {tag})", self.names.message(*message));
                Some((*message, text))
            }
            _ => None,
        }
    }

    fn for_barrier(&self, rank: u16, ordinal: Ordinal, edges: &mut Vec<u16>) -> Reason {
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
        let (coming, never): (Vec<u16>, Vec<u16>) =
            late.iter().partition(|rank| starts(**rank).iter().filter(is_barrier).count() >= number);
        edges.extend(&coming);
        let mut text = match missing.is_empty() {
            true => "for the barrier".to_owned(),
            false => format!("for {} to enter the barrier", ranks(&missing)),
        };
        let mut but = Vec::new();
        if !gone.is_empty() {
            let verb = if gone.len() == 1 { "has" } else { "have" };
            but.push(format!("{} {verb} finished", ranks(&gone)));
        }
        if !never.is_empty() {
            but.push(format!("no later statement of {} does", ranks(&never)));
        }
        if !but.is_empty() {
            text.push_str(&format!(", but {}", but.join(" and ")));
        }
        Reason { common: true, ..Reason::new(text, "barrier") }
    }

    /// `at line 9`.
    fn at_line(&self, rank: u16, pc: usize) -> String {
        match self.line(rank, pc) {
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

impl Reason {
    /// A reason that is the rank's own.
    fn new(text: String, shape: &'static str) -> Self {
        Self { text, shape: (None, shape, None), common: false, message: None }
    }
}

/// A message that another receive of its rank got.
struct Taken {
    /// `its message (line 6) went to the receive at line 3`.
    text: String,
    /// The receive need not have got it: it takes others too, or the message was only looked for.
    is_surprising: bool,
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
