//! Everything about a program that no execution changes: its epochs, which exposure an access belongs to, which send a
//! receive gets, which calls are wrong where they stand.
//!
//! Epochs match by counting (MPI-4.1 12.5): the n-th `start` of an origin that names a target belongs to the target's n-th
//! `post` that names the origin, and the n-th fences of all ranks to each other. As no program branches, the match is known
//! before anything runs.

use crate::program::{Access, Call, Program, Promises, Statement, Synchronization, members};

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
    /// A rank starts epochs to another that has not as many exposures for it, or calls fences that others do not.
    pub(crate) calls_differ: bool,
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
    /// It says `nocheck`.
    pub(crate) is_unchecked: bool,
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
    /// What is asserted is not so, in every execution.
    pub(crate) breaks_promise: bool,
    /// Of a `start` with `nocheck`: the posts that have to be over.
    pub(crate) expects: Vec<(u8, u8)>,
    /// Of a fence: the same fences of other ranks that do not promise the same.
    pub(crate) differs_from: Vec<(u8, u8)>,
}

/// What the end of a rank's program violates.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct End {
    pub(crate) leaks: bool,
    pub(crate) leaves_open: bool,
}

impl Plan {
    /// That of a program of which no rank has been read.
    pub(crate) fn unread(program: &Program) -> Self {
        Self {
            program: program.clone(),
            epochs: Vec::new(),
            accesses: Vec::new(),
            locks: Vec::new(),
            steps: program.ranks.iter().map(|statements| vec![Step::default(); statements.len()]).collect(),
            ends: vec![End::default(); program.ranks.len()],
            calls_differ: false,
        }
    }

    /// Once all ranks have been read: what of one belongs to what of another.
    pub(crate) fn relate(&mut self) {
        self.match_messages();
        self.match_epochs();
        self.compare_promises();
        self.compare_groups();
        self.find_puts();
        self.calls_differ = self.groups_differ() || self.fences_differ();
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
        let promises = |epoch: &Epoch| self.opening(epoch).map(|opening| opening.call);
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

    fn opening(&self, epoch: &Epoch) -> Option<Synchronization> {
        match self.program.ranks[usize::from(epoch.rank)][usize::from(epoch.opened_at)] {
            Statement::Synchronize(_, synchronization) => Some(synchronization),
            _ => None,
        }
    }

    fn promises(&self, epoch: &Epoch) -> Promises {
        self.opening(epoch).map_or(Promises::default(), |opening| opening.promises)
    }

    /// MPI-4.1 12.5.5, `nocheck`: "can be specified in a start call if, and only if, it is specified in each matching post
    /// call", and these "have already completed" when the `start` is called.
    fn compare_groups(&mut self) {
        for epoch in self.epochs.clone().iter().filter(|epoch| epoch.kind == EpochKind::Access) {
            let is_said = self.promises(epoch).no_check;
            for exposure in epoch.partners.iter().flatten() {
                let exposure = self.epochs[*exposure].clone();
                let differs = self.promises(&exposure).no_check != is_said;
                let step = &mut self.steps[usize::from(epoch.rank)][usize::from(epoch.opened_at)];
                step.breaks_promise |= differs;
                if is_said {
                    step.expects.push((exposure.rank, exposure.opened_at));
                }
            }
        }
    }

    /// MPI-4.1 12.5.5, `noput`: "the local window will not be updated by put or accumulate calls" in the epoch.
    fn find_puts(&mut self) {
        for transfer in self.accesses.clone() {
            let exposure = self.epochs[transfer.epoch].partners[usize::from(transfer.access.target)];
            let is_said = exposure.is_some_and(|exposure| self.promises(&self.epochs[exposure]).no_put);
            if is_said && transfer.access.kind.writes() {
                self.steps[usize::from(transfer.origin)][usize::from(transfer.at)].breaks_promise = true;
            }
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

    /// Whether some rank calls fewer fences than another, which are collectives (12.5.1). By the text of the program, whatever
    /// of it runs.
    fn fences_differ(&self) -> bool {
        let fences = |statements: &[Statement], window: u8| {
            let is_fence = |it: &&Statement| matches!(it, Statement::Synchronize(of, Synchronization { call: Call::Fence { .. }, .. }) if *of == window);
            statements.iter().filter(is_fence).count()
        };
        (0..self.program.windows.len() as u8).any(|window| {
            let mut counts = self.program.ranks.iter().map(|statements| fences(statements, window));
            let first = counts.next();
            counts.any(|count| Some(count) != first)
        })
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
        self.access.kind.is_atomic()
    }
}
