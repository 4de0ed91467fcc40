//! Carrying out one step: the driver that the checker is to a rank.
//!
//! Everything a step does is an input to one [`carrousel_rank::Rank`] and the performance of its outputs, in order. Beside
//! the library stands the rule: `waiting` and `arrived` of [`Proc`] are MPI's matching in its plainest
//! form, and what the library does with a message is compared with it.

use crate::judge::{Rule, judge_end};
use crate::later::sought;
use crate::model::{Model, Reached};
use crate::program::{Act, Ordinal, Program, Start};
use crate::state::{Data, Flight, Message, Note, Open, Proc, Reading, Route, Shared, State, What, Wrong};
use carrousel_program::received;
use carrousel_rank::{
    Arrived, Call, Communicator, Context, Envelope, Event, Packet, Pattern, Protocol, RankId, Read, Receive,
    ReceiveClaimed, Sink, Work, Write, collective_of, mpi,
};
use carrousel_scenario::Check;
use smallvec::SmallVec;

/// What can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A rank goes on with its program.
    Step {
        /// Which rank.
        rank: u16,
        /// What it chooses, where there is a choice.
        choice: Choice,
    },
    /// The oldest thing on a route comes out.
    Land(Route),
    /// Something on a route comes out before `place` older ones (only when connections are taken not to be
    /// ordered).
    Overtake {
        /// On this route.
        route: Route,
        /// How many older ones.
        place: usize,
    },
    /// A rank announces a receive.
    Announce {
        /// Which rank.
        rank: u16,
        /// Its receive.
        receive: Ordinal,
    },
}

impl Action {
    /// The rank where it happens.
    pub fn rank(self) -> u16 {
        match self {
            Self::Step { rank, .. } | Self::Announce { rank, .. } => rank,
            Self::Land(route) | Self::Overtake { route, .. } => route.at,
        }
    }
}

/// A choice that the environment makes for a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// A test that succeeds, a send that uses what it may.
    Plain,
    /// A test that fails though the request is complete.
    Fail,
    /// A send that declines to write into an announced receive.
    Decline,
    /// A receive from any source that takes a message of this rank, though one of another was here before
    /// (weakest MPI).
    From(u16),
}

/// Outputs of one input.
#[derive(Default)]
struct Outputs {
    work: SmallVec<[Work; 4]>,
    decline: bool,
}

impl Sink for Outputs {
    fn work(&mut self, work: Work) {
        self.work.push(work);
    }

    fn agree_to_write(&mut self) -> bool {
        !self.decline
    }
}

/// One step under way at one rank.
pub(crate) struct Turn<'a, P: Protocol> {
    pub(crate) model: &'a Model<P>,
    pub(crate) state: &'a mut State<P>,
    pub(crate) me: u16,
}

/// The state after `action`.
pub(crate) fn after<P: Protocol>(model: &Model<P>, state: &State<P>, action: Action) -> State<P> {
    let mut next = State {
        job: state.job,
        procs: state.procs.clone(),
        flights: state.flights.clone(),
        begun: state.begun.clone(),
        wrong: SmallVec::new(),
    };
    let me = action.rank();
    // The rank's state is taken out for the turn, so that it and the network can change side by side.
    let mut procs = std::mem::take(&mut next.procs);
    procs[usize::from(me)].change(|proc| {
        let mut turn = Turn { model, state: &mut next, me };
        match action {
            Action::Step { choice, .. } => turn.step(proc, choice),
            Action::Land(route) => turn.land(proc, route, 0),
            Action::Overtake { route, place } => turn.land(proc, route, place),
            Action::Announce { receive, .. } => turn.announce(proc, receive),
        }
        if model.is_reducing() {
            model.forget_arrival_order(state.job, me, proc);
        }
    });
    next.procs = procs;
    next.forget_what_is_over();
    judge_end(model, &mut next);
    next
}

/// The state in which a job begins.
pub(crate) fn initial<P: Protocol>(model: &Model<P>, job: u32) -> State<P> {
    let programs = &model.jobs()[job as usize];
    let ranks = carrousel_rank::Job { ranks: programs.ranks.len() as u32 };
    let procs = (0..ranks.ranks)
        .map(|me| {
            Shared::new(Proc {
                pc: 0,
                rank: carrousel_rank::Rank::new(RankId(me), &ranks, &programs.options),
                open: SmallVec::new(),
                waiting: SmallVec::new(),
                arrived: SmallVec::new(),
                kept: SmallVec::new(),
                received: SmallVec::new(),
            })
        })
        .collect();
    let mut state = State { job, procs, flights: Vec::new(), begun: Vec::new(), wrong: SmallVec::new() };
    judge_end(model, &mut state);
    state
}

impl<P: Protocol> Turn<'_, P> {
    pub(crate) fn wrong(&mut self, check: Check, note: Note) {
        self.state.wrong.push(Wrong { check, note });
    }

    pub(crate) fn start_of(&self, rank: u16, ordinal: Ordinal) -> Start {
        self.model.start(self.state, rank, ordinal)
    }

    pub(crate) fn envelope_of(&self, message: Message) -> (Envelope, u64) {
        match self.start_of(message.from, message.send) {
            Start::Send { tag, len, .. } => {
                let source = RankId(u32::from(message.from));
                (Envelope { source, tag: mpi::tag(tag), context: Context::MESSAGES }, len)
            }
            other => unreachable!("{message:?} is named by a send, not by {other:?}"),
        }
    }

    /// The 8 bytes that a message has beside its own.
    pub(crate) fn data_of(&self, message: Message) -> Option<u64> {
        match self.start_of(message.from, message.send).call() {
            Call::Send(send) => send.data,
            other => unreachable!("{message:?} is named by a send, not by {other:?}"),
        }
    }

    pub(crate) fn pattern_of(&self, receive: Ordinal) -> (Pattern, u64) {
        match self.start_of(self.me, receive) {
            Start::Receive { from, tag, len, .. } => {
                (Pattern { source: from, tag, context: Context::MESSAGES }, len)
            }
            other => unreachable!("request {receive} is a receive, not {other:?}"),
        }
    }

    fn step(&mut self, proc: &mut Proc<P>, choice: Choice) {
        let program = self.model.program(self.state.job, self.me);
        let pc = proc.pc;
        let step = &program.steps[usize::from(pc)];
        if let Choice::From(source) = choice {
            proc.rank.arrived_first(RankId(u32::from(source)));
            proc.arrived.sort_by_key(|message| message.from != source);
        }
        match &step.act {
            Act::Start(ordinal) => self.start(proc, *ordinal, choice),
            Act::Wait(ordinals) => ordinals.iter().for_each(|ordinal| release(program, proc, *ordinal)),
            Act::Test(ordinal) => {
                if choice == Choice::Plain {
                    release(program, proc, *ordinal);
                }
            }
            Act::Probe { sought: what, into } => {
                let found = sought(program, proc, *what).and_then(|(source, tag)| {
                    proc.rank.probe(&Pattern { source, tag, context: Context::MESSAGES })
                });
                if let (Some(name), Some(Arrived { envelope, .. })) = (into, found) {
                    proc.learn(*name, received(envelope.source, envelope.tag));
                }
            }
            Act::Compute(_) => {}
            Act::Claim(ordinal) => self.claim(proc, *ordinal),
            Act::ReceiveClaimed(ordinal) => self.receive_claimed(proc, *ordinal),
            Act::Discard(ordinal) => self.discard(proc, *ordinal),
            Act::Cancel(ordinal) => {
                if let Some(handle) = proc.by_ordinal(*ordinal).and_then(|open| open.handle) {
                    let mut outputs = Outputs::default();
                    let cancelled = proc.rank.call(Call::Cancel(handle), &mut outputs);
                    debug_assert!(cancelled.is_ok(), "the generator cancels open receives only");
                    self.perform(proc, outputs, None, Rule::Silent);
                }
            }
            Act::Touch { buffer, write } => self.use_buffer(proc, *buffer, *write),
        }
        proc.pc += 1;
        let first = program.forgets.partition_point(|(at, _)| *at < pc);
        for (_, name) in program.forgets[first..].iter().take_while(|(at, _)| *at == pc) {
            proc.received.retain(|(other, _)| other != name);
        }
        if self.model.is_at_fault(self.state.job, self.me, proc) {
            self.wrong(Check::DeadlockFreedom, Note::OutOfRange { at: self.me });
        }
        if usize::from(proc.pc) == program.steps.len()
            && let Some(open) = proc.open.first()
        {
            self.wrong(Check::RequestLeak, Note::Leak { at: self.me, request: open.ordinal });
        }
    }

    /// The program, or a request that it starts, uses a local buffer.
    fn use_buffer(&mut self, proc: &Proc<P>, buffer: u16, write: bool) {
        let user = proc.open.iter().find_map(|open| {
            let (used, written) = self.start_of(self.me, open.ordinal).buffer()?;
            (used == buffer && (write || written)).then_some((open.ordinal, written))
        });
        if let Some((request, written)) = user {
            self.wrong(Check::BufferSafety, Note::BufferInUse { at: self.me, request, written });
        }
    }

    fn start(&mut self, proc: &mut Proc<P>, ordinal: Ordinal, choice: Choice) {
        let start = self.model.next_start(self.state.job, self.me, proc, ordinal);
        let program = self.model.program(self.state.job, self.me);
        if matches!(program.starts[usize::from(ordinal)], Start::Later(_)) {
            self.state.begin(self.me, ordinal, start);
        }
        if let Some((buffer, write)) = start.buffer() {
            self.use_buffer(proc, buffer, write);
        }
        if self.model.is_portable() && matches!(start, Start::Collective { .. }) {
            // When it may leave, MPI's rule says: the library's schedule waits for more ranks, and for others.
            proc.open.push(Open { ordinal, handle: None, message: None, exposed: false, busy: false });
            return;
        }
        let is_send = matches!(start, Start::Send { .. });
        let subject = is_send.then_some(Message { from: self.me, send: ordinal });
        let rule = match start {
            Start::Receive { .. } => Rule::Match(self.receive_by_rule(proc, ordinal)),
            _ => Rule::Silent,
        };
        let mut outputs = Outputs { decline: choice == Choice::Decline, ..Outputs::default() };
        let opened = proc.rank.call(start.call(), &mut outputs);
        let Ok(handle) = opened else {
            unreachable!("programs are checked before they are explored: {opened:?}");
        };
        let message = match rule {
            Rule::Match(Some((receive, message))) if receive == ordinal => Some(message),
            _ => None,
        };
        proc.open.push(Open { ordinal, handle: Some(handle), message, exposed: false, busy: false });
        if choice == Choice::Decline {
            self.model.reach(Reached::Declined);
        }
        self.perform(proc, outputs, subject, rule);
        if matches!((start, rule), (Start::Receive { .. }, Rule::Match(None))) {
            proc.waiting.push(ordinal);
        }
    }

    /// A receive claims its message, which the library says that there is.
    fn claim(&mut self, proc: &mut Proc<P>, ordinal: Ordinal) {
        let at = self.me;
        let rule = self.receive_by_rule(proc, ordinal);
        let Pattern { source, tag, .. } = self.pattern_of(ordinal).0;
        let mut outputs = Outputs::default();
        let Some((handle, arrived)) = proc.rank.claim(source, tag, Communicator::WORLD, &mut outputs) else {
            unreachable!("a probe has found it");
        };
        let message = rule.map(|(_, message)| message);
        proc.open.push(Open { ordinal, handle: Some(handle), message, exposed: false, busy: false });
        self.perform(proc, outputs, None, Rule::Silent);
        self.model.reach(Reached::Claimed);
        match message {
            None => self.wrong(Check::MatchingOrder, Note::Impossible { at, from: at }),
            Some(message) => {
                let (envelope, len) = self.envelope_of(message);
                if arrived != (Arrived { envelope, data: self.data_of(message), len }) {
                    let note = Note::WrongReceive { at, message, should: Some(ordinal), got: None };
                    self.wrong(Check::MatchingOrder, note);
                }
            }
        }
    }

    fn receive_claimed(&mut self, proc: &mut Proc<P>, ordinal: Ordinal) {
        let Call::Receive(Receive { len, memory, .. }) = self.start_of(self.me, ordinal).call() else {
            unreachable!("only receives claim");
        };
        let Some(&mut Open { handle: Some(message), message: claimed, .. }) = proc.by_ordinal(ordinal) else {
            return;
        };
        let mut outputs = Outputs::default();
        let call = Call::ReceiveClaimed(ReceiveClaimed { message, len, memory });
        let received = proc.rank.call(call, &mut outputs);
        debug_assert!(received.is_ok(), "programs receive what they have claimed, and once");
        self.perform(proc, outputs, None, Rule::Match(claimed.map(|message| (ordinal, message))));
    }

    /// What is discarded is nobody's: nothing is written.
    fn discard(&mut self, proc: &mut Proc<P>, ordinal: Ordinal) {
        let Some(open) = proc.by_ordinal(ordinal) else { return };
        let (handle, claimed) = (open.handle, open.message.take());
        let Some(request) = handle else { return };
        let mut outputs = Outputs::default();
        let discarded = proc.rank.call(Call::Discard(request), &mut outputs);
        debug_assert!(discarded.is_ok(), "programs discard what they have claimed, and once");
        let ends = |work: &Work| matches!(work, Work::Complete { request: other, .. } if *other == request);
        let moves = |work: &Work| matches!(work, Work::Read { .. } | Work::Place { .. });
        if !outputs.work.iter().any(ends) || outputs.work.iter().any(moves) {
            let message = claimed.unwrap_or(Message { from: self.me, send: 0 });
            let note = Note::WrongReceive { at: self.me, message, should: None, got: Some(ordinal) };
            self.wrong(Check::MatchingOrder, note);
        }
        outputs.work.retain(|work| !ends(work));
        self.perform(proc, outputs, None, Rule::Silent);
    }

    fn announce(&mut self, proc: &mut Proc<P>, receive: Ordinal) {
        let Some(handle) = proc.by_ordinal(receive).and_then(|open| open.handle) else { return };
        self.event(proc, Event::Announce(handle), None, Rule::Silent);
    }

    /// Feeds one event to the library and performs what it asks for.
    fn event(&mut self, proc: &mut Proc<P>, event: Event, subject: Option<Message>, rule: Rule) {
        let mut outputs = Outputs::default();
        match proc.rank.event(event, &mut outputs) {
            Ok(()) => self.perform(proc, outputs, subject, rule),
            Err(error) => {
                let note = Note::Impossible { at: self.me, from: error.peer.0 as u16 };
                self.wrong(Check::MatchingOrder, note);
            }
        }
    }

    fn land(&mut self, proc: &mut Proc<P>, route: Route, place: usize) {
        let Some(flight) = self.state.land(route, place) else { return };
        let from = RankId(u32::from(route.peer));
        match flight {
            // The card of this rank does it, not its library.
            Flight::Read(reading, Some(notice)) => {
                self.state.landed(route, reading, notice);
            }
            Flight::Completion(handle) | Flight::Read(Reading { request: handle, .. }, None) => {
                // One of a collective's round is nothing that the program has opened.
                let me = self.me;
                let open = proc.by_handle(handle);
                if open.is_none() && collective_of(handle).is_none() {
                    return;
                }
                let subject = open.map(|open| {
                    open.busy = false;
                    Message { from: me, send: open.ordinal }
                });
                if route.what == What::Written {
                    self.event(proc, Event::Written(handle), subject, Rule::Silent);
                } else {
                    self.event(proc, Event::Read(handle), None, Rule::Silent);
                }
            }
            Flight::Data(data, notice) => {
                self.written(proc, data);
                if let Some(packet) = notice
                    && self.state.wrong.is_empty()
                {
                    let brings = matches!(packet, Packet::Fin { .. }).then_some(data.message);
                    self.packet(proc, from, route.context, packet, brings);
                }
            }
            Flight::Packet(packet, message) => self.packet(proc, from, route.context, packet, message),
            Flight::Notice(packet) => self.packet(proc, from, route.context, packet, None),
        }
    }

    fn packet(
        &mut self,
        proc: &mut Proc<P>,
        from: RankId,
        context: Context,
        packet: Packet,
        message: Option<Message>,
    ) {
        let expected = self.arrive_by_rule(proc, message);
        match packet {
            // The library says which receive it is; the rule must agree.
            Packet::Fin { line, .. } | Packet::RtrAck { line, .. } => {
                let got = proc.by_handle(line.receive).map(|open| open.ordinal);
                if let Some(message) = message
                    && expected.map(|(receive, _)| receive) != got
                {
                    let should = expected.map(|(receive, _)| receive);
                    self.wrong(
                        Check::MatchingOrder,
                        Note::WrongReceive { at: self.me, message, should, got },
                    );
                    return;
                }
            }
            Packet::Eager { .. } => {
                if let Some((receive, _)) = expected
                    && proc.by_ordinal(receive).is_some_and(|open| open.exposed)
                {
                    self.model.reach(Reached::Mispredicted);
                }
            }
            Packet::Done { send } => {
                if let Some(open) = proc.by_handle(send) {
                    open.exposed = false;
                }
            }
            Packet::Rtr(rtr) => self.crossing(proc, from, &rtr),
            _ => {}
        }
        // An RTR-ACK has been compared above; nothing comes of it yet.
        let rule = match packet {
            Packet::RtrAck { .. } => Rule::Silent,
            _ if message.is_none() => Rule::Silent,
            _ => Rule::Match(expected),
        };
        self.event(proc, Event::Packet { from, context, packet }, None, rule);
    }

    /// Performs outputs in order. `subject` is the message that the input was about at its sender.
    fn perform(&mut self, proc: &mut Proc<P>, outputs: Outputs, subject: Option<Message>, rule: Rule) {
        let mut got = None;
        let mut taken = None;
        for work in outputs.work {
            match work {
                Work::Send { to, context, packet, .. } => {
                    if let Packet::Clear { receive, .. } = packet {
                        got = Some(receive);
                    }
                    self.sent(proc, to, context, packet, subject);
                }
                Work::Write { context, write: Write { to, len, notice, request, .. }, receive } => {
                    let Some(open) = proc.by_handle(request) else {
                        // Data of a collective is in nobody's buffer: what matters is what is said behind it.
                        if let (Some(_), Some(packet)) = (collective_of(request), notice) {
                            let to = to.0 as u16;
                            self.state.send(self.me, to, context, packet, None);
                            self.state.written(self.me, to, context, request);
                        }
                        continue;
                    };
                    open.busy = true;
                    open.exposed = false;
                    let message = Message { from: self.me, send: open.ordinal };
                    let data = Data { message, receive, len };
                    self.state.write((self.me, to.0 as u16), context, data, notice, request);
                }
                Work::Read { context, read: Read { of, notice, request, .. }, send } => {
                    got = Some(request);
                    if let Some(open) = proc.by_handle(request) {
                        open.busy = true;
                    }
                    self.state.read((self.me, of.0 as u16), context, Reading { send, request }, notice);
                }
                Work::Place { request, .. } => got = Some(request),
                Work::Take { kept, request, .. } => {
                    got = Some(request);
                    let at = proc.kept.iter().position(|(held, _)| *held == kept);
                    taken = at.map(|at| proc.kept.remove(at).1);
                }
                Work::Keep { kept, .. } if kept.context.is_collective() => {}
                Work::Keep { kept, .. } => {
                    // What arrives last is last in line.
                    proc.kept.extend(proc.arrived.last().map(|message| (kept, *message)));
                }
                Work::Copy { .. } | Work::Combine { .. } => {}
                Work::Complete { request, status } => self.completed(proc, request, &status, &mut got),
            }
        }
        if let Rule::Match(expected) = rule {
            let got = got.and_then(|handle| proc.by_handle(handle)).map(|open| open.ordinal);
            self.compare(got, taken, expected);
        }
    }

    fn sent(
        &mut self,
        proc: &mut Proc<P>,
        to: RankId,
        context: Context,
        packet: Packet,
        subject: Option<Message>,
    ) {
        let mut brings = None;
        match packet {
            Packet::Eager { .. } | Packet::Fin { .. } | Packet::RtrAck { .. }
                if context == Context::MESSAGES =>
            {
                brings = subject;
            }
            Packet::Rts { send, .. } => {
                brings = subject;
                if let Some(open) = proc.by_handle(send) {
                    open.exposed = true;
                }
            }
            Packet::Rtr(rtr) => {
                if let Some(open) = proc.by_handle(rtr.receive) {
                    open.exposed = true;
                }
            }
            _ => {}
        }
        self.state.send(self.me, to.0 as u16, context, packet, brings);
    }
}

/// Releases a request that is complete; one that is released already stays so. The name of a receive stands for its
/// message from now on.
fn release<P: Protocol>(program: &Program, proc: &mut Proc<P>, ordinal: Ordinal) {
    if let Some(at) = proc.open.iter().position(|open| open.ordinal == ordinal) {
        let Some(handle) = proc.open.remove(at).handle else { return };
        let released = proc.rank.release(handle);
        debug_assert!(matches!(released, Ok(Some(_))), "only complete requests are released");
        if let (Some(name), Ok(Some(status))) = (program.keeps.get(&ordinal), released)
            && let Some((source, tag)) = status.message
        {
            proc.learn(*name, received(source, tag));
        }
    }
}
