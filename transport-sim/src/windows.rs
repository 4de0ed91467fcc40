//! Windows: what a rank's epochs ask for, in the order of its schedule.
//!
//! What goes to another node is posted to the card. Within a node, and to itself, the rank's processor copies: the
//! memory of a window is mapped by all ranks of its node. So these copies are queued by `carrousel-schedule`, and made
//! when they are due. Operations that are atomic are carried out by a processor, never by a card: the origin's within
//! a node, the target's between nodes.

use crate::config::{Acquisition, Config, Copies};
use crate::error::SimError;
use crate::load::{Load, Owner};
use crate::program::WindowCall;
use crate::world::{World, copy_ns};
use carrousel_rank::epoch::{self, Call, GrantWord, OperationId, Order, TransferKind};
use carrousel_rank::{Event, Protocol, Rank, RankId, WindowIndex, WindowWork};
use carrousel_schedule::{Granted, Patience, Place, Schedule, Threshold, Transfer};
use std::collections::{BTreeMap, VecDeque};

/// Something that has arrived at a rank, and waits until it is in the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Of messages.
    Message(Event),
    /// Of a window.
    Window(WindowIndex, epoch::Event),
    /// An operation that this rank carries out for its origin.
    Apply { from: u32, window: WindowIndex, operation: OperationId, kind: TransferKind, len: u64 },
}

/// Work of a window that its schedule queues.
type Queued = (WindowIndex, WindowWork);

/// What the windows of a rank have under way.
#[derive(Debug)]
pub(crate) struct WindowSide {
    /// Copies that wait until they are due, by window and target.
    schedule: Schedule<Queued, (WindowIndex, RankId)>,
    copies: Copies,
    acquisition: Acquisition,
    /// Calls of the present statement that were not made yet.
    calls: VecDeque<WindowCall>,
    /// The call that was made last is an operation: what it may begin is begun in the call.
    in_access: bool,
    /// The present statement is an operation.
    accesses: bool,
    /// The present statement's call is held back, with no request.
    is_held_back: bool,
    /// Lazy acquisition: calls of lock epochs that wait for the end of these.
    held: BTreeMap<(WindowIndex, RankId), Vec<WindowCall>>,
    /// Own memory whose lock the present statement waits for.
    own_lock: Option<WindowIndex>,
    patience: Patience,
    /// When an access epoch was opened last, by window.
    opened: BTreeMap<WindowIndex, u64>,
    /// The driver's name of the operation that has not begun, and until when that is waited for.
    awaited_grant: Option<(u64, u64)>,
    /// Windows with a flush since the last epoch was closed: what their targets grant late is waited for.
    flushed: Vec<WindowIndex>,
    /// Copies that were made, and are not reported yet.
    copied: VecDeque<(WindowIndex, OperationId)>,
    /// Operations that the card has.
    posted: u32,
    /// The operations under way.
    transfers: BTreeMap<(WindowIndex, OperationId), epoch::Transfer>,
}

impl WindowSide {
    pub(crate) fn new(config: &Config) -> Self {
        let Config { copies, acquisition, patience, copies_threshold, .. } = *config;
        let threshold = Threshold(if copies == Copies::Deferred { 0 } else { copies_threshold });
        Self {
            schedule: Schedule::new(threshold),
            copies,
            acquisition,
            patience,
            opened: BTreeMap::new(),
            awaited_grant: None,
            calls: VecDeque::new(),
            in_access: false,
            accesses: false,
            is_held_back: false,
            held: BTreeMap::new(),
            own_lock: None,
            flushed: Vec::new(),
            copied: VecDeque::new(),
            posted: 0,
            transfers: BTreeMap::new(),
        }
    }

    /// A statement calls a window.
    ///
    /// Lazy acquisition, that of the papers' baseline, makes the calls of a lock epoch when it ends or is flushed
    /// (nonblocking-rma-epochs VIII-A1).
    pub(crate) fn begin(&mut self, call: WindowCall) {
        self.accesses = matches!(call.call(), Call::Transfer { .. });
        let window = call.window;
        let of_lock = match call.call() {
            Call::Lock { target, .. } if self.acquisition == Acquisition::Lazy => {
                self.held.insert((window, target), Vec::new());
                Some(target)
            }
            Call::Transfer { transfer, .. } => Some(transfer.target),
            _ => None,
        };
        if let Some(held) = of_lock.and_then(|target| self.held.get_mut(&(window, target))) {
            self.is_held_back = matches!(call.call(), Call::Lock { .. });
            held.push(call);
            return;
        }
        let ends = |target: RankId| match call.call() {
            Call::Unlock(of) => of == target,
            Call::Flush(flush) | Call::FlushWithRequest(flush) => flush.target.is_none_or(|of| of == target),
            _ => false,
        };
        let ended: Vec<_> =
            self.held.keys().filter(|(of, target)| *of == window && ends(*target)).copied().collect();
        for key in ended {
            self.calls.extend(self.held.remove(&key).into_iter().flatten());
        }
        self.calls.push_back(call);
    }

    pub(crate) fn next_call(&mut self) -> Option<WindowCall> {
        self.calls.pop_front()
    }

    /// Whether the call that was taken last is the statement's own: those of an epoch that was held back come before it.
    pub(crate) fn has_no_calls(&self) -> bool {
        self.calls.is_empty()
    }

    /// Whether the statement that ends is an operation, which is complete later.
    pub(crate) fn take_accesses(&mut self) -> bool {
        std::mem::take(&mut self.accesses)
    }

    /// Whether the call of the statement was held back.
    pub(crate) fn take_held_back(&mut self) -> bool {
        std::mem::take(&mut self.is_held_back)
    }

    /// A call was made; its outputs come next.
    pub(crate) fn called(&mut self, call: &WindowCall, now: u64) {
        let window = call.window;
        match call.call() {
            Call::Start(_) | Call::Lock { .. } | Call::LockAll | Call::Fence => {
                self.opened.insert(window, now);
            }
            Call::Transfer { transfer, .. } => {
                let opened = self.opened.get(&window).copied();
                let until = opened.and_then(|opened| self.patience.until(opened, transfer.len));
                self.awaited_grant = until.map(|until| (transfer.local, until));
            }
            _ => {}
        }
        let demand_window = |schedule: &mut Schedule<_, _>| schedule.demand_all(|(of, _)| *of == window);
        self.in_access = matches!(call.call(), Call::Transfer { .. });
        match call.call() {
            Call::Lock { .. } | Call::LockAll if call.blocking => self.own_lock = Some(window),
            Call::Unlock(target) => self.schedule.demand(&(window, target)),
            Call::Flush(flush) | Call::FlushWithRequest(flush) => {
                self.flushed.push(window);
                match flush.target {
                    Some(target) => self.schedule.demand(&(window, target)),
                    None => demand_window(&mut self.schedule),
                }
            }
            Call::Complete | Call::UnlockAll | Call::Fence => demand_window(&mut self.schedule),
            _ => return,
        }
        if !matches!(call.call(), Call::Flush(_) | Call::FlushWithRequest(_)) {
            self.flushed.retain(|of| *of != window);
        }
    }

    /// A blocking call that locks the rank's own memory waits for that lock: the program may use the memory when the call
    /// returns (MPI-4.1 12.5.3).
    pub(crate) fn has_own_lock<P: Protocol>(&mut self, rank: &Rank<P>) -> bool {
        let Some(window) = self.own_lock.and_then(|window| rank.window(window)) else { return true };
        let has = window.has_own_lock();
        if has {
            self.own_lock = None;
        }
        has
    }

    /// Until when the present statement waits for a grant that is on its way, if it does.
    pub(crate) fn waits_for_grant_until(&mut self, now: u64) -> Option<u64> {
        self.awaited_grant = self.awaited_grant.filter(|(_, until)| *until > now);
        self.awaited_grant.map(|(_, until)| until)
    }

    /// A transfer may begin: its target has granted it.
    fn may_begin(&mut self, window: WindowIndex, operation: OperationId, transfer: epoch::Transfer) {
        self.transfers.insert((window, operation), transfer);
        self.awaited_grant = self.awaited_grant.filter(|(of, _)| *of != transfer.local);
    }

    /// An operation under way.
    fn transfer(&self, window: WindowIndex, operation: OperationId) -> Option<epoch::Transfer> {
        self.transfers.get(&(window, operation)).copied()
    }

    /// The next copy that was made, for its window.
    pub(crate) fn take_copied(&mut self) -> Option<Arrival> {
        let (window, operation) = self.copied.pop_front()?;
        Some(Arrival::Window(window, epoch::Event::Complete(operation)))
    }

    /// Whether queued work is due. The baseline that defers copies makes them when the card has nothing more to do.
    pub(crate) fn is_due(&self) -> bool {
        self.schedule.is_due() && (self.copies != Copies::Deferred || self.posted == 0)
    }

    pub(crate) fn take_due(&mut self) -> Option<(WindowIndex, WindowWork)> {
        if self.is_due() { self.schedule.take_due() } else { None }
    }

    /// The rank has nothing to do but wait: every copy is due. False if there is none.
    pub(crate) fn demand_everything(&mut self) -> bool {
        self.schedule.demand_all(|_| true);
        self.is_due()
    }
}

impl WindowCall {
    /// Whether the statement that makes it begins a request, which may be complete at once.
    pub(crate) fn has_request(&self) -> bool {
        !matches!(self.call(), Call::Transfer { .. })
    }
}

impl<P: Protocol> World<'_, P> {
    fn place(&self, rank: u32, target: RankId) -> Place {
        if self.network.are_neighbours(rank, target.0) { Place::Node } else { Place::Remote }
    }

    /// Whether work is to be carried out now; else the schedule has it.
    pub(crate) fn admits(&mut self, rank: u32, window: WindowIndex, work: WindowWork) -> bool {
        let process = &mut self.processes[rank as usize];
        match work {
            WindowWork::Transfer { operation, epoch, transfer } => {
                process.windows.may_begin(window, operation, transfer);
                let epoch::Transfer { target, kind, len, .. } = transfer;
                let place =
                    if self.network.are_neighbours(rank, target.0) { Place::Node } else { Place::Remote };
                let windows = &mut process.windows;
                if windows.copies == Copies::SelfAtCall && target.0 == rank {
                    return true;
                }
                let is_closed = || {
                    let epochs = process.rank.window(window).into_iter().flat_map(|window| window.epochs());
                    epochs.filter(|it| it.name().number == epoch).any(|it| it.is_closed())
                };
                let granted = match () {
                    () if windows.in_access => Granted::InCall,
                    () if windows.flushed.contains(&window) || is_closed() => Granted::Awaited,
                    () => Granted::Later,
                };
                let accumulates = !matches!(kind, TransferKind::Put | TransferKind::Get);
                let transfer = Transfer { place, bytes: len, granted, accumulates };
                windows.schedule.offer((window, target), transfer, (window, work)).is_some()
            }
            WindowWork::Post { to, .. } => {
                process.windows.schedule.notice((window, to), (window, work)).is_some()
            }
            WindowWork::Store { .. } | WindowWork::Report(_) => true,
        }
    }

    /// The processor time of work.
    pub(crate) fn cost_of(&self, rank: u32, work: &WindowWork) -> u64 {
        match *work {
            WindowWork::Transfer { transfer: epoch::Transfer { target, kind, len, .. }, .. } => {
                match (self.place(rank, target), kind) {
                    (Place::Node, _) => self.network.copy_within_node_ns(len),
                    (Place::Remote, TransferKind::Put | TransferKind::Get) => self.cpu.post_ns,
                    (Place::Remote, _) => self.cpu.post_ns + copy_ns(&self.cpu, len),
                }
            }
            WindowWork::Post { .. } | WindowWork::Store { .. } => self.cpu.post_ns,
            WindowWork::Report(_) => 0,
        }
    }

    /// Carries out work of a window.
    pub(crate) fn perform_of_window(
        &mut self,
        rank: u32,
        window: WindowIndex,
        work: WindowWork,
    ) -> Result<(), SimError> {
        let now = self.queue.now();
        match work {
            WindowWork::Transfer { operation, transfer, .. } => {
                let epoch::Transfer { target, kind, len, .. } = transfer;
                if self.place(rank, target) == Place::Node {
                    self.lateness.landed(window, (rank, target.0), now);
                    self.take_place(rank, window, &transfer)?;
                    self.processes[rank as usize].windows.copied.push_back((window, operation));
                    return Ok(());
                }
                self.lateness.issued(window, (rank, target.0), now);
                let owner = Owner::Window(window, operation);
                let load = match kind {
                    TransferKind::Put => Load::Write { owner, len },
                    TransferKind::Get => Load::ReadRequest { owner, len, notice: None },
                    _ => Load::Apply { window, operation, kind, len },
                };
                self.processes[rank as usize].windows.posted += 1;
                self.network.post(rank, target.0, load, &mut self.queue);
            }
            WindowWork::Post { to, packet, order } => {
                if let epoch::Packet::Done { access } = packet {
                    self.lateness.done(window, (rank, to.0), access, now);
                }
                let (load, fenced) = (Load::OfWindow { window, packet }, order == Order::Fenced);
                self.network.post_with_fence(rank, to.0, load, fenced, &mut self.queue);
            }
            WindowWork::Store { to, word, value } => {
                if word == GrantWord::Locks {
                    self.lateness.lock_granted(window, rank, to.0);
                }
                self.network.post(rank, to.0, Load::Grant { window, word, value }, &mut self.queue);
            }
            WindowWork::Report(report) => {
                let line = self.processes[rank as usize].line();
                return Err(SimError::Reported { rank, line, report });
            }
        }
        Ok(())
    }

    /// A load of a window is delivered; what has arrived at whom.
    pub(crate) fn arrival(
        &mut self,
        (from, to): (u32, u32),
        load: &Load,
    ) -> Result<Option<Arrival>, SimError> {
        let sender = RankId(from);
        Ok(Some(match *load {
            Load::Written { owner: Owner::Window(window, operation) }
            | Load::ReadData { owner: Owner::Window(window, operation), .. }
            | Load::Applied { window, operation, .. } => {
                self.processes[to as usize].windows.posted -= 1;
                Arrival::Window(window, epoch::Event::Complete(operation))
            }
            Load::OfWindow { window, packet } => {
                Arrival::Window(window, epoch::Event::Packet { from: sender, packet })
            }
            Load::Grant { window, word, value } => {
                Arrival::Window(window, epoch::Event::Granted { from: sender, word, value })
            }
            Load::Apply { window, operation, kind, len } => {
                Arrival::Apply { from, window, operation, kind, len }
            }
            Load::Write { owner: Owner::Window(window, operation), .. } => {
                self.lateness.landed(window, (from, to), self.queue.now());
                self.carry_out(from, window, operation)?;
                return Ok(None);
            }
            Load::ReadRequest { owner: Owner::Window(window, operation), .. } => {
                self.carry_out(from, window, operation)?;
                return Ok(None);
            }
            _ => return Ok(None),
        }))
    }

    /// An operation takes place at its target.
    fn carry_out(
        &mut self,
        origin: u32,
        window: WindowIndex,
        operation: OperationId,
    ) -> Result<(), SimError> {
        match self.processes[origin as usize].windows.transfer(window, operation) {
            Some(transfer) => self.take_place(origin, window, &transfer),
            None => Ok(()),
        }
    }

    /// The processor time of handling what has arrived.
    pub(crate) fn cost_of_arrival(&self, arrival: &Arrival) -> u64 {
        match arrival {
            Arrival::Message(Event::Packet { .. }) | Arrival::Window(_, epoch::Event::Packet { .. }) => {
                self.cpu.handle_ns
            }
            Arrival::Message(_) | Arrival::Window(..) => self.cpu.completion_ns,
            // A combination costs as much as a copy.
            Arrival::Apply { len, .. } => self.cpu.handle_ns + copy_ns(&self.cpu, *len),
        }
    }

    /// A window is told what has arrived.
    pub(crate) fn tell_window(
        &mut self,
        rank: u32,
        window: WindowIndex,
        event: epoch::Event,
    ) -> Result<(), SimError> {
        let now = self.queue.now();
        let process = &mut self.processes[rank as usize];
        self.lateness.told(rank, process, window, event, now);
        process.windows.in_access = false;
        if let epoch::Event::Complete(operation) = event
            && let Some(transfer) = process.windows.transfers.remove(&(window, operation))
        {
            process.operation_is_complete(transfer.local, now);
        }
        let told = process.rank.event_window(window, event, &mut process.outputs);
        let line = process.line();
        told.map_err(|error| SimError::BrokenWindow { rank, line, error })
    }

    /// Carries out an operation for its origin, and answers.
    pub(crate) fn apply(
        &mut self,
        rank: u32,
        from: u32,
        (window, operation): (WindowIndex, OperationId),
        (kind, len): (TransferKind, u64),
    ) -> Result<(), SimError> {
        self.carry_out(from, window, operation)?;
        self.lateness.landed(window, (from, rank), self.queue.now());
        let load = Load::Applied { window, operation, kind, len };
        self.network.post(rank, from, load, &mut self.queue);
        Ok(())
    }
}
