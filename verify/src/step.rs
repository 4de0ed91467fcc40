//! Carrying out one step: the driver that the checker is to a rank.
//!
//! A step feeds one input to one [`carrousel_rank::Rank`] and performs its outputs, in order. What the library does
//! with a message is compared with the oracle: `waiting` and `arrived` of [`Proc`] are the two queues of MPI's
//! matching in its plainest form.

use crate::action::Choice;
use crate::context::StepContext;
use crate::hashed::{Hashed, hash_of};
use crate::later::sought;
use crate::learned::{StepBegin, StepEnd, StepInput};
use crate::model::Model;
use crate::network::{Channel, ChannelKind, Data, InFlight, Launch, Message, Reading};
use crate::oracle::Expectation;
use crate::outputs::Outputs;
use crate::own_locks::check_exclusion;
use crate::program::{Act, Ordinal, Program, Start};
use crate::search::CoverPoint;
use crate::spent::forget_behind_last;
use crate::state::{Open, Proc, State};
use crate::violation::{Violation, ViolationKind};
use crate::windows::racing_with;
use carrousel_rank::epoch;
use carrousel_rank::{
    Arrived, Call, Communicator, Context, Event, Explore, Handle, Packet, Pattern, Protocol, RankId, Read,
    Receive, ReceiveClaimed, Work, Write, collective_of,
};
use carrousel_scenario::Check;
use smallvec::SmallVec;

/// Takes a step of a rank. What lands in it is in the network no more.
pub(crate) fn take<P: Protocol>(
    model: &Model<P>,
    begin: StepBegin<P>,
    state: &State<P>,
    next: &mut State<P>,
) {
    let me = begin.me;
    let carry_out_only = |next: &mut State<P>| {
        let end = carry_out(model, &begin, next);
        come_to(model, next, me, &end);
    };
    match model.learned(&begin) {
        Some(learned) => learned.with(|learned| {
            let Some(learned) = learned else { return carry_out_only(next) };
            let hash = hash_of(&begin);
            if let Some(end) = learned.get(hash, &begin).filter(|end| ends_so(model, next, me, end)) {
                return come_to(model, next, me, end);
            }
            let mut end = carry_out(model, &begin, next);
            learned.share(&mut end);
            come_to(model, next, me, &end);
            if !next.violations.iter().any(|violation| model.tells(violation)) {
                learned.insert(hash, begin.clone(), end);
            }
        }),
        None => carry_out_only(next),
    }
    check_exclusion(model.jobs()[state.job as usize].windows.len() as u16, state, next, me);
}

/// What has come of a step of a rank.
fn come_to<P: Protocol>(model: &Model<P>, next: &mut State<P>, me: u16, end: &StepEnd<P>) {
    end.met.iter().for_each(|what| model.reach(*what));
    next.procs.set(usize::from(me), end.proc.clone());
    end.leaving.iter().for_each(|item| next.network.launch_item(item.clone()));
}

/// Whether a step comes to this end in a state, too: no transfer that begins races, and no peer reads the buffer of a send that
/// ends.
fn ends_so<P: Protocol>(model: &Model<P>, state: &State<P>, me: u16, end: &StepEnd<P>) -> bool {
    let is_read = |send: &Handle| state.network.is_being_read(me, *send);
    let races = |at: usize| {
        let (before, item) = (&end.leaving[..at], &end.leaving[at]);
        racing_with(model, state, before, item).is_some()
    };
    !end.ended.iter().any(is_read) && !(0..end.leaving.len()).any(races)
}

/// Carries out a step of a rank. What leaves is not in the network yet.
fn carry_out<P: Protocol>(model: &Model<P>, begin: &StepBegin<P>, next: &mut State<P>) -> StepEnd<P> {
    let StepBegin { job, me, proc, input } = begin;
    let mut proc = Proc::clone(proc);
    let mut context = StepContext::new(model, next, *me);
    match input {
        StepInput::Step(choice) => context.step(&mut proc, *choice),
        StepInput::Announce(receive) => context.announce(&mut proc, *receive),
        StepInput::Land(item) => context.land(&mut proc, item.0, item.1),
        StepInput::LandLast(item) => {
            context.land(&mut proc, item.0, item.1);
            if context.leaving.is_empty() {
                forget_behind_last(model, context.state, (*me, item.0.peer), &mut proc);
            }
        }
        StepInput::Forget(to, of, processed) => {
            proc.rank.forget_seen(RankId(u32::from(*to)), *of, *processed);
        }
        StepInput::ForgetFlows(peer) => proc.rank.forget_flows(RankId(u32::from(*peer))),
    }
    let StepContext { leaving, ended, met, .. } = context;
    if model.is_reducing() {
        model.forget_arrival_order(*job, *me, &mut proc);
    }
    proc.outlook = model.outlook(*job, *me, &proc);
    StepEnd { proc: Hashed::new(proc), leaving, ended, met }
}

impl<P: Protocol> StepContext<'_, P> {
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
            Act::Wait(ordinals) => ordinals.iter().for_each(|ordinal| self.release(proc, *ordinal)),
            Act::Test(ordinal) => {
                if choice == Choice::Plain {
                    self.release(proc, *ordinal);
                }
            }
            Act::Probe { sought: what, into } => {
                let found = sought(program, proc, *what).and_then(|pattern| proc.rank.probe(&pattern));
                if let (Some(name), Some(Arrived { envelope, .. })) = (into, found) {
                    let communicator = envelope.context.communicator();
                    proc.learn(*name, program.received(communicator, envelope.source, envelope.tag));
                }
            }
            Act::Compute(_) | Act::AwaitGrants(_) => {}
            Act::Define(communicator) => self.define(proc, program, *communicator),
            Act::Claim(ordinal) => self.claim(proc, *ordinal),
            Act::ReceiveClaimed(ordinal) => self.receive_claimed(proc, *ordinal),
            Act::Discard(ordinal) => self.discard(proc, *ordinal),
            Act::Cancel(ordinal) => {
                if let Some(handle) = proc.by_ordinal(*ordinal).and_then(|open| open.handle) {
                    let mut outputs = Outputs::default();
                    let cancelled = proc.rank.call(Call::Cancel(handle), &mut outputs);
                    debug_assert!(cancelled.is_ok(), "the generator cancels open receives only");
                    self.perform(proc, outputs, None, Expectation::Nothing);
                }
            }
            Act::Access(access) => self.access(proc, *access),
            Act::TouchWindow(access) => self.touch_window(access),
            Act::Touch { buffer, write } => self.use_buffer(proc, *buffer, *write),
        }
        proc.pc += 1;
        let first = program.forgets.partition_point(|(at, _)| *at < pc);
        for (_, name) in program.forgets[first..].iter().take_while(|(at, _)| *at == pc) {
            proc.received.retain(|(other, _)| other != name);
        }
        if self.model.is_at_fault(self.state.job, self.me, proc) {
            self.violates(Check::DeadlockFreedom, ViolationKind::OutOfRange { at: self.me });
        }
        // A call that its epochs do not admit ends the execution before the program ends.
        let has_ended = self.state.violations.iter().any(Violation::is_last);
        if usize::from(proc.pc) == program.steps.len() && !has_ended {
            if let Some(open) = proc.open.first() {
                self.violates(Check::RequestLeak, ViolationKind::Leak { at: self.me, request: open.ordinal });
            }
            self.check_epochs_closed(proc);
        }
    }

    /// The program, or a request that it starts, uses a local buffer.
    pub(crate) fn use_buffer(&mut self, proc: &Proc<P>, buffer: u16, write: bool) {
        let user = proc.open.iter().find_map(|open| {
            let (used, written) = self.start_of(self.me, open.ordinal).buffer()?;
            (used == buffer && (write || written)).then_some((open.ordinal, written))
        });
        if let Some((request, written)) = user {
            self.violates(Check::BufferSafety, ViolationKind::BufferInUse { at: self.me, request, written });
        }
        self.check_accesses_of(proc, buffer, write);
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
        if let Start::Synchronize(call) = start {
            match self.model.is_portable() {
                true => self.synchronize_weakly(proc, ordinal, call),
                false => self.synchronize(proc, ordinal, call),
            }
            return;
        }
        if self.model.is_portable() && matches!(start, Start::Collective { .. }) {
            // MPI's rule says when it may leave: a schedule of the library would wait for more ranks, and for others.
            proc.open.push(Open { ordinal, handle: None, message: None, exposed: false, busy: false });
            return;
        }
        let is_send = matches!(start, Start::Send { .. });
        let subject = is_send.then_some(Message { from: self.me, send: ordinal });
        let expectation = match start {
            Start::Receive { .. } => Expectation::Match(self.receive_by_rule(proc, ordinal)),
            _ => Expectation::Nothing,
        };
        let mut outputs = Outputs { decline: choice == Choice::Decline, ..Outputs::default() };
        let opened = proc.rank.call(start.call(), &mut outputs);
        let Ok(handle) = opened else {
            unreachable!("programs are checked before they are explored: {opened:?}");
        };
        let message = match expectation {
            Expectation::Match(Some((receive, message))) if receive == ordinal => Some(message),
            _ => None,
        };
        proc.open.push(Open { ordinal, handle: Some(handle), message, exposed: false, busy: false });
        if choice == Choice::Decline {
            self.reach(CoverPoint::Declined);
        }
        self.perform(proc, outputs, subject, expectation);
        if matches!((start, expectation), (Start::Receive { .. }, Expectation::Match(None))) {
            proc.waiting.push(ordinal);
        }
    }

    /// The library knows a communicator from now on.
    fn define(&mut self, proc: &mut Proc<P>, program: &Program, communicator: Communicator) {
        let Some(members) = program.members(communicator) else {
            unreachable!("a program defines communicators that it has")
        };
        let mut outputs = Outputs::default();
        let defined = proc.rank.define(communicator, members.clone(), &mut outputs);
        debug_assert!(defined.is_ok(), "a program defines each communicator once: {defined:?}");
        self.perform(proc, outputs, None, Expectation::Nothing);
    }

    /// A receive claims its message, which a probe has found.
    fn claim(&mut self, proc: &mut Proc<P>, ordinal: Ordinal) {
        let at = self.me;
        let expectation = self.receive_by_rule(proc, ordinal);
        let Pattern { source, tag, context } = self.pattern_of(ordinal).0;
        let mut outputs = Outputs::default();
        let Some((handle, arrived)) = proc.rank.claim(source, tag, context.communicator(), &mut outputs)
        else {
            unreachable!("a probe has found it");
        };
        let message = expectation.map(|(_, message)| message);
        proc.open.push(Open { ordinal, handle: Some(handle), message, exposed: false, busy: false });
        self.perform(proc, outputs, None, Expectation::Nothing);
        self.reach(CoverPoint::Claimed);
        match message {
            None => self.violates(Check::MatchingOrder, ViolationKind::Impossible { at, from: at }),
            Some(message) => {
                let (envelope, len) = self.envelope_of(message);
                if arrived != (Arrived { envelope, data: self.data_of(message), len }) {
                    let kind = ViolationKind::WrongReceive { at, message, should: Some(ordinal), got: None };
                    self.violates(Check::MatchingOrder, kind);
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
        self.perform(proc, outputs, None, Expectation::Match(claimed.map(|message| (ordinal, message))));
    }

    /// A message that is discarded belongs to no receive: none of its data may be moved.
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
            let kind = ViolationKind::WrongReceive { at: self.me, message, should: None, got: Some(ordinal) };
            self.violates(Check::MatchingOrder, kind);
        }
        outputs.work.retain(|work| !ends(work));
        self.perform(proc, outputs, None, Expectation::Nothing);
    }

    fn announce(&mut self, proc: &mut Proc<P>, receive: Ordinal) {
        let Some(handle) = proc.by_ordinal(receive).and_then(|open| open.handle) else { return };
        self.event(proc, Event::Announce(handle), None, Expectation::Nothing);
    }

    /// Feeds one event to the library and performs what it asks for.
    fn event(
        &mut self,
        proc: &mut Proc<P>,
        event: Event,
        subject: Option<Message>,
        expectation: Expectation,
    ) {
        let mut outputs = Outputs::default();
        match proc.rank.event(event, &mut outputs) {
            Ok(()) => self.perform(proc, outputs, subject, expectation),
            Err(error) => {
                let kind = ViolationKind::Impossible { at: self.me, from: error.peer.0 as u16 };
                self.violates(Check::MatchingOrder, kind);
            }
        }
    }

    fn land(&mut self, proc: &mut Proc<P>, channel: Channel, item: InFlight) {
        let from = RankId(u32::from(channel.peer));
        match item {
            // The adapter of this rank does it, without its library.
            InFlight::Read(reading, Some(notice)) => {
                self.leaving.landed(channel, reading, notice);
            }
            InFlight::Completion(handle) | InFlight::Read(Reading { request: handle, .. }, None) => {
                // A request of a collective's round is one of the library's own: the program has not opened it.
                let me = self.me;
                let open = proc.by_handle(handle);
                if open.is_none() && collective_of(handle).is_none() {
                    return;
                }
                let subject = open.map(|open| {
                    open.busy = false;
                    Message { from: me, send: open.ordinal }
                });
                if channel.kind == ChannelKind::Written {
                    self.event(proc, Event::Written(handle), subject, Expectation::Nothing);
                } else {
                    self.event(proc, Event::Read(handle), None, Expectation::Nothing);
                }
            }
            InFlight::Data(data, notice) => {
                self.written(proc, data);
                if let Some(packet) = notice
                    && self.state.violations.is_empty()
                {
                    let brings = matches!(packet, Packet::Fin { .. }).then_some(data.message);
                    self.packet(proc, from, channel.context, packet, brings);
                }
            }
            InFlight::Packet(packet, message) => self.packet(proc, from, channel.context, packet, message),
            InFlight::Notice(packet) => self.packet(proc, from, channel.context, packet, None),
            InFlight::Transfer(_) | InFlight::Moved(_) | InFlight::OfEpoch { .. } | InFlight::Granted(..) => {
                self.land_of_window(proc, channel, item);
            }
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
            Packet::Fin { rtr, .. } | Packet::RtrAck { rtr, .. } => {
                let got = proc.by_handle(rtr.receive).map(|open| open.ordinal);
                if let Some(message) = message
                    && expected.map(|(receive, _)| receive) != got
                {
                    let should = expected.map(|(receive, _)| receive);
                    self.violates(
                        Check::MatchingOrder,
                        ViolationKind::WrongReceive { at: self.me, message, should, got },
                    );
                    return;
                }
            }
            Packet::Eager { .. } => {
                if let Some((receive, _)) = expected
                    && proc.by_ordinal(receive).is_some_and(|open| open.exposed)
                {
                    self.reach(CoverPoint::Mispredicted);
                }
            }
            Packet::Ats { send } => {
                if let Some(open) = proc.by_handle(send) {
                    open.exposed = false;
                }
            }
            Packet::Rtr(rtr) => self.crossing(proc, from, &rtr),
            _ => {}
        }
        // An RTR-ACK has been compared above; nothing comes of it yet.
        let expectation = match packet {
            Packet::RtrAck { .. } => Expectation::Nothing,
            _ if message.is_none() => Expectation::Nothing,
            _ => Expectation::Match(expected),
        };
        self.event(proc, Event::Packet { from, context, packet }, None, expectation);
    }

    /// Performs outputs in order. `subject` is the message whose send the input was about.
    pub(crate) fn perform(
        &mut self,
        proc: &mut Proc<P>,
        outputs: Outputs,
        subject: Option<Message>,
        expectation: Expectation,
    ) {
        let mut got = None;
        let mut taken = None;
        let mut left_locally = SmallVec::<[_; 2]>::new();
        for work in outputs.work {
            match work {
                Work::Send { to, context, packet, .. } => {
                    if let Packet::Cts { receive, .. } = packet {
                        got = Some(receive);
                    }
                    self.sent(proc, to, context, packet, subject);
                }
                Work::Write { context, write: Write { to, len, notice, request, .. }, receive } => {
                    let Some(open) = proc.by_handle(request) else {
                        // Data of a collective has no buffer in the model: only the packet behind it matters.
                        if let (Some(_), Some(packet)) = (collective_of(request), notice) {
                            let to = to.0 as u16;
                            self.leaving.send(self.me, to, context, packet, None);
                            self.leaving.written(self.me, to, context, request);
                        }
                        continue;
                    };
                    open.busy = true;
                    open.exposed = false;
                    let message = Message { from: self.me, send: open.ordinal };
                    let data = Data { message, receive, len };
                    self.leaving.write((self.me, to.0 as u16), context, data, notice, request);
                }
                Work::Read { context, read: Read { of, notice, request, .. }, send } => {
                    got = Some(request);
                    if let Some(open) = proc.by_handle(request) {
                        open.busy = true;
                    }
                    self.leaving.read((self.me, of.0 as u16), context, Reading { send, request }, notice);
                }
                Work::Place { request, .. } => got = Some(request),
                Work::Take { kept, request, .. } => {
                    got = Some(request);
                    let at = proc.kept.iter().position(|(held, _)| *held == kept);
                    taken = at.map(|at| proc.kept.remove(at).1);
                }
                Work::Keep { kept, .. } if kept.context.is_collective() => {}
                Work::Keep { kept, .. } => {
                    // The message of this input is the last that has arrived.
                    proc.kept.extend(proc.arrived.last().map(|message| (kept, *message)));
                }
                Work::Copy { .. } | Work::Combine { .. } => {}
                Work::Window { window, work } => {
                    let moved = self.perform_of_window(window, work);
                    left_locally.extend(moved.map(|operation| (window, operation)));
                }
                Work::Complete { request, status } => self.completed(proc, request, &status, &mut got),
            }
        }
        if let Expectation::Match(expected) = expectation {
            let got = got.and_then(|handle| proc.by_handle(handle)).map(|open| open.ordinal);
            self.compare(got, taken, expected);
        }
        // Local buffers may be free at once, and nothing goes wrong only if they are so later. It is the next input.
        for (window, operation) in left_locally {
            self.event_of_window(proc, window, epoch::Event::LocallyComplete(operation));
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
            Packet::Eager { .. } | Packet::Fin { .. } | Packet::RtrAck { .. } if !context.is_collective() => {
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
        self.leaving.send(self.me, to.0 as u16, context, packet, brings);
    }

    /// Releases a request that is complete, unless it is released already. The name of a receive stands for its message
    /// from now on.
    fn release(&mut self, proc: &mut Proc<P>, ordinal: Ordinal) {
        let program = self.model.program(self.state.job, self.me);
        proc.accesses.retain(|access| !access.covered_by.contains(&ordinal));
        let Some(at) = proc.open.iter().position(|open| open.ordinal == ordinal) else { return };
        let Some(handle) = proc.open.remove(at).handle else { return self.end_of(ordinal) };
        let released = proc.rank.release(handle);
        debug_assert!(matches!(released, Ok(Some(_))), "only complete requests are released");
        if let (Some(name), Ok(Some(status))) = (program.keeps.get(&ordinal), released)
            && let Some((source, tag)) = status.message
        {
            proc.learn(*name, program.received(program.communicator_of(ordinal), source, tag));
        }
    }
}
