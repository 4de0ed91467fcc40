//! Everything about a program that no execution changes: its epochs, which exposure an access belongs to, which send a
//! receive gets, which calls are wrong where they stand.
//!
//! Epochs match by counting (MPI-4.1 12.5): the n-th `start` of an origin that names a target belongs to the target's n-th
//! `post` that names the origin, and the n-th fences of all ranks to each other. As no program branches, the match is known
//! before anything runs.

use crate::program::{Access, AccessKind, Call, Program, Statement, Synchronization, members};

/// An epoch, by its index in [`Plan::epochs`].
pub(crate) type EpochId = usize;
/// An access, by its index in [`Plan::accesses`].
pub(crate) type AccessId = usize;
/// A lock of one target, by its index in [`Plan::locks`].
pub(crate) type LockId = usize;

/// A program and the facts about it that hold in every execution.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) program: Program,
    pub(crate) epochs: Vec<Epoch>,
    pub(crate) accesses: Vec<Transfer>,
    pub(crate) locks: Vec<LockRequest>,
    /// By rank and statement.
    pub(crate) steps: Vec<Vec<Step>>,
    /// By rank: what its end violates.
    pub(crate) ends: Vec<End>,
    /// A rank starts access epochs to another, which has not as many exposure epochs for it.
    pub(crate) groups_differ: bool,
}

/// The kind of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EpochKind {
    Fence,
    Access,
    Exposure,
    Lock,
    LockAll,
}

/// An epoch of a rank.
#[derive(Clone, Debug)]
pub(crate) struct Epoch {
    pub(crate) rank: u8,
    pub(crate) window: u8,
    pub(crate) kind: EpochKind,
    /// Targets; of an exposure, origins.
    pub(crate) peers: u8,
    /// The number of the fence that opens it.
    pub(crate) fence: usize,
    /// The statement that opens it.
    pub(crate) opened_at: u8,
    /// The statement that closes it.
    pub(crate) closed_at: Option<u8>,
    /// That does not wait.
    pub(crate) closed_later: bool,
    pub(crate) accesses: Vec<AccessId>,
    /// Of a lock epoch, by target.
    pub(crate) locks: Vec<LockId>,
    /// By rank: the exposure there that belongs to it, or the access epoch.
    pub(crate) partners: [Option<EpochId>; 8],
    /// The fence epoch in which it was opened.
    pub(crate) inside: Option<EpochId>,
    /// Somebody accesses this rank's memory in it.
    pub(crate) is_exposed: bool,
}

/// An access, with its place in the program.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub(crate) origin: u8,
    pub(crate) at: u8,
    pub(crate) window: u8,
    pub(crate) access: Access,
    pub(crate) epoch: EpochId,
}

/// A lock of one target that an epoch asks for.
#[derive(Clone, Debug)]
pub(crate) struct LockRequest {
    pub(crate) epoch: EpochId,
    pub(crate) origin: u8,
    pub(crate) target: u8,
    pub(crate) window: u8,
    pub(crate) exclusive: bool,
    pub(crate) accesses: Vec<AccessId>,
}

/// What is known of a statement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Step {
    pub(crate) opens: Option<EpochId>,
    pub(crate) closes: Option<EpochId>,
    pub(crate) access: Option<AccessId>,
    /// Of a flush: the accesses that it completes, and the locks under which they are made.
    pub(crate) covers: Vec<AccessId>,
    pub(crate) flushes: Vec<LockId>,
    /// The receive of a send, the send of a receive.
    pub(crate) partner: Option<(u8, u8)>,
    /// How many barriers the rank has entered before.
    pub(crate) barrier: usize,
    /// Of a fence: how many fences of its window the rank has called before.
    pub(crate) fence: usize,
    /// Of a fence: it is known that it ends no epoch.
    pub(crate) ends_none: bool,
    /// The statements whose requests it waits for.
    pub(crate) requests: Vec<u8>,
    /// The first statement that waits for its request.
    pub(crate) waited_at: Option<u8>,
    /// A local buffer is in use.
    pub(crate) misuses_buffer: bool,
    /// No epoch admits the call.
    pub(crate) is_wrong: bool,
    /// By the letter of MPI, two access epochs overlap here.
    pub(crate) overlaps: bool,
    /// An access has a request of its own, and no lock.
    pub(crate) lacks_lock: bool,
    /// What a fence promises of accesses is not so.
    pub(crate) breaks_promise: bool,
    /// Of a fence: the same fences of other ranks that do not promise the same.
    pub(crate) differs_from: Vec<(u8, u8)>,
}

/// What the end of a rank's program violates.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct End {
    pub(crate) leaks: bool,
    pub(crate) leaves_open: bool,
}

/// What is open in a window while the statements of a rank are read.
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

impl Plan {
    /// Reads a program.
    pub(crate) fn new(program: &Program) -> Self {
        let mut plan = Plan {
            program: program.clone(),
            epochs: Vec::new(),
            accesses: Vec::new(),
            locks: Vec::new(),
            steps: program.ranks.iter().map(|statements| vec![Step::default(); statements.len()]).collect(),
            ends: vec![End::default(); program.ranks.len()],
            groups_differ: false,
        };
        for rank in 0..program.ranks.len() as u8 {
            let mut reader = Reader {
                plan: &mut plan,
                rank,
                opened: vec![Opened::default(); program.windows.len()],
                held: Vec::new(),
                open_requests: Vec::new(),
                barriers: 0,
            };
            reader.read();
        }
        plan.match_messages();
        plan.match_epochs();
        plan.compare_promises();
        plan.groups_differ = plan.groups_differ();
        plan
    }

    pub(crate) fn ranks(&self) -> u8 {
        self.program.ranks.len() as u8
    }

    /// The fence epoch of a rank that the fence of this number opens.
    pub(crate) fn fence_epoch(&self, rank: u8, window: u8, fence: usize) -> Option<EpochId> {
        self.epochs.iter().position(|epoch| {
            epoch.kind == EpochKind::Fence && (epoch.rank, epoch.window, epoch.fence) == (rank, window, fence)
        })
    }

    fn match_messages(&mut self) {
        let program = &self.program;
        for (rank, statements) in program.ranks.iter().enumerate() {
            for (at, statement) in statements.iter().enumerate() {
                let &Statement::Receive { from, tag } = statement else { continue };
                let before = statements[..at].iter().filter(|other| *other == statement).count();
                let is_it = |other: &Statement| matches!(*other, Statement::Send { to, tag: with, .. } if usize::from(to) == rank && with == tag);
                let sends = program.ranks[usize::from(from)].iter().enumerate();
                let Some((send, _)) = sends.filter(|(_, other)| is_it(other)).nth(before) else { continue };
                self.steps[rank][at].partner = Some((from, send as u8));
                self.steps[usize::from(from)][send].partner = Some((rank as u8, at as u8));
            }
        }
    }

    fn match_epochs(&mut self) {
        for id in 0..self.epochs.len() {
            let epoch = self.epochs[id].clone();
            let of_kind = match epoch.kind {
                EpochKind::Access => EpochKind::Exposure,
                EpochKind::Exposure => EpochKind::Access,
                EpochKind::Fence => EpochKind::Fence,
                EpochKind::Lock | EpochKind::LockAll => continue,
            };
            for peer in members(epoch.peers) {
                let number = match epoch.kind {
                    EpochKind::Fence => epoch.fence,
                    // How many epochs of this kind, of this rank, name the peer before this one.
                    _ => self
                        .naming(epoch.rank, epoch.window, epoch.kind, peer)
                        .position(|it| it == id)
                        .unwrap_or(0),
                };
                let partner = self.naming(peer, epoch.window, of_kind, epoch.rank).nth(number);
                self.epochs[id].partners[usize::from(peer)] = partner;
            }
        }
        for transfer in self.accesses.clone() {
            let partner = self.epochs[transfer.epoch].partners[usize::from(transfer.access.target)];
            if let Some(partner) = partner {
                self.epochs[partner].is_exposed = true;
            }
        }
    }

    /// MPI-4.1 12.5.5: `noprecede` and `nosucceed` are said by all ranks, or by none.
    fn compare_promises(&mut self) {
        let fences = self.epochs.iter().filter(|epoch| epoch.kind == EpochKind::Fence);
        let said = |epoch: &Epoch| &self.program.ranks[usize::from(epoch.rank)][usize::from(epoch.opened_at)];
        let promises = |epoch: &Epoch| match said(epoch) {
            Statement::Synchronize(_, Synchronization { call, .. }) => Some(*call),
            _ => None,
        };
        let place = |epoch: &Epoch| (epoch.rank, epoch.opened_at);
        let differs = |epoch: &Epoch| -> Vec<(u8, u8)> {
            let others = epoch.partners.iter().flatten().map(|other| &self.epochs[*other]);
            others.filter(|other| promises(other) != promises(epoch)).map(place).collect()
        };
        let all: Vec<_> = fences.map(|epoch| (place(epoch), differs(epoch))).collect();
        for ((rank, at), others) in all {
            self.steps[usize::from(rank)][usize::from(at)].differs_from = others;
        }
    }

    /// The epochs of a rank of one kind that name another rank, in order.
    fn naming(&self, rank: u8, window: u8, kind: EpochKind, peer: u8) -> impl Iterator<Item = EpochId> {
        let epochs = self.epochs.iter().enumerate();
        let named = epochs.filter(move |(_, epoch)| {
            (epoch.rank, epoch.window, epoch.kind) == (rank, window, kind) && epoch.peers >> peer & 1 == 1
        });
        named.map(|(id, _)| id)
    }

    /// By the text of the program, whatever of it runs.
    fn groups_differ(&self) -> bool {
        let count = |rank: u8, window: u8, peer: u8, starts: bool| {
            let statements = self.program.ranks[usize::from(rank)].iter();
            statements
                .filter(|statement| match **statement {
                    Statement::Synchronize(of, Synchronization { call: Call::Start(group), .. }) => {
                        starts && of == window && group >> peer & 1 == 1
                    }
                    Statement::Synchronize(of, Synchronization { call: Call::Post(group), .. }) => {
                        !starts && of == window && group >> peer & 1 == 1
                    }
                    _ => false,
                })
                .count()
        };
        let ranks = 0..self.ranks();
        let pairs = ranks.clone().flat_map(|origin| ranks.clone().map(move |target| (origin, target)));
        let windows = 0..self.program.windows.len() as u8;
        pairs.into_iter().any(|(origin, target)| {
            windows
                .clone()
                .any(|window| count(origin, window, target, true) != count(target, window, origin, false))
        })
    }
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
            Statement::Own { .. } | Statement::Send { .. } | Statement::Receive { .. } => {}
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

    fn synchronize(&mut self, at: u8, window: u8, Synchronization { call, later }: Synchronization) {
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
        step.breaks_promise = no_precede && was_used;
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

impl Transfer {
    /// Whether the two concern a common cell of one rank's memory, and at least one may change it.
    pub(crate) fn touches(&self, other: &Self) -> bool {
        self.window == other.window
            && self.access.target == other.access.target
            && self.access.cells.overlap(other.access.cells)
            && (self.access.kind.writes() || other.access.kind.writes())
    }

    /// Whether it is one of the atomic ones.
    pub(crate) fn is_atomic(&self) -> bool {
        !matches!(self.access.kind, AccessKind::Put | AccessKind::Get)
    }
}
