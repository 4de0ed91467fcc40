//! Windows in the checker: what their epochs admit, whose local buffers are in use, and which accesses race.
//!
//! Two accesses race if they can be under way at the same time. A transfer is under way from the call in which the
//! library begins it, which is after its target has granted it, until it is in the target's memory or, of one that
//! fetches, until it is back. What synchronization orders is never under way together, in whatever order events come;
//! what nothing orders is, in some order. So no history of accesses is needed: when a transfer begins, or the program
//! touches its own memory, the network knows all others.

use crate::context::StepContext;
use crate::model::Model;
use crate::network::{Channel, ChannelKind, InFlight, Item, Launch, Moving, transfer};
use crate::open_epochs::{EpochForm, OpenAccess, OpenEpoch};
use crate::oracle::Expectation;
use crate::outputs::Outputs;
use crate::program::{Access, Ordinal};
use crate::state::{Open, Proc, State};
use crate::violation::{Violation, ViolationKind};
use carrousel_program::OwnAccess;
use carrousel_program::epoch::{Call, Event, OperationId, Order, Report, TransferKind};
use carrousel_rank::{Called, Context, Protocol, RankId, UsageError, WindowIndex, WindowWork};
use carrousel_scenario::Check;

impl<P: Protocol> StepContext<'_, P> {
    /// The program accesses the memory of a window.
    pub(crate) fn access(&mut self, proc: &mut Proc<P>, index: u16) {
        let access = self.model.program(self.state.job, self.me).accesses[usize::from(index)];
        let kind = access.transfer.kind;
        self.use_buffer(proc, access.buffer, kind.reads());
        let call = Call::Transfer { transfer: access.transfer, with_request: access.request.is_some() };
        let mut outputs = Outputs::default();
        if self.model.is_portable() {
            if !self.is_admitted(proc) {
                return;
            }
            let open = |ordinal| Open { ordinal, handle: None, message: None, exposed: false, busy: false };
            proc.open.extend(access.request.map(open));
        } else {
            let Some(called) = self.call_window(proc, access.window, call, &mut outputs) else { return };
            open_request(proc, access.request, called);
        }
        if let Some(form) = use_epoch(proc, access.window, access.transfer.target) {
            if access.request.is_some() && !form.locks() {
                let kind = ViolationKind::RequestWithoutLock { at: self.me, access: index };
                self.violates(Check::EpochUsage, kind);
            }
            proc.accesses.push(OpenAccess {
                access: index,
                form,
                is_closed: false,
                covered_by: access.request.into_iter().collect(),
            });
        }
        self.perform(proc, outputs, None, Expectation::Nothing);
    }

    /// The program reads or writes its own memory.
    pub(crate) fn touch_window(&mut self, own: &OwnAccess) {
        let me = self.me;
        let racing = self.state.network.transfers(own.window.0 as u16, me).find(|(origin, moving)| {
            let accesses = &self.model.program(self.state.job, *origin).accesses;
            accesses[usize::from(moving.access)].conflicts_with_own(me, own)
        });
        if let Some((origin, moving)) = racing {
            let first = (origin, moving.access);
            self.violates(Check::RmaRace, ViolationKind::Race { at: me, first, second: (me, None) });
        }
    }

    /// The program opens, closes or flushes an epoch.
    pub(crate) fn synchronize(&mut self, proc: &mut Proc<P>, ordinal: Ordinal, call: u16) {
        let program = self.model.program(self.state.job, self.me);
        let synchronization = &program.synchronizations[usize::from(call)];
        let (window, call) = (synchronization.window, synchronization.call());
        let mut outputs = Outputs::default();
        let Some(called) = self.call_window(proc, window, call, &mut outputs) else { return };
        follow(proc, window, call, ordinal, &program.accesses);
        open_request(proc, Some(ordinal), called);
        self.perform(proc, outputs, None, Expectation::Nothing);
    }

    /// `None` if the epochs of the window do not admit the call.
    fn call_window(
        &mut self,
        proc: &mut Proc<P>,
        window: u16,
        call: Call<'_>,
        outputs: &mut Outputs,
    ) -> Option<Called> {
        match proc.rank.call_window(WindowIndex(u32::from(window)), call, outputs) {
            Ok(called) => Some(called),
            Err(UsageError::Window(error)) => {
                self.violates(Check::EpochUsage, ViolationKind::EpochUsage { at: self.me, error });
                None
            }
            Err(error) => unreachable!("programs are checked before they are explored: {error}"),
        }
    }

    /// What a window asks for. Returns the operation whose local buffer is free from now on, if one is.
    pub(crate) fn perform_of_window(&mut self, window: WindowIndex, work: WindowWork) -> Option<OperationId> {
        let (me, window) = (self.me, window.0 as u16);
        let channel = |at, peer, kind| Channel { at, peer, context: Context::MESSAGES, kind };
        let (channel, item) = match work {
            WindowWork::Transfer { operation, transfer, is_staged, .. } => {
                let moving = Moving { operation, access: transfer.local as u16, is_staged };
                let target = transfer.target.0 as u16;
                debug_assert!(
                    !(is_staged && transfer.kind.reads()),
                    "no statement fetches more than one element"
                );
                // What is read and what atomics fetch is not in order (the contract of transports).
                let channel = match transfer.kind {
                    TransferKind::Get => channel(me, target, ChannelKind::Get(window)),
                    kind if kind.reads() => channel(me, target, ChannelKind::Fetch(window)),
                    _ => channel(target, me, ChannelKind::Lane(window)),
                };
                let item = (channel, InFlight::Transfer(moving));
                if let Some((at, first)) = racing_with(self.model, self.state, &self.leaving, &item) {
                    let second = (me, Some(moving.access));
                    self.violates(Check::RmaRace, ViolationKind::Race { at, first, second });
                }
                self.leaving.launch(channel, item.1);
                return (!transfer.kind.reads()).then_some(operation);
            }
            WindowWork::Post { to, packet, order } => {
                let item = InFlight::OfEpoch { packet, fenced: order == Order::Fenced };
                (channel(to.0 as u16, me, ChannelKind::Lane(window)), item)
            }
            WindowWork::Store { to, word, value } => {
                (channel(to.0 as u16, me, ChannelKind::Grants(window)), InFlight::Granted(word, value))
            }
            WindowWork::Report(Report::LockedWhileExposed { origin, .. }) => {
                let kind = ViolationKind::LockedWhileExposed { at: me, origin: origin.0 as u16 };
                self.violates(Check::EpochUsage, kind);
                return None;
            }
            WindowWork::Report(Report::HolderDied { .. }) => unreachable!("no rank of the checker dies"),
        };
        self.leaving.launch(channel, item);
        None
    }

    /// Something of a window comes out of the network.
    pub(crate) fn land_of_window(&mut self, proc: &mut Proc<P>, channel: Channel, item: InFlight) {
        let from = RankId(u32::from(channel.peer));
        let (window, event) = match (item, channel.kind) {
            // It is in the target's memory. No library notices, until its origin's does; but the one that has applied it.
            (InFlight::Transfer(moving), ChannelKind::Lane(window)) => {
                let kind = ChannelKind::Moved(window);
                let back = Channel { at: channel.peer, peer: channel.at, kind, ..channel };
                self.leaving.launch(back, InFlight::Moved(moving.operation));
                if !moving.is_staged {
                    return;
                }
                (window, Event::Applied { origin: from })
            }
            (
                InFlight::Transfer(Moving { operation, .. }),
                ChannelKind::Get(window) | ChannelKind::Fetch(window),
            ) => (window, Event::Complete(operation)),
            (InFlight::Moved(operation), ChannelKind::Moved(window)) => (window, Event::Complete(operation)),
            (InFlight::OfEpoch { packet, .. }, ChannelKind::Lane(window)) => {
                (window, Event::Packet { from, packet })
            }
            (InFlight::Granted(word, value), ChannelKind::Grants(window)) => {
                (window, Event::Granted { from, word, value })
            }
            _ => unreachable!("{item:?} is not in {channel:?}"),
        };
        self.event_of_window(proc, WindowIndex(u32::from(window)), event);
    }

    /// Feeds one event of a window to the library, and performs what it asks for.
    pub(crate) fn event_of_window(&mut self, proc: &mut Proc<P>, window: WindowIndex, event: Event) {
        let mut outputs = Outputs::default();
        match proc.rank.event_window(window, event, &mut outputs) {
            Ok(()) => self.perform(proc, outputs, None, Expectation::Nothing),
            Err(_) => {
                let kind = ViolationKind::Impossible { at: self.me, from: self.me };
                self.violates(Check::MatchingOrder, kind);
            }
        }
    }

    /// The program uses a buffer that an access may be using.
    pub(crate) fn check_accesses_of(&mut self, proc: &Proc<P>, buffer: u16, write: bool) {
        let accesses = &self.model.program(self.state.job, self.me).accesses;
        let user = proc.accesses.iter().find_map(|open| {
            let access = accesses[usize::from(open.access)];
            let written = access.transfer.kind.reads();
            (access.buffer == buffer && (write || written)).then_some((open.access, written))
        });
        if let Some((access, written)) = user {
            let kind = ViolationKind::BufferInAccess { at: self.me, access, written };
            self.violates(Check::BufferSafety, kind);
        }
    }

    /// The program has ended. A fence without accesses behind it opens no epoch.
    pub(crate) fn check_epochs_closed(&mut self, proc: &Proc<P>) {
        let open = proc.epochs.iter().find(|epoch| epoch.form != EpochForm::Fence || epoch.is_used);
        if let Some(epoch) = open {
            let kind = ViolationKind::EpochLeftOpen { at: self.me, epoch: *epoch };
            self.violates(Check::EpochUsage, kind);
        }
    }
}

/// The transfer that is under way, in flight or among what leaves, and races with one that begins; with its target.
pub(crate) fn racing_with<P: Protocol>(
    model: &Model<P>,
    state: &State<P>,
    leaving: &[Item],
    (channel, item): &(Channel, InFlight),
) -> Option<(u16, (u16, u16))> {
    let InFlight::Transfer(moving) = item else { return None };
    let (window, target) = channel.memory()?;
    let access = |origin, access: u16| &model.program(state.job, origin).accesses[usize::from(access)];
    let this = access(channel.origin(), moving.access);
    let under_way = state.network.iter().chain(leaving.iter().map(|item| &**item));
    let mut transfers = under_way.filter_map(|item| transfer(item, window, target));
    let (origin, first) =
        transfers.find(|(origin, moving)| this.conflicts_with(access(*origin, moving.access)))?;
    Some((target, (origin, first.access)))
}

/// The request of a call on a window is open, if it has one.
fn open_request<P: Protocol>(proc: &mut Proc<P>, ordinal: Option<Ordinal>, called: Called) {
    if let (Some(ordinal), Called::Request(handle)) = (ordinal, called) {
        let handle = Some(handle);
        proc.open.push(Open { ordinal, handle, message: None, exposed: false, busy: false });
    }
}

/// A step of `me` between two states: what was promised of it, or by it, has to be so.
pub(crate) fn check_assertions<P: Protocol>(
    model: &Model<P>,
    before: &State<P>,
    after: &mut State<P>,
    me: u16,
) {
    let job = &model.jobs()[before.job as usize];
    if let Some(broken) =
        model.facts(before.job).windows.assertions.broken_at(job, before, me, &model.facts(before.job).plan)
    {
        let kind = ViolationKind::Asserted { at: me, broken };
        after.violations.push(Violation { check: Check::EpochUsage, kind });
    }
}

/// The window that the next step of a rank exposes to a group, if it does so.
pub(crate) fn exposes_next<P: Protocol>(model: &Model<P>, state: &State<P>, rank: u16) -> Option<u16> {
    let call = model.program(state.job, rank).call_at(state.procs[usize::from(rank)].pc)?;
    matches!(call.call(), Call::Post(_)).then_some(call.window)
}

/// The open epoch that an access to `target` belongs to, which has an access now.
fn use_epoch<P: Protocol>(proc: &mut Proc<P>, window: u16, target: RankId) -> Option<EpochForm> {
    EpochForm::of_access(target).into_iter().find(|form| {
        let is_it = |epoch: &&mut OpenEpoch| (epoch.window, epoch.form) == (window, *form);
        proc.epochs.iter_mut().find(is_it).map(|epoch| epoch.is_used = true).is_some()
    })
}

/// Follows a call that the library has admitted: which epochs are open, and what its request completes.
pub(crate) fn follow<P: Protocol>(
    proc: &mut Proc<P>,
    window: u16,
    call: Call<'_>,
    request: Ordinal,
    accesses: &[Access],
) {
    let made = |open: &OpenAccess| accesses[usize::from(open.access)];
    if let Some(form) = EpochForm::closed_by(call) {
        proc.epochs.retain(|epoch| (epoch.window, epoch.form) != (window, form));
        // Epochs of the same form may be open in other windows.
        let is_of_it = |open: &OpenAccess| made(open).window == window && open.form == form;
        for access in proc.accesses.iter_mut().filter(|access| is_of_it(access) && !access.is_closed) {
            access.is_closed = true;
            access.covered_by.push(request);
        }
    }
    if let Some(form) = EpochForm::opened_by(call) {
        proc.epochs.push(OpenEpoch { window, form, is_used: false, opened_at: proc.pc });
    }
    if let Call::Flush(flush) | Call::FlushWithRequest(flush) = call {
        for access in proc.accesses.iter_mut().filter(|access| !access.is_closed && access.form.locks()) {
            let Access { window: of, transfer, .. } = made(access);
            if of == window && flush.target.is_none_or(|target| target == transfer.target) {
                access.covered_by.push(request);
            }
        }
    }
}
