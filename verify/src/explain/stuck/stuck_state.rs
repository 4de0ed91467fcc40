//! A state without successors: what each stuck rank waits for, and why that does not happen.

use super::super::waits;
use super::ahead::{Ahead, Missing, Ranks, Wanted};
use super::waiting::{EpochReason, Reason, Waiting};
use crate::explain::execution::Execution;
use crate::explain::names::Names;
use crate::explain::wording::ranks;
use crate::later::sought;
use crate::network::Message;
use crate::program::{Act, Ordinal, Program, Start, Step};
use crate::state::{Open, Proc, State};
use carrousel_rank::{Communicator, Pattern, Protocol, RankId, Source, mpi};
use std::collections::HashMap;
use std::rc::Rc;

/// Of more ranks than this that may send to any, a list is shared.
const OTHERS_MAX: usize = 64;

pub(super) struct StuckState<'a, P: Protocol> {
    names: &'a Names<'a>,
    state: &'a State<P>,
    ahead: Ahead,
    /// By rank: the receives that have got a message, and which, in this order.
    matched: HashMap<u16, Vec<(Ordinal, Message)>>,
}

/// Unfinished ranks that could end a wait.
#[derive(Default)]
struct Edges {
    own: Vec<u16>,
    /// Lists that others share.
    shared: Vec<Rc<[u16]>>,
}

impl Edges {
    fn share(&mut self, ranks: &Rc<[u16]>) {
        if !ranks.is_empty() && self.shared.iter().all(|other| !Rc::ptr_eq(other, ranks)) {
            self.shared.push(Rc::clone(ranks));
        }
    }

    fn lists(mut self) -> Vec<Rc<[u16]>> {
        self.own.sort_unstable();
        self.own.dedup();
        let own = (!self.own.is_empty()).then(|| self.own.into());
        own.into_iter().chain(self.shared).collect()
    }
}

impl<'a, P: Protocol> StuckState<'a, P> {
    pub(super) fn new(names: &'a Names<'a>, execution: &Execution, state: &'a State<P>) -> Self {
        let mut matched: HashMap<u16, Vec<(Ordinal, Message)>> = HashMap::new();
        for step in &execution.steps {
            if let Some(of_beat) = step.matched {
                matched.entry(step.at).or_default().push(of_beat);
            }
        }
        Self { names, state, ahead: Ahead::new(names, state), matched }
    }

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

    pub(super) fn waiting(&self, rank: u16) -> Option<Waiting> {
        let proc = self.proc(rank)?;
        let pc = usize::from(proc.pc);
        let mut edges = Edges::default();
        let mut requests = Vec::new();
        let reasons: Vec<Reason> = match self.names.act(rank, pc)? {
            Act::Wait(ordinals) => {
                let mut open: Vec<Ordinal> =
                    ordinals.iter().copied().filter(|ordinal| !self.is_over(proc, rank, *ordinal)).collect();
                if open.is_empty() {
                    // The wait could return if MPI had buffered messages that have no receive.
                    open.extend(ordinals.iter().copied().filter(|ordinal| self.is_unmatched(rank, *ordinal)));
                }
                requests.clone_from(&open);
                open.iter().map(|ordinal| self.reason(rank, pc, *ordinal, &mut edges)).collect()
            }
            _ if self.names.fault(rank).is_some() => {
                let why = self.names.fault(rank).unwrap_or_default();
                vec![Reason::never(format!("forever: {why}"), "out of range")]
            }
            Act::AwaitGrants(opening) => {
                requests.push(*opening);
                vec![self.for_epoch(rank, *opening, &mut edges)]
            }
            Act::Probe { sought: what, .. } => {
                let looked_for = self.names.program(rank).and_then(|program| sought(program, proc, *what));
                let reason = |pattern: Pattern| {
                    let wanted = (pattern.context.communicator(), pattern.tag);
                    self.for_message(rank, pattern.source, wanted, None, &mut edges)
                };
                looked_for.map(reason).into_iter().collect()
            }
            _ => Vec::new(),
        };
        let (line, place) = (self.line(rank, pc), self.names.place(rank, pc));
        Some(Waiting { rank, pc, line, place, requests, reasons, edges: edges.lists() })
    }

    /// Whether a request is complete. A collective without a schedule is complete when all ranks have entered it.
    fn is_over(&self, proc: &Proc<P>, rank: u16, request: Ordinal) -> bool {
        let is_of_window =
            matches!(self.names.start(rank, request), Some(Start::Synchronize(_) | Start::Access(_)));
        if is_of_window && self.names.is_portable() {
            return self.names.plan().must_end(self.state, rank, request);
        }
        let is_untold = |open: &Open| open.ordinal == request && open.handle.is_none();
        match proc.open.iter().any(is_untold) {
            true => !self.is_unmatched(rank, request),
            false => proc.is_over(request),
        }
    }

    /// Whether a request is a send whose message has no receive, or a collective that some rank has not entered.
    fn is_unmatched(&self, rank: u16, request: Ordinal) -> bool {
        let message = Message { from: rank, send: request };
        match self.names.start(rank, request) {
            Some(Start::Send { to, .. }) => self.state.is_unmatched(message, *to as u16),
            Some(Start::Collective { .. }) => !self.missing(rank, request).all.list.is_empty(),
            _ => false,
        }
    }

    /// `for rank 1 to receive it at line 9`.
    fn reason(&self, rank: u16, pc: usize, ordinal: Ordinal, edges: &mut Edges) -> Reason {
        // A blocking statement waits for a request that it has started itself.
        let line = self.line(rank, pc);
        let own = line.is_some()
            && line == self.names.step_of(rank, ordinal).and_then(|start| self.line(rank, start));
        let its = (!own).then_some(ordinal);
        let mut reason = match self.names.start(rank, ordinal) {
            Some(Start::Send { to, tag, communicator, .. }) => {
                let message = Message { from: rank, send: ordinal };
                self.for_receive(message, *to as u16, (*communicator, *tag), its, edges)
            }
            Some(Start::Receive { from, tag, communicator, .. }) => {
                self.for_message(rank, *from, (*communicator, *tag), its, edges)
            }
            Some(Start::Collective { kind, communicator, .. }) => {
                let name = match *communicator == Communicator::WORLD {
                    true => kind.name().to_owned(),
                    false => format!("{} {}", kind.name(), self.names.on(rank, *communicator)),
                };
                self.for_collective(rank, ordinal, &name, edges)
            }
            Some(Start::Synchronize(_) | Start::Access(_)) => self.for_epoch(rank, ordinal, edges),
            Some(Start::Later(_)) | None => Reason::new("for a request".to_owned(), "unknown"),
        };
        reason.shape.0 = self.names.step_of(rank, ordinal).and_then(|start| self.line(rank, start));
        reason
    }

    /// Why a call on the epochs of a window waits.
    fn for_epoch(&self, rank: u16, ordinal: Ordinal, edges: &mut Edges) -> Reason {
        let proc = self.proc(rank);
        let told = proc.and_then(|proc| waits::reason(self.names, self.state, proc, (rank, ordinal)));
        let Some(told) = told else { return Reason::new("for its epoch".to_owned(), "epoch") };
        let will = |other: &u16| !self.is_finished(*other) && !told.never.contains(other);
        edges.own.extend(told.waits_for.iter().copied().filter(will));
        let is_never = !told.never.is_empty();
        let others = told.waits_for.into_iter().chain(told.holders).collect();
        let (window, hosts, is_queued, mixed) = (told.window, told.hosts, told.is_queued, told.mixed);
        let epoch = Some(EpochReason { window, others, hosts, is_queued, mixed });
        let shape = if is_never { "epoch, never" } else { "epoch" };
        Reason { epoch, is_never, ..Reason::new(told.text, shape) }
    }

    /// Why a send waits; `its` is its request, if that has to be named.
    fn for_receive(
        &self,
        message: Message,
        to: u16,
        sent: (Communicator, u32),
        its: Option<Ordinal>,
        edges: &mut Edges,
    ) -> Reason {
        let rank = message.from;
        let it =
            its.map_or("it".to_owned(), |send| format!("its {}", self.names.request_in_full(rank, send)));
        let has_come = self.proc(to).is_some_and(|proc| proc.arrived.contains(&message));
        if !has_come {
            return Reason::new(format!("for {it}, which rank {to} has received already"), "received");
        }
        let numbered = self.names.numbered(rank, sent.0, to);
        let wanted = format!("for rank {to}{numbered} to receive {it}");
        let reason = if self.is_finished(to) {
            Reason::never(format!("{wanted}, but rank {to} has finished"), "finished")
        } else if let Some(pc) = self.ahead.receive(to, RankId(u32::from(rank)), sent) {
            edges.own.push(to);
            let reason = Reason::new(format!("{wanted} {}", self.at_line(to, pc)), "later");
            Reason { shape: (None, reason.shape.1, self.line(to, pc)), ..reason }
        } else {
            Reason::never(format!("{wanted}, which no later statement of rank {to} does"), "never")
        };
        Reason { message: Some(message), ..reason }
    }

    /// Why a receive or a probe waits; `its` is the request, if that has to be named.
    fn for_message(
        &self,
        rank: u16,
        from: Source,
        wanted: Wanted,
        its: Option<Ordinal>,
        edges: &mut Edges,
    ) -> Reason {
        let (message, tag) = (wanted, wanted.1);
        let request = its.map(|receive| format!("for its {}", self.names.request_in_full(rank, receive)));
        let tag_text = match mpi::named(tag) {
            Some(tag) => format!(" with tag {tag}"),
            None => String::new(),
        };
        let (one, another, which) = match its {
            None => ("one", "another one", "which"),
            Some(_) => ("such a message", "another such message", "whose message"),
        };
        let other = self.other_message(rank, from, message.0);
        let beside = other.as_ref().map_or("", |(_, text)| text.as_str());
        let reason = match from {
            Source::Rank(from) => {
                let from = from.0 as u16;
                let numbered = self.names.numbered(rank, message.0, from);
                let wanted =
                    request.unwrap_or_else(|| format!("for a message of rank {from}{numbered}{tag_text}"));
                let taken = self.taken(rank, from, message, its);
                if self.is_finished(from) {
                    let text = format!("{wanted}, but rank {from} has finished without sending ");
                    match taken {
                        None => Reason::never(text + one, "finished"),
                        Some(taken) => {
                            let text = format!("{text}{another}: {}", taken.text);
                            Reason { taken: Some(taken.message), ..Reason::never(text, "taken") }
                        }
                    }
                } else if let Some(pc) = self.ahead.send(from, rank, message) {
                    edges.own.push(from);
                    let who = if its.is_none() { "it".to_owned() } else { format!("rank {from}") };
                    let text = format!("{wanted}, {which} {who} would send {}", self.at_line(from, pc));
                    Reason { shape: (None, "later", self.line(from, pc)), ..Reason::new(text, "later") }
                } else {
                    let text = format!("{wanted}, {which} no later statement of rank {from} sends");
                    match taken.filter(|taken| taken.is_surprising) {
                        None => Reason::never(text, "never"),
                        Some(taken) => {
                            let text = format!("{text}: {}", taken.text);
                            Reason { taken: Some(taken.message), ..Reason::never(text, "never, taken") }
                        }
                    }
                }
            }
            Source::Any => {
                let (mut own, mut others) = self.ahead.senders(rank, message);
                // What it would send to itself comes later: others are asked for it.
                let is_alone = own.len() + others.list.len() == 1;
                if !is_alone && others.list.len() <= OTHERS_MAX && others.list.contains(&rank) {
                    own.extend(others.list.iter().copied().filter(|other| *other != rank));
                    own.sort_unstable();
                    others = Rc::new(Ranks::new(Vec::new()));
                }
                let wanted = request.unwrap_or_else(|| format!("for a message of any rank{tag_text}"));
                let senders = if own.is_empty() {
                    others.name.clone()
                } else {
                    let mut all: Vec<u16> = own.iter().chain(&*others.list).copied().collect();
                    all.sort_unstable();
                    ranks(&all)
                };
                if senders.is_empty() {
                    Reason::never(format!("{wanted}, but no rank has {one} left to send"), "none left")
                } else {
                    edges.own.extend(own);
                    edges.share(&others.list);
                    Reason::new(format!("{wanted} ({senders} would send {one})"), "later")
                }
            }
        };
        // What the other rank has not received, or has sent elsewhere, is why it does not send.
        let (mut lies, mut elsewhere, mut text) = (None, Vec::new(), format!("{}{beside}", reason.text));
        if let (Source::Rank(from), true) = (from, reason.shape.1 != "later") {
            let from = from.0 as u16;
            lies = self.unreceived(rank, from).filter(|_| other.is_none());
            if let Some(lies) = lies {
                let name = self.names.message(lies);
                text.push_str(&format!("; {name} to rank {from} lies there without a receive"));
            } else if other.is_none() && reason.taken.is_none() {
                let (said, messages) = self.sent_elsewhere(rank, from, message);
                text.push_str(&said);
                elsewhere = messages;
            }
        }
        let common = its.is_none() && other.is_none() && lies.is_none() && reason.shape.1 == "later";
        Reason { text, common, message: other.map(|(message, _)| message).or(lies), elsewhere, ..reason }
    }

    /// The last message of a rank to another one that has no receive there.
    fn unreceived(&self, rank: u16, at: u16) -> Option<Message> {
        self.proc(at)?.arrived.iter().rfind(|message| message.from == rank).copied()
    }

    /// `; its messages with tag 0 went to ranks 1 and 2`: those that a rank has sent like one that is waited for.
    fn sent_elsewhere(&self, rank: u16, from: u16, (communicator, tag): Wanted) -> (String, Vec<Message>) {
        let steps = self.names.program(from).map_or(&[][..], |program| &program.steps);
        let sent = steps.iter().take(self.pc(from)).filter_map(|step| match step.act {
            Act::Start(send) => Some((Message { from, send }, self.names.start(from, send)?)),
            _ => None,
        });
        let alike = sent.filter_map(|(message, start)| match *start {
            Start::Send { to, tag: sent, communicator: other, .. } => {
                let is_it = other == communicator && tag.matches(mpi::tag(sent)) && to != u32::from(rank);
                is_it.then_some((message, to as u16))
            }
            _ => None,
        });
        let (messages, mut to): (Vec<Message>, Vec<u16>) = alike.unzip();
        to.sort_unstable();
        to.dedup();
        let tag = mpi::named(tag).map_or_else(String::new, |tag| format!(" with tag {tag}"));
        let said = format!("; its messages{tag} went to {}", ranks(&to));
        (if to.is_empty() { String::new() } else { said }, messages)
    }

    /// A message of `from` that this receive or probe could have got, had no other receive taken it. Of several, the
    /// last one that a wildcard receive got, or else the last one.
    fn taken(&self, rank: u16, from: u16, wanted: Wanted, its: Option<Ordinal>) -> Option<Taken> {
        let (context, tag) = wanted;
        let is_wild = |receive: Ordinal| match self.names.start(rank, receive) {
            Some(Start::Receive { from, tag, .. }) => *from == Source::Any || !tag.is_exact(),
            _ => false,
        };
        let fits = |message: Message| match self.names.start(message.from, message.send) {
            Some(Start::Send { tag: sent, communicator, .. }) => {
                message.from == from && *communicator == context && tag.matches(mpi::tag(*sent))
            }
            _ => false,
        };
        let matched = self.matched.get(&rank)?.iter().filter(|(_, message)| fits(*message));
        let (receive, message) =
            *matched.enumerate().max_by_key(|(at, (receive, _))| (is_wild(*receive), *at))?.1;
        let text = format!(
            "its {} went to the receive {}",
            self.names.message_itself(message),
            self.names.whereabouts(rank, receive)
        );
        Some(Taken { text, message, is_surprising: is_wild(receive) || its.is_none() })
    }

    /// A message that has arrived and does not match: often a sign of a wrong tag.
    fn other_message(
        &self,
        rank: u16,
        from: Source,
        communicator: Communicator,
    ) -> Option<(Message, String)> {
        let fits = |message: &&Message| match from {
            Source::Rank(from) => from.0 == u32::from(message.from),
            Source::Any => true,
        };
        let message = self.proc(rank)?.arrived.iter().find(fits)?;
        match self.names.start(message.from, message.send)? {
            Start::Send { tag, communicator: other, .. } => {
                let name = self.names.message(*message);
                let text = match *other == communicator {
                    true => format!(" ({name}, which is there, has tag {tag})"),
                    false => format!(" ({name}, which is there, is {})", self.names.on(message.from, *other)),
                };
                Some((*message, text))
            }
            _ => None,
        }
    }

    /// The members that have not entered a collective that `rank` has.
    fn missing(&self, rank: u16, ordinal: Ordinal) -> Rc<Missing> {
        let nobody = Program::default();
        let program = self.names.program(rank).unwrap_or(&nobody);
        let (communicator, number) = numbered(program, ordinal);
        self.ahead.missing(program, communicator, number, |rank| self.is_finished(rank))
    }

    /// The step of another rank that enters a collective of `rank`.
    fn entry(&self, rank: u16, ordinal: Ordinal, other: u16) -> Option<usize> {
        let (communicator, number) = numbered(self.names.program(rank)?, ordinal);
        let its = self.names.program(other)?;
        let enters = |step: &Step| match step.act {
            Act::Start(ordinal) => {
                its.starts.get(usize::from(ordinal)).is_some_and(|it| is_of(it, communicator))
            }
            _ => false,
        };
        its.steps
            .iter()
            .enumerate()
            .filter(|(_, step)| enters(step))
            .nth(number.checked_sub(1)?)
            .map(|(pc, _)| pc)
    }

    /// Why a collective waits: the ranks that have not entered it.
    fn for_collective(&self, rank: u16, ordinal: Ordinal, name: &str, edges: &mut Edges) -> Reason {
        let missing = self.missing(rank, ordinal);
        let Missing { all, gone, coming, never } = &*missing;
        edges.share(coming);
        let mut text = match all.list.is_empty() {
            true => format!("for the {name}, which all ranks have entered"),
            false => format!("for {} to enter the {name}", all.name),
        };
        let mut but = Vec::new();
        if !gone.list.is_empty() {
            let verb = if gone.list.len() == 1 { "has" } else { "have" };
            but.push(format!("{} {verb} finished", gone.name));
        }
        if !never.list.is_empty() {
            but.push(format!("no later statement of {} does", never.name));
        }
        let is_never = !but.is_empty();
        if is_never {
            text.push_str(&format!(", but {}", but.join(" and ")));
        } else if let [only] = *all.list
            && let Some(pc) = self.entry(rank, ordinal, only)
        {
            text.push_str(&format!(", which it would do {}", self.at_line(only, pc)));
        }
        Reason { common: true, is_never, ..Reason::new(text, "collective") }
    }

    /// `at line 9`.
    fn at_line(&self, rank: u16, pc: usize) -> String {
        match self.line(rank, pc) {
            Some(line) => format!("at line {line}"),
            None => format!("in `{}`", self.names.statement(rank, pc)),
        }
    }
}

/// A message that another receive of its rank got.
struct Taken {
    /// `its message (line 6) went to the receive at line 3`.
    text: String,
    /// This message.
    message: Message,
    /// The receive could have got another message, or this one was only probed for.
    is_surprising: bool,
}

/// The communicator of a collective, and its number among those of it, from 1.
fn numbered(program: &Program, ordinal: Ordinal) -> (Communicator, usize) {
    let communicator = program.communicator_of(ordinal);
    let before = program.starts.iter().take(usize::from(ordinal) + 1);
    (communicator, before.filter(|start| is_of(start, communicator)).count())
}

fn is_of(start: &Start, communicator: Communicator) -> bool {
    matches!(start, Start::Collective { communicator: other, .. } if *other == communicator)
}
