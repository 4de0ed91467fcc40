//! One rank's program, statement by statement: which epochs it opens and closes, what is in them, and which of its calls are
//! wrong where they stand.

use crate::plan::{AccessId, End, Epoch, EpochId, EpochKind, LockId, LockRequest, Plan, Step, Transfer};
use crate::program::{Access, Call, Program, Statement, Synchronization, members};

impl Plan {
    /// Reads a program.
    pub(crate) fn new(program: &Program) -> Self {
        let mut plan = Self::unread(program);
        (0..program.ranks.len() as u8).for_each(|rank| read(&mut plan, rank));
        plan.relate();
        plan
    }
}

/// Reads the program of a rank: its epochs, accesses and locks are added to the plan.
fn read(plan: &mut Plan, rank: u8) {
    let windows = plan.program.windows.len();
    let mut reader = Reader {
        plan,
        rank,
        opened: vec![Opened::default(); windows],
        held: Vec::new(),
        open_requests: Vec::new(),
        barriers: 0,
    };
    reader.read();
}

#[derive(Clone, Debug, Default)]
struct Opened {
    access: Option<EpochId>,
    exposure: Option<EpochId>,
    fence: Option<EpochId>,
    lock_all: Option<EpochId>,
    locks: Vec<(u8, EpochId)>,
    fences: usize,
    /// The last fence has said `nosucceed`.
    no_succeed: bool,
    /// Another epoch was opened since the last fence.
    encloses: bool,
    /// Something was accessed in such an epoch.
    accessed_inside: bool,
    /// The rank has stored into its own memory since its last `fence`, `post` or `wait_epoch`.
    has_stored: bool,
}

impl Opened {
    fn any_lock(&self) -> Option<EpochId> {
        self.locks.first().map(|(_, epoch)| *epoch)
    }

    fn lock_of(&self, target: u8) -> Option<EpochId> {
        self.locks.iter().find(|(of, _)| *of == target).map(|(_, epoch)| *epoch)
    }
}

/// An access whose local buffer the library has, and the requests that free it.
struct Held {
    access: AccessId,
    buffer: u8,
    written: bool,
    freed_by: Vec<u8>,
}

/// One rank while its statements are read.
struct Reader<'a> {
    plan: &'a mut Plan,
    rank: u8,
    opened: Vec<Opened>,
    held: Vec<Held>,
    open_requests: Vec<u8>,
    barriers: usize,
}

impl Reader<'_> {
    fn read(&mut self) {
        let statements = self.plan.program.ranks[usize::from(self.rank)].clone();
        for (at, statement) in (0..).zip(&statements) {
            self.statement(at, statement);
            if self.step(at).is_wrong {
                return;
            }
            if statement.starts_request() && !self.is_complete_from_the_beginning(at, statement) {
                self.open_requests.push(at);
            }
        }
        let leaves_open = self.opened.iter().any(|opened| {
            let is_used = |epoch: EpochId| !self.plan.epochs[epoch].accesses.is_empty();
            opened.access.is_some()
                || opened.exposure.is_some()
                || opened.lock_all.is_some()
                || !opened.locks.is_empty()
                || opened.fence.is_some_and(is_used)
        });
        self.plan.ends[usize::from(self.rank)] = End { leaks: !self.open_requests.is_empty(), leaves_open };
    }

    fn step(&mut self, at: u8) -> &mut Step {
        &mut self.plan.steps[usize::from(self.rank)][usize::from(at)]
    }

    /// language.md, Windows: the request of a call that opens an epoch, and of a fence that ends none.
    fn is_complete_from_the_beginning(&mut self, at: u8, statement: &Statement) -> bool {
        let Statement::Synchronize(_, Synchronization { call, .. }) = statement else { return false };
        match call {
            Call::Start(_) | Call::Post(_) | Call::Lock { .. } | Call::LockAll => true,
            Call::Fence { .. } => self.step(at).closes.is_none(),
            _ => false,
        }
    }

    fn statement(&mut self, at: u8, statement: &Statement) {
        match statement {
            Statement::Access(window, access) => self.access(at, *window, *access),
            Statement::Buffer { buffer, writes } => {
                let is_used =
                    self.held.iter().any(|held| held.buffer == *buffer && (held.written || *writes));
                self.step(at).misuses_buffer = is_used;
            }
            Statement::Synchronize(window, synchronization) => {
                self.synchronize(at, *window, *synchronization)
            }
            Statement::Barrier => {
                self.step(at).barrier = self.barriers;
                self.barriers += 1;
            }
            Statement::Wait(requests) => self.wait(at, requests.clone()),
            Statement::WaitAll => self.wait(at, self.open_requests.clone()),
            Statement::Own { window, writes, .. } => self.opened[usize::from(*window)].has_stored |= *writes,
            Statement::Send { .. } | Statement::Receive { .. } => {}
        }
    }

    fn wait(&mut self, at: u8, requests: Vec<u8>) {
        self.open_requests.retain(|request| !requests.contains(request));
        self.held.retain(|held| !held.freed_by.iter().any(|request| requests.contains(request)));
        for request in &requests {
            let step = self.step(*request);
            step.waited_at = step.waited_at.or(Some(at));
        }
        self.step(at).requests = requests;
    }

    fn access(&mut self, at: u8, window: u8, access: Access) {
        let opened = &self.opened[usize::from(window)];
        let target = access.target;
        let locked = opened.lock_of(target).or(opened.lock_all);
        let found = locked.or(opened.access).or(opened.any_lock()).or(opened.fence);
        let admits = |epoch: &EpochId| {
            let epoch = &self.plan.epochs[*epoch];
            epoch.peers >> target & 1 == 1 && !(epoch.kind == EpochKind::Fence && opened.encloses)
        };
        if let Some(buffer) = access.buffer {
            let writes = access.kind.fetches();
            let is_used = self.held.iter().any(|held| held.buffer == buffer && (held.written || writes));
            self.plan.steps[usize::from(self.rank)][usize::from(at)].misuses_buffer = is_used;
        }
        let Some(epoch) = found.filter(admits) else {
            self.step(at).is_wrong = true;
            return;
        };
        let locks = &self.plan.epochs[epoch].locks;
        let lock = locks.iter().copied().find(|lock| self.plan.locks[*lock].target == target);
        if self.plan.epochs[epoch].kind != EpochKind::Fence {
            self.opened[usize::from(window)].accessed_inside = true;
        }
        let in_fence = self.plan.epochs[epoch].kind == EpochKind::Fence;
        let was_ruled_out = in_fence && self.opened[usize::from(window)].no_succeed;
        let id = self.plan.accesses.len();
        self.plan.accesses.push(Transfer { origin: self.rank, at, window, access, epoch });
        self.plan.epochs[epoch].accesses.push(id);
        if let Some(lock) = lock {
            self.plan.locks[lock].accesses.push(id);
        }
        if let Some(buffer) = access.buffer {
            let freed_by = if access.with_request { vec![at] } else { Vec::new() };
            self.held.push(Held { access: id, buffer, written: access.kind.fetches(), freed_by });
        }
        let step = self.step(at);
        step.access = Some(id);
        step.breaks_promise = was_ruled_out;
        step.lacks_lock = access.with_request && lock.is_none();
    }

    fn synchronize(&mut self, at: u8, window: u8, synchronization: Synchronization) {
        let Synchronization { call, later, promises } = synchronization;
        let me = self.rank;
        let opened = &self.opened[usize::from(window)];
        let is_used = |epoch: EpochId| !self.plan.epochs[epoch].accesses.is_empty();
        let fence_used = opened.fence.filter(|fence| is_used(*fence));
        // MPI-4.1 12.5: access epochs of a window are disjoint, and so are exposure epochs; locks of several targets may be
        // held together. 12.5.3: a window is not locked and exposed at once.
        let in_the_way = match call {
            Call::Fence { .. } => opened.access.or(opened.exposure).or(opened.lock_all).or(opened.any_lock()),
            Call::Start(_) => opened.access.or(opened.lock_all).or(opened.any_lock()).or(fence_used),
            Call::Post(_) => opened.exposure.or(opened.lock_all).or(opened.lock_of(me)).or(fence_used),
            Call::Lock { target, .. } => opened
                .access
                .or(opened.lock_all)
                .or(opened.lock_of(target))
                .or(fence_used)
                .or(opened.exposure.filter(|_| target == me)),
            Call::LockAll => {
                opened.access.or(opened.exposure).or(opened.lock_all).or(opened.any_lock()).or(fence_used)
            }
            _ => None,
        };
        if in_the_way.is_some() {
            self.step(at).is_wrong = true;
            return;
        }
        // 12.5.5: "the local window was not updated by stores [...] since last synchronization".
        if matches!(call, Call::Fence { .. } | Call::Post(_) | Call::WaitEpoch) {
            let has_stored = std::mem::take(&mut self.opened[usize::from(window)].has_stored);
            self.step(at).breaks_promise |= promises.no_store && has_stored;
        }
        let first_lock = self.plan.locks.len();
        match call {
            Call::Fence { no_precede, no_succeed } => self.fence(at, window, later, no_precede, no_succeed),
            Call::Start(group) => {
                let epoch = self.open(at, window, EpochKind::Access, group, false);
                self.opened[usize::from(window)].access = Some(epoch);
            }
            Call::Post(group) => {
                let epoch = self.open(at, window, EpochKind::Exposure, group, false);
                self.opened[usize::from(window)].exposure = Some(epoch);
            }
            Call::Lock { target, exclusive } => {
                let epoch = self.open(at, window, EpochKind::Lock, 1 << target, exclusive);
                self.opened[usize::from(window)].locks.push((target, epoch));
            }
            Call::LockAll => {
                let all = self.all();
                let epoch = self.open(at, window, EpochKind::LockAll, all, false);
                self.opened[usize::from(window)].lock_all = Some(epoch);
            }
            Call::Complete => {
                let epoch = self.opened[usize::from(window)].access.take();
                self.close(at, epoch, later);
            }
            Call::WaitEpoch => {
                let epoch = self.opened[usize::from(window)].exposure.take();
                self.close(at, epoch, later);
            }
            Call::Unlock(target) => {
                let opened = &mut self.opened[usize::from(window)];
                let epoch = opened.lock_of(target);
                opened.locks.retain(|(of, _)| *of != target);
                self.close(at, epoch, later);
            }
            Call::UnlockAll => {
                let epoch = self.opened[usize::from(window)].lock_all.take();
                self.close(at, epoch, later);
            }
            Call::Flush { target, .. } => self.flush(at, window, target, later),
        }
        for lock in &mut self.plan.locks[first_lock..] {
            lock.is_unchecked = promises.no_check;
        }
    }

    fn all(&self) -> u8 {
        ((1_u16 << self.plan.ranks()) - 1) as u8
    }

    fn open(&mut self, at: u8, window: u8, kind: EpochKind, peers: u8, exclusive: bool) -> EpochId {
        let (id, rank) = (self.plan.epochs.len(), self.rank);
        let opened = &mut self.opened[usize::from(window)];
        let inside = opened.fence.filter(|_| kind != EpochKind::Fence);
        opened.encloses |= kind != EpochKind::Fence;
        let fence = opened.fences;
        let targets = members(peers).filter(|_| matches!(kind, EpochKind::Lock | EpochKind::LockAll));
        let first = self.plan.locks.len();
        self.plan.locks.extend(targets.map(|target| LockRequest {
            epoch: id,
            origin: rank,
            target,
            window,
            exclusive,
            is_unchecked: false,
            accesses: Vec::new(),
        }));
        self.plan.epochs.push(Epoch {
            rank,
            window,
            kind,
            peers,
            fence,
            opened_at: at,
            closed_at: None,
            closed_later: false,
            accesses: Vec::new(),
            locks: (first..self.plan.locks.len()).collect(),
            partners: [None; 8],
            inside,
            is_exposed: false,
        });
        self.step(at).opens = Some(id);
        id
    }

    fn close(&mut self, at: u8, epoch: Option<EpochId>, later: bool) {
        let Some(id) = epoch else {
            self.step(at).is_wrong = true;
            return;
        };
        self.plan.epochs[id].closed_at = Some(at);
        self.plan.epochs[id].closed_later = later;
        self.step(at).closes = Some(id);
        let covered = self.plan.epochs[id].accesses.clone();
        self.free(at, &covered, later);
    }

    /// The local buffers of accesses are the program's again: now, or when a request is complete.
    fn free(&mut self, at: u8, covered: &[AccessId], later: bool) {
        if later {
            let held = self.held.iter_mut().filter(|held| covered.contains(&held.access));
            held.for_each(|held| held.freed_by.push(at));
        } else {
            self.held.retain(|held| !covered.contains(&held.access));
        }
    }

    fn fence(&mut self, at: u8, window: u8, later: bool, no_precede: bool, no_succeed: bool) {
        let opened = &mut self.opened[usize::from(window)];
        let (before, number) = (opened.fence.take(), opened.fences);
        let ends_none = before.is_none() || no_precede || opened.no_succeed;
        let overlaps = opened.accessed_inside && !ends_none;
        (opened.no_succeed, opened.encloses, opened.accessed_inside) = (no_succeed, false, false);
        if before.is_some() {
            self.close(at, before, later);
        }
        let all = self.all();
        let epoch = self.open(at, window, EpochKind::Fence, all, false);
        let opened = &mut self.opened[usize::from(window)];
        opened.fence = Some(epoch);
        opened.fences += 1;
        let was_used = before.is_some_and(|before| !self.plan.epochs[before].accesses.is_empty());
        let step = self.step(at);
        (step.fence, step.ends_none, step.overlaps) = (number, ends_none, overlaps);
        step.breaks_promise |= no_precede && was_used;
    }

    fn flush(&mut self, at: u8, window: u8, target: Option<u8>, later: bool) {
        let opened = &self.opened[usize::from(window)];
        let locked: Vec<EpochId> = match target {
            Some(target) => opened.lock_of(target).or(opened.lock_all).into_iter().collect(),
            None => opened.locks.iter().map(|(_, epoch)| *epoch).chain(opened.lock_all).collect(),
        };
        if locked.is_empty() {
            self.step(at).is_wrong = true;
            return;
        }
        let locks = locked.iter().flat_map(|epoch| self.plan.epochs[*epoch].locks.clone());
        let is_meant = |lock: &LockId| target.is_none_or(|target| self.plan.locks[*lock].target == target);
        let flushes: Vec<LockId> = locks.filter(is_meant).collect();
        let covers: Vec<AccessId> =
            flushes.iter().flat_map(|lock| self.plan.locks[*lock].accesses.clone()).collect();
        self.free(at, &covers, later);
        let step = self.step(at);
        (step.covers, step.flushes) = (covers, flushes);
    }
}
