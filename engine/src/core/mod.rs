//! One rank at work: its state machine, its memory, and its transport.

mod arrivals;
mod communicators;
mod directory;
mod hands;
mod kept;
mod launcher;
mod link;
mod pace;
mod pending;
mod recording;
mod reductions;
mod registry;
mod send_sites;
mod sending;
mod trouble;
mod usage;
mod waiting;
mod ways;

pub(crate) use self::communicators::{COMPARED, Membership, Taken};
pub(crate) use self::launcher::Launcher;
pub use self::launcher::{Waiting, WaitingRequest};
pub(crate) use self::link::Link;
pub(crate) use self::pace::Pace;
pub(crate) use self::pending::Awaited;
pub(crate) use self::reductions::ReduceOp;
#[doc(hidden)]
pub use self::reductions::on_bytes;
pub(crate) use self::sending::SendKind;
pub(crate) use self::usage::LeftBehind;

use self::arrivals::{FromFar, FromNear};
use self::communicators::Communicators;
use self::directory::{Directory, LookUp};
use self::hands::{Hands, Tools};
use self::kept::Store;
use self::pace::Glances;
use self::pending::{Known, Pending, What};
use self::reductions::Reductions;
use self::registry::Registry;
use self::trouble::Trouble;
use self::ways::{Far, Ways};
use crate::Error;
use crate::error::Fault;
use crate::site::{CallSite, Caller, Located};
use carrousel_options::CheckUsage;
use carrousel_rank::{
    Call, Collective, Communicator, Failure, Handle, Job, Kind, Options, Pattern, Rank, RankId, Receive,
    Source, Status, TagSelector,
};
use carrousel_trace::End;
use carrousel_transport::Transport;
use carrousel_transport_shm::{Node, NodeError, Settings};
use carrousel_transport_verbs::Verbs;
use std::collections::VecDeque;

/// Who this process is, and who its peers are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// This rank.
    pub(crate) me: RankId,
    /// How many ranks there are.
    pub(crate) ranks: u32,
    /// Those that share memory with this one, which is one of them.
    pub(crate) neighbours: Vec<RankId>,
    /// How many there are on this node, also of those that share no memory.
    pub(crate) here: usize,
}

/// One rank at work.
pub(crate) struct Core {
    node: Node,
    far: Far,
    /// Why there is no way to other nodes, if there is none.
    why_near: Option<String>,
    hands: Hands,
    pending: Pending,
    ranks: u32,
    /// Bytes of the largest message that is sent eagerly.
    eager_threshold: u64,
    neighbours: Vec<RankId>,
    /// Whether sends that wait are sent without a copy, too, where others are.
    reuse_blocking: bool,
    /// Whether this node has more ranks than processors.
    crowded: bool,
    /// Whether this rank sleeps when it waits long: there is one processor, which the kernel needs for what arrives, and
    /// all that arrives wakes who sleeps, as no other rank shares memory with this one.
    rests: bool,
    launcher: Option<Launcher>,
    /// What is done about wrong use that no rank sees alone.
    check_usage: CheckUsage,
    /// Calls that started something, counted around.
    calls: u32,
    communicators: Communicators,
    scratch: Vec<u8>,
    /// When a program that looks by itself has what is dear looked at.
    glances: Glances,
    /// What the present call waits for, and where that is, once it has waited for long.
    awaited: Option<(Awaited, CallSite)>,
}

/// A rank may be driven by one thread after another, or by several behind a lock.
const _: fn() = || {
    fn sends<T: Send>() {}
    sends::<Core>();
};

impl Core {
    /// The rank at `place`, which reaches other nodes by `far`, or there is a reason why not. Its [`Core::address`] has
    /// to be published before any peer is used.
    pub(crate) fn new(
        place: &Place,
        options: &Options,
        settings: Settings,
        far: Result<Option<Verbs>, String>,
        reuse_blocking: bool,
        look_up: LookUp,
    ) -> Result<Self, NodeError> {
        let node = Node::new(place.me, &place.neighbours, settings)?;
        let (far, why_near) = match far {
            Ok(far) => (far.map(Box::new), None),
            Err(why) => (None, Some(why)),
        };
        let largest = far.as_ref().map_or(u64::MAX, |far| far.largest_eager());
        let eager_threshold = options.eager_threshold.min(node.largest_eager()).min(largest);
        let options = Options { eager_threshold, ..*options };
        let registry = Registry::over(far.as_ref().map(|far| far.registrations()));
        let tools = Tools {
            me: place.me,
            registry,
            kept: Store::default(),
            local: VecDeque::new(),
            directory: Directory::new(look_up),
            reductions: Reductions::default(),
            trouble: Trouble::default(),
        };
        let rank = Rank::new(place.me, &Job { ranks: place.ranks }, &options);
        let hands = Hands::new(rank, tools);
        let neighbours = place.neighbours.clone();
        let processors = carrousel_launch::processors();
        let is_far = far.is_some();
        Ok(Self {
            node,
            far,
            why_near,
            hands,
            pending: Pending::default(),
            ranks: place.ranks,
            eager_threshold,
            reuse_blocking,
            crowded: processors.is_some_and(|processors| processors < place.here),
            rests: processors == Some(1) && is_far && neighbours.len() == 1,
            neighbours,
            launcher: None,
            check_usage: CheckUsage::Off,
            calls: 0,
            communicators: Communicators::default(),
            scratch: Vec::new(),
            glances: Glances::default(),
            awaited: None,
        })
    }

    /// From now on the rank listens to its launcher while it waits.
    pub(crate) fn attend(&mut self, launcher: Launcher) {
        self.launcher = Some(launcher);
    }

    /// What peers need to connect, as text.
    pub(crate) fn address(&self) -> String {
        match &self.far {
            Some(far) => format!("{} {}", self.node.address(), far.address()),
            None => self.node.address().to_string(),
        }
    }

    pub(crate) fn me(&self) -> u32 {
        self.hands.tools.me.0
    }

    pub(crate) fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Starts a receive into `len` bytes that are lent to the library.
    ///
    /// # Safety
    ///
    /// They are valid for reads and writes, initialised, and used by nobody else, until [`Core::finish`] or
    /// [`Core::wait`] has ended the request.
    #[allow(unsafe_code)]
    #[inline]
    pub(crate) unsafe fn lend_mut(
        &mut self,
        start: *mut u8,
        len: usize,
        caller: Caller<'_>,
        from: Source,
        tag: TagSelector,
    ) -> Result<Handle, Fault> {
        // SAFETY: as the caller promises: the key is released when the request ends.
        let memory = unsafe { self.hands.tools.registry.register_mut(start, len) };
        if let Source::Rank(rank) = from {
            self.reach(rank.0, memory.key)?;
        }
        let (len, communicator) = (len as u64, caller.id());
        let receive = Receive { from, tag, communicator, len, memory };
        self.start(Call::Receive(receive), What::Receive { from, tag, len }, memory.key, caller)
    }

    /// Which numbers of communicators from `block` times [`COMPARED`] on are in use here, to the ranks that `takes_part` in
    /// agreeing on one, all of whose messages have arrived.
    pub(crate) fn communicators_taken(&mut self, block: usize, takes_part: impl Fn(u32) -> bool) -> Taken {
        // What has arrived is known.
        self.progress_all();
        let Self { communicators, hands, .. } = self;
        communicators.taken(block, |communicator, members| {
            members.iter().all(|rank| takes_part(*rank)) && hands.rank.may_forget(communicator)
        })
    }

    /// What all have said of those numbers: the others are free.
    pub(crate) fn communicators_agreed(&mut self, block: usize, all: &Taken) {
        let Self { communicators, hands, .. } = self;
        communicators.agreed(block, all, |communicator| hands.forget(communicator));
    }

    /// A communicator of these ranks, under a number that all of them have agreed on.
    pub(crate) fn define(
        &mut self,
        number: usize,
        members: &[u32],
    ) -> Result<(Communicator, Membership), Fault> {
        let communicator = u16::try_from(number).ok().and_then(Communicator::new);
        let communicator = communicator.ok_or(Error::TooManyCommunicators)?;
        let ranks: Vec<RankId> = members.iter().copied().map(RankId).collect();
        self.hands.define(communicator, &ranks, &mut Ways::of(&mut self.node, &mut self.far))?;
        Ok((communicator, self.communicators.take(communicator, members)))
    }

    /// The ranks of this node.
    pub(crate) fn neighbours(&self) -> &[RankId] {
        &self.neighbours
    }

    /// Where buffers are registered.
    pub(crate) fn registry(&mut self) -> &mut Registry {
        &mut self.hands.tools.registry
    }

    /// How much scratch a collective needs.
    pub(crate) fn scratch_len(&self, call: &Collective) -> Result<u64, Fault> {
        Ok(self.hands.rank.schedule(call)?.scratch_len())
    }

    /// Memory that was scratch before, to be it again.
    pub(crate) fn scratch(&mut self) -> &mut Vec<u8> {
        &mut self.scratch
    }

    /// Starts a collective, whose memory is registered, and which a report names as `kind`.
    pub(crate) fn collective(
        &mut self,
        call: Collective,
        op: Option<ReduceOp>,
        kind: Kind,
        site: CallSite,
    ) -> Result<Handle, Fault> {
        self.reach_all()?;
        self.hands.tools.reductions.start(op);
        let request = self.start(Call::Collective(call), What::Collective(kind), Registry::NONE.key, site);
        self.hands.tools.reductions.started(request.as_ref().ok().copied());
        request
    }

    /// A collective that has an operation has ended.
    pub(crate) fn end_collective(&mut self, request: Handle) {
        self.hands.tools.reductions.end(request);
    }

    /// Whether a collective may begin.
    fn reach_all(&self) -> Result<(), Fault> {
        if self.neighbours.len() == self.ranks as usize || self.far.is_some() {
            return Ok(());
        }
        match (0..self.ranks).find(|rank| !self.is_reachable(*rank)) {
            Some(rank) => Err(self.unreachable(rank)),
            None => Ok(()),
        }
    }

    #[inline(always)]
    fn start(&mut self, call: Call, what: What, key: u32, at: impl Located) -> Result<Handle, Fault> {
        let rendezvous = self.hands.rank.needs_initial_progress(&call);
        let arrived = self.hands.recorder.is_some().then(|| self.node.arrived());
        if rendezvous {
            self.progress_all();
        } else {
            self.progress_sometimes();
        }
        if let Some(arrived) = arrived {
            self.hands.ignored = self.node.not_taken(&arrived).map(|rank| rank.0).collect();
        }
        match self.hands.call(call, &[], &mut Ways::of(&mut self.node, &mut self.far), at) {
            Ok(request) => {
                self.pending.begin(request, Known { what, key, rendezvous, location: at.location() });
                Ok(request)
            }
            Err(error) => {
                self.hands.tools.registry.release(key);
                Err(error.into())
            }
        }
    }

    /// Cancels a receive if it has no message yet.
    pub(crate) fn cancel(&mut self, request: Handle, site: CallSite) {
        let ways = &mut Ways::of(&mut self.node, &mut self.far);
        // The only mistake that could be made is to cancel what is no receive, which changes nothing.
        let _ = self.hands.call(Call::Cancel(request), &[], ways, site);
    }

    /// Takes in what has arrived, for a call that stays eager: always while a rendezvous of this rank is open, whose peer
    /// may wait for an answer; else now and then, because an application that starts messages and never waits has to
    /// hear what its peers have seen of them, too.
    #[inline]
    fn progress_sometimes(&mut self) {
        const CALLS: u32 = 32;
        self.calls = self.calls.wrapping_add(1);
        if self.pending.has_rendezvous() || self.calls.is_multiple_of(CALLS) {
            self.progress();
        }
    }

    /// Initial progress (speculative-rendezvous 4.2.1): takes in all that has arrived, before a call that may be a
    /// rendezvous. What arrives meanwhile may be taken in too, but does not hold the call up.
    #[inline(never)]
    fn progress_all(&mut self) {
        // A peer that sends all the time must not keep this rank from its call: rings hold less than that.
        const TURNS: u32 = 1 << 12;
        for _ in 0..TURNS {
            if !self.progress() {
                break;
            }
        }
    }

    #[inline]
    fn is_reachable(&self, rank: u32) -> bool {
        // A rank that does not exist is for the protocol to refuse.
        self.neighbours.len() == self.ranks as usize
            || self.far.is_some()
            || rank >= self.ranks
            || self.neighbours.binary_search(&RankId(rank)).is_ok()
    }

    #[inline]
    fn reach(&mut self, rank: u32, key: u32) -> Result<(), Fault> {
        if self.is_reachable(rank) {
            return Ok(());
        }
        self.hands.tools.registry.release(key);
        Err(self.unreachable(rank))
    }

    #[cold]
    fn unreachable(&self, rank: u32) -> Fault {
        let none = "there is no transport between nodes";
        Error::Unreachable { rank, why: self.why_near.clone().unwrap_or_else(|| none.to_owned()) }.into()
    }

    /// Takes in what has arrived. Returns whether anything had.
    #[inline]
    pub(crate) fn progress(&mut self) -> bool {
        let Self { node, far, hands, .. } = self;
        let mut count = hands.local(&mut Ways::of(node, far));
        count += node.poll(&mut FromNear { hands, far: far.as_deref_mut().map(Transport::out) });
        if let Some(far) = far {
            count += far.poll(&mut FromFar { hands, near: node.out() });
            self.take_back();
        }
        count > 0
    }

    #[inline]
    fn is_complete(&self, request: Handle) -> bool {
        self.hands.rank.is_complete(request) && !self.is_lent(self.pending.key(request))
    }

    /// Whether the adapter still reads the memory of a request, which is known under `key`: its message has no more to
    /// wait for, and its buffer is not the application's yet (rule COMPLETES_LOCALLY).
    #[inline(always)]
    fn is_lent(&self, key: u32) -> bool {
        let registry = &self.hands.tools.registry;
        registry.lends() && registry.is_lent(key)
    }

    /// Where a request was started that has not been ended.
    pub(crate) fn started_at(&self, request: Handle) -> CallSite {
        let location = self.pending.known(request).location;
        self.hands.call_site_of(request).unwrap_or(CallSite::Source(location))
    }

    /// Whether a request has not been ended.
    #[inline]
    pub(crate) fn is_open(&self, request: Handle) -> bool {
        self.hands.rank.status(request).is_ok()
    }

    /// Ends a request that is complete: its memory is the application's again. `None` if it is not. Of how it
    /// ended `read` takes what matters.
    #[inline]
    pub(crate) fn finish<T>(
        &mut self,
        request: Handle,
        read: impl FnOnce(&Status) -> T,
    ) -> Option<Result<T, Fault>> {
        self.release::<true, T>(request, read)
    }

    /// As [`Core::finish`], of a request that is pending or, if not `PENDING`, of one that was complete when it began and
    /// has no memory. Its status is not copied: as a whole it would have to wait until all of its parts are stored.
    #[inline(always)]
    fn release<const PENDING: bool, T>(
        &mut self,
        request: Handle,
        read: impl FnOnce(&Status) -> T,
    ) -> Option<Result<T, Fault>> {
        let ended = match self.hands.rank.status(request) {
            Ok(None) => return None,
            Ok(Some(_)) if PENDING && self.is_lent(self.pending.key(request)) => return None,
            Ok(Some(status @ Status { failure: None, .. })) => Ok(read(status)),
            Ok(Some(status)) => {
                let status = *status;
                self.failed(status).map(|status| read(&status))
            }
            // It has been ended: what stands at its place is another one's.
            Err(error) => return Some(Err(error.into())),
        };
        self.hands.release(request);
        if PENDING {
            self.hands.tools.registry.release(self.pending.end(request));
        }
        Some(ended)
    }

    #[cold]
    fn failed(&mut self, status: Status) -> Result<Status, Fault> {
        match status.failure {
            None | Some(Failure::Cancelled) => Ok(status),
            Some(Failure::Truncated { sent }) => Err(Error::Truncated { sent, room: status.len }.into()),
            Some(Failure::PeerLost(rank)) => Err(self.gone(rank)),
        }
    }

    /// A peer is lost: because of what went wrong before, if something did.
    #[cold]
    fn gone(&mut self, rank: RankId) -> Fault {
        let lost = || {
            let far = self.far.as_mut().and_then(|far| far.out().loss_of(rank)).map(ToString::to_string);
            let near = || self.node.out().loss_of(rank).map(ToString::to_string);
            Error::PeerLost { rank: rank.0, why: far.or_else(near) }
        };
        self.hands.tools.trouble.of(rank).unwrap_or_else(lost).into()
    }

    /// Takes note of what the adapter has read.
    #[inline]
    fn take_back(&mut self) {
        let Self { far: Some(far), hands, .. } = self else { return };
        while let Some(key) = far.out().returned() {
            hands.tools.registry.returned(key);
        }
    }

    /// Whether a request is complete; lets messages move if it is not.
    pub(crate) fn test(&mut self, request: Handle) -> bool {
        if !self.is_complete(request) {
            self.look(None);
        }
        self.is_complete(request)
    }

    /// The first message that a receive like this would get.
    pub(crate) fn probe(
        &mut self,
        communicator: Communicator,
        from: Source,
        tag: TagSelector,
    ) -> Option<crate::Status> {
        let pattern = Pattern { source: from, tag, context: communicator.messages() };
        let (envelope, bytes) = self.hands.rank.probe(&pattern)?;
        if self.hands.recorder.is_some() {
            self.hands.record_probe(pattern, envelope, bytes);
        }
        Some(crate::Status { source: envelope.source.0, tag: envelope.tag.0, bytes })
    }

    /// Sends what is left, waits for all ranks, and says that this one is done.
    pub(crate) fn finalize(&mut self, site: CallSite) -> Result<(), Error> {
        // Behind the barrier nobody may look any more: what waited for room at a rank would wait for ever.
        self.drain(site);
        let barrier = Collective::barrier(Communicator::WORLD);
        let barrier = self.collective(barrier, None, Kind::Barrier, site)?;
        let result = self.wait(barrier, site, |_| ());
        self.drain(site);
        if result.is_ok() {
            self.node.finish();
            self.far.iter_mut().for_each(|far| far.finish());
            self.drain(site);
        }
        // Else the ranks are not together, and others that need this one have to learn that it is gone.
        self.end_trace(if result.is_ok() { End::Finalized } else { End::Left });
        Ok(result?)
    }
}
