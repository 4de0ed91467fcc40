//! Windows: what a rank's epochs ask for, in the order of its schedule.
//!
//! What goes to another node is posted to the card. Within a node, and to itself, the rank's processor copies: the
//! memory of a window is mapped by all ranks of its node. So these copies are queued by `carrousel-schedule`, and made
//! when they are due. Operations that are atomic are carried out by a processor, never by a card: the origin's within
//! a node, the target's between nodes.

use crate::config::{Acquisition, Config, Copies};
use crate::keys::{ByKey, take};
use crate::load::Accumulation;
use crate::program::WindowCall;
use carrousel_rank::epoch::{self, Call, OperationId};
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
    Apply { from: u32, window: WindowIndex, operation: OperationId, accumulation: Accumulation },
}

/// Work of a window that its schedule queues.
type Queued = (WindowIndex, WindowWork);

/// The present statement is an operation that has not begun, for want of its target's grant.
#[derive(Clone, Copy, Debug)]
struct AwaitedGrant {
    window: WindowIndex,
    /// The driver's name of the operation.
    operation: u64,
    /// Until when the grant is probably on its way, in nanoseconds.
    until: u64,
    /// Whether the call waits until then even with nothing to do.
    is_worth_idling: bool,
}

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
    /// The blocking call of the present statement that requests locks: it waits for that of the rank's own memory.
    locking: Option<WindowCall>,
    patience: Patience,
    /// When an access epoch was opened last, by window: when the call returned that did it.
    opened: BTreeMap<WindowIndex, u64>,
    /// The window whose access epoch the present statement opens.
    opens: Option<WindowIndex>,
    awaited_grant: Option<AwaitedGrant>,
    /// Windows with a flush since the last epoch was closed: what their targets grant late is waited for.
    flushed: Vec<WindowIndex>,
    /// Copies that were made, and are not reported yet.
    copied: VecDeque<(WindowIndex, OperationId)>,
    /// Operations that the card has.
    posted: u32,
    /// The operations under way.
    transfers: ByKey<(WindowIndex, OperationId), epoch::Transfer>,
}

impl WindowSide {
    pub(crate) fn new(config: &Config, threshold: Threshold) -> Self {
        let Config { copies, acquisition, patience, .. } = *config;
        Self {
            schedule: Schedule::new(threshold),
            copies,
            acquisition,
            patience,
            opened: BTreeMap::new(),
            opens: None,
            awaited_grant: None,
            calls: VecDeque::new(),
            in_access: false,
            accesses: false,
            is_held_back: false,
            held: BTreeMap::new(),
            locking: None,
            flushed: Vec::new(),
            copied: VecDeque::new(),
            posted: 0,
            transfers: ByKey::default(),
        }
    }

    /// A statement calls a window.
    ///
    /// Lazy acquisition, that of the papers' baseline, makes the calls of a lock epoch when it ends or is flushed
    /// (nonblocking-rma-epochs VIII-A1). An access with a request of its own makes them, too: the request has to begin.
    pub(crate) fn begin(&mut self, call: WindowCall) {
        self.accesses = matches!(call.call(), Call::Transfer { .. });
        let window = call.window;
        let of_lock = match call.call() {
            Call::Lock { target, .. } if self.acquisition == Acquisition::Lazy => {
                self.held.insert((window, target), Vec::new());
                Some(target)
            }
            Call::Transfer { transfer, with_request: false } => Some(transfer.target),
            _ => None,
        };
        if let Some(held) = of_lock.and_then(|target| self.held.get_mut(&(window, target))) {
            self.is_held_back = matches!(call.call(), Call::Lock { .. });
            held.push(call);
            return;
        }
        let ends = |target: RankId| match call.call() {
            Call::Unlock(of) => of == target,
            Call::Transfer { transfer, with_request: true } => transfer.target == target,
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

    /// Whether the present statement is an operation.
    pub(crate) fn accesses(&self) -> bool {
        self.accesses
    }

    /// The statement returns. Whether it is an operation, which is complete later.
    pub(crate) fn returned(&mut self, now: u64) -> bool {
        // A blocking fence was called when the epoch before it was not over: grants of the next come behind that.
        self.opened.extend(self.opens.take().map(|window| (window, now)));
        std::mem::take(&mut self.accesses)
    }

    /// Whether the call of the statement was held back.
    pub(crate) fn take_held_back(&mut self) -> bool {
        std::mem::take(&mut self.is_held_back)
    }

    /// A call was made; its outputs come next.
    pub(crate) fn called(&mut self, call: &WindowCall) {
        let window = call.window;
        let opens_access =
            matches!(call.call(), Call::Start(_) | Call::Lock { .. } | Call::LockAll | Call::Fence);
        if opens_access {
            self.opens = Some(window);
        }
        self.in_access = false;
        match call.call() {
            Call::Transfer { transfer, .. } => {
                self.in_access = true;
                let opened = self.opened.get(&window).copied();
                self.awaited_grant = opened.map(|opened| AwaitedGrant {
                    window,
                    operation: transfer.local,
                    until: self.patience.until(opened),
                    is_worth_idling: self.patience.is_worth(transfer.place.bytes()),
                });
            }
            Call::Lock { .. } | Call::LockAll if call.blocking => self.locking = Some(call.clone()),
            Call::Flush(flush) | Call::FlushWithRequest(flush) => {
                if !self.flushed.contains(&window) {
                    self.flushed.push(window);
                }
                self.demand(window, flush.target);
            }
            Call::Unlock(target) => self.closed(window, Some(target)),
            Call::Complete | Call::UnlockAll | Call::Fence => self.closed(window, None),
            Call::Post(_) | Call::Wait | Call::Test | Call::Start(_) | Call::Lock { .. } | Call::LockAll => {}
        }
    }

    /// An access epoch was closed: its copies are due.
    fn closed(&mut self, window: WindowIndex, target: Option<RankId>) {
        self.flushed.retain(|of| *of != window);
        self.demand(window, target);
    }

    /// Copies of a window are due: those to one target, or all.
    fn demand(&mut self, window: WindowIndex, target: Option<RankId>) {
        match target {
            Some(target) => self.schedule.demand(&(window, target)),
            None => self.schedule.demand_all(|(of, _)| *of == window),
        }
    }

    /// A blocking call that locks the rank's own memory waits for that lock: the program may use the memory when the call
    /// returns (MPI-4.1 12.5.3).
    pub(crate) fn has_own_lock<P: Protocol>(&mut self, rank: &Rank<P>) -> bool {
        let lacks = |call: &WindowCall| {
            rank.window(call.window).is_some_and(|window| window.lacks_own_lock(call.call()))
        };
        self.locking = self.locking.take().filter(lacks);
        self.locking.is_none()
    }

    /// Whether the present statement does not return yet, for a grant that is on its way. What has arrived while the
    /// rank was copying is still looked at.
    pub(crate) fn waits_for_grant(&mut self, now: u64, has_arrivals: bool) -> bool {
        let waits = |grant: &AwaitedGrant| {
            has_arrivals || grant.until > now && (grant.is_worth_idling || self.may_copy_for(grant))
        };
        self.awaited_grant = self.awaited_grant.filter(waits);
        self.awaited_grant.is_some()
    }

    /// While a grant is awaited and the card has nothing to do, a copy of the same window is made.
    fn may_copy_for(&self, grant: &AwaitedGrant) -> bool {
        self.posted == 0
            && self.copies != Copies::Deferred
            && self.schedule.waits_for(|(window, _)| *window == grant.window)
    }

    /// What a statement does that waits for a grant: until when it has nothing to do, if it does not copy.
    pub(crate) fn meanwhile(&mut self) -> Option<u64> {
        let grant = self.awaited_grant?;
        if self.may_copy_for(&grant) {
            self.schedule.demand_oldest(|(of, _)| *of == grant.window);
            return None;
        }
        Some(grant.until)
    }

    /// A transfer may begin: its target has granted it. Whether it is to be carried out now; else the schedule has it.
    pub(crate) fn offer(
        &mut self,
        (window, operation, work): (WindowIndex, OperationId, WindowWork),
        of: epoch::Transfer,
        (place, is_own): (Place, bool),
        is_closed: bool,
    ) -> bool {
        self.transfers.insert((window, operation), of);
        self.awaited_grant = self.awaited_grant.filter(|grant| grant.operation != of.local);
        if self.copies == Copies::SelfAtCall && is_own {
            return true;
        }
        let granted = match () {
            () if self.in_access => Granted::InCall,
            () if is_closed || self.flushed.contains(&window) => Granted::Awaited,
            () => Granted::Later,
        };
        let transfer =
            Transfer { place, bytes: of.place.bytes(), granted, accumulates: of.kind.accumulates() };
        self.schedule.offer((window, of.target), transfer, (window, work)).is_some()
    }

    /// Whether a packet is to be posted now; else it waits behind the copies to its receiver.
    pub(crate) fn notice(&mut self, to: RankId, window: WindowIndex, work: WindowWork) -> bool {
        self.schedule.notice((window, to), (window, work)).is_some()
    }

    /// Whether outputs are those of the call of an operation.
    pub(crate) fn is_in_access(&self) -> bool {
        self.in_access
    }

    /// An operation under way.
    pub(crate) fn transfer(&self, window: WindowIndex, operation: OperationId) -> Option<epoch::Transfer> {
        self.transfers.get(&(window, operation)).copied()
    }

    /// A copy was made.
    pub(crate) fn copied(&mut self, window: WindowIndex, operation: OperationId) {
        self.copied.push_back((window, operation));
    }

    /// The card has one operation more.
    pub(crate) fn posted(&mut self) {
        self.posted += 1;
    }

    /// The card has one operation less.
    pub(crate) fn came_back(&mut self) {
        self.posted -= 1;
    }

    /// A window is told something: what begins now does not begin in a call. The operation that is over, if one is.
    pub(crate) fn told(&mut self, window: WindowIndex, event: epoch::Event) -> Option<epoch::Transfer> {
        self.in_access = false;
        let epoch::Event::Complete(operation) = event else { return None };
        take(&mut self.transfers, &(window, operation))
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
        !matches!(self.call(), Call::Transfer { with_request: false, .. })
    }
}
