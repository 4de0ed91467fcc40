//! The endpoint of a process: its rank's state machine, registered memory, and transports.

mod address_resolver;
mod arrivals;
mod communicators;
mod driver;
mod first_error;
mod launcher;
mod pending;
mod pmi;
mod recording;
mod reductions;
mod registry;
mod send_sites;
mod sending;
mod transports;
mod unexpected;
mod usage;
mod wait_strategy;
mod waiting;

pub(crate) use self::communicators::{COMPARED, Membership, Taken};
pub(crate) use self::launcher::Launcher;
pub use self::launcher::{Waiting, WaitingRequest};
pub(crate) use self::pending::Awaited;
pub(crate) use self::pmi::PmiConnection;
pub(crate) use self::reductions::ReduceOp;
#[doc(hidden)]
pub use self::reductions::on_bytes;
pub(crate) use self::sending::SendKind;
pub(crate) use self::usage::LeftBehind;
pub(crate) use self::wait_strategy::WaitStrategy;

use self::address_resolver::{AddressResolver, LookUp};
use self::arrivals::{FromNet, FromShm};
use self::communicators::Communicators;
use self::driver::{Driver, Resources};
use self::first_error::FirstErrors;
use self::pending::{Known, Pending, What};
use self::reductions::Reductions;
use self::registry::Registry;
use self::transports::{Net, Transports};
use self::unexpected::UnexpectedBuffers;
use self::wait_strategy::SlowPathTimer;
use crate::Error;
use crate::error::BoxedError;
use crate::site::{CallSite, Caller, Located};
use carrousel_options::CheckUsage;
use carrousel_rank::{
    Arrived, Call, Collective, Communicator, Failure, Handle, Job, Kind, Options, Pattern, Rank, RankId,
    Receive, Source, Status, TagSelector, mpi,
};
use carrousel_trace::TraceEnd;
use carrousel_transport::Transport;
use carrousel_transport_shm::{Node, NodeError, Settings};
use carrousel_transport_verbs::Verbs;
use std::collections::VecDeque;

/// Which rank this process is, and which ranks share its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeTopology {
    /// This rank.
    pub(crate) me: RankId,
    /// How many ranks there are.
    pub(crate) ranks: u32,
    /// The ranks that share memory with this one, itself included.
    pub(crate) neighbours: Vec<RankId>,
    /// The number of ranks on this node, including those that do not share memory with this one.
    pub(crate) here: usize,
}

/// A rank, its memory and its transports. No MPI names, no lifetimes: memory is lent to it by pointer and length.
pub(crate) struct Endpoint {
    node: Node,
    net: Net,
    /// Why there is no transport to other nodes, if there is none.
    why_near: Option<String>,
    driver: Driver,
    pending: Pending,
    ranks: u32,
    /// Bytes of the largest message that is sent eagerly.
    eager_threshold: u64,
    neighbours: Vec<RankId>,
    /// Whether blocking sends are zero-copy, too, where non-blocking ones are.
    reuse_blocking: bool,
    /// Whether this node has more ranks than processors.
    crowded: bool,
    /// Whether this rank may block in a long wait: the node has one processor, which the kernel needs for arrivals, and the
    /// network wakes the rank for every arrival, as no other rank shares memory with it.
    can_block: bool,
    launcher: Option<Launcher>,
    /// What happens about usage errors that no rank can see alone.
    check_usage: CheckUsage,
    /// The number of calls that have started a request; wraps around.
    calls: u32,
    communicators: Communicators,
    scratch: Vec<u8>,
    /// When a program that polls takes the slow path.
    slow_path_timer: SlowPathTimer,
    /// What the current call waits for, and its call site, once it has waited for long.
    awaited: Option<(Awaited, CallSite)>,
}

/// An endpoint may be driven by one thread after another, or by several behind a lock.
const _: fn() = || {
    fn sends<T: Send>() {}
    sends::<Endpoint>();
};

impl Endpoint {
    /// The endpoint of a rank. `net` is the transport to other nodes, or the reason why there is none. Its
    /// [`Endpoint::address`] has to be published before any peer is used.
    pub(crate) fn new(
        topology: &NodeTopology,
        options: &Options,
        settings: Settings,
        net: Result<Option<Verbs>, String>,
        reuse_blocking: bool,
        look_up: LookUp,
    ) -> Result<Self, NodeError> {
        let node = Node::new(topology.me, &topology.neighbours, settings)?;
        let (net, why_near) = match net {
            Ok(net) => (net.map(Box::new), None),
            Err(why) => (None, Some(why)),
        };
        let largest = net.as_ref().map_or(u64::MAX, |net| net.largest_eager());
        let eager_threshold = options.eager_threshold.min(node.largest_eager()).min(largest);
        let options = Options { eager_threshold, ..*options };
        let registry = Registry::over(net.as_ref().map(|net| net.registrations()));
        let resources = Resources {
            me: topology.me,
            registry,
            kept: UnexpectedBuffers::default(),
            local: VecDeque::new(),
            resolver: AddressResolver::new(look_up),
            reductions: Reductions::default(),
            errors: FirstErrors::default(),
        };
        let rank = Rank::new(topology.me, &Job { ranks: topology.ranks }, &options);
        let driver = Driver::new(rank, resources);
        let neighbours = topology.neighbours.clone();
        let processors = carrousel_launch::processors();
        let is_far = net.is_some();
        Ok(Self {
            node,
            net,
            why_near,
            driver,
            pending: Pending::default(),
            ranks: topology.ranks,
            eager_threshold,
            reuse_blocking,
            crowded: processors.is_some_and(|processors| processors < topology.here),
            can_block: processors == Some(1) && is_far && neighbours.len() == 1,
            neighbours,
            launcher: None,
            check_usage: CheckUsage::Off,
            calls: 0,
            communicators: Communicators::default(),
            scratch: Vec::new(),
            slow_path_timer: SlowPathTimer::default(),
            awaited: None,
        })
    }

    /// Attaches the launcher, which is polled in long waits.
    pub(crate) fn attach_launcher(&mut self, launcher: Launcher) {
        self.launcher = Some(launcher);
    }

    /// The address by which peers connect, as text.
    pub(crate) fn address(&self) -> String {
        match &self.net {
            Some(net) => format!("{} {}", self.node.address(), net.address()),
            None => self.node.address().to_string(),
        }
    }

    pub(crate) fn me(&self) -> u32 {
        self.driver.resources.me.0
    }

    pub(crate) fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Starts a receive into `len` bytes that are lent to the library.
    ///
    /// # Safety
    ///
    /// The bytes are valid for reads and writes, initialised, and not used by anybody else until [`Endpoint::finish`] or
    /// [`Endpoint::wait`] has ended the request.
    #[allow(unsafe_code, reason = "passes on what the caller promises about its memory")]
    #[inline]
    pub(crate) unsafe fn lend_mut(
        &mut self,
        start: *mut u8,
        len: usize,
        caller: Caller<'_>,
        from: Source,
        tag: TagSelector,
    ) -> Result<Handle, BoxedError> {
        // SAFETY: as the caller promises: the key is released when the request ends.
        let memory = unsafe { self.driver.resources.registry.register_mut(start, len) };
        if let Source::Rank(rank) = from {
            self.reach(rank.0, memory.key)?;
        }
        let (len, communicator) = (len as u64, caller.id());
        let receive = Receive { from, tag, communicator, len, memory };
        self.start(Call::Receive(receive), What::Receive { from, tag, len }, memory.key, caller)
    }

    /// Which communicator numbers from `block` times [`COMPARED`] on are in use at this rank, in the eyes of the ranks for
    /// which `takes_part` holds: they agree on a number now, and all of their messages have arrived.
    pub(crate) fn communicators_taken(&mut self, block: usize, takes_part: impl Fn(u32) -> bool) -> Taken {
        // A message that has arrived keeps its communicator in use.
        self.progress_until_idle();
        let Self { communicators, driver, .. } = self;
        communicators.taken(block, |communicator, members| {
            members.iter().all(|rank| takes_part(*rank)) && driver.rank.may_forget(communicator)
        })
    }

    /// Takes the numbers that are in use at any of the ranks: all other numbers of the block are free.
    pub(crate) fn communicators_agreed(&mut self, block: usize, all: &Taken) {
        let Self { communicators, driver, .. } = self;
        communicators.agreed(block, all, |communicator| driver.forget(communicator));
    }

    /// Defines a communicator of these ranks, under a number that all of them have agreed on.
    pub(crate) fn define(
        &mut self,
        number: usize,
        members: &[u32],
    ) -> Result<(Communicator, Membership), BoxedError> {
        let communicator = u16::try_from(number).ok().and_then(Communicator::new);
        let communicator = communicator.ok_or(Error::TooManyCommunicators)?;
        let ranks: Vec<RankId> = members.iter().copied().map(RankId).collect();
        self.driver.define(communicator, &ranks, &mut Transports::of(&mut self.node, &mut self.net))?;
        Ok((communicator, self.communicators.take(communicator, members)))
    }

    /// The ranks of this node.
    pub(crate) fn neighbours(&self) -> &[RankId] {
        &self.neighbours
    }

    /// The registered memory.
    pub(crate) fn registry(&mut self) -> &mut Registry {
        &mut self.driver.resources.registry
    }

    /// The number of scratch bytes that a collective needs.
    pub(crate) fn scratch_len(&self, call: &Collective) -> Result<u64, BoxedError> {
        Ok(self.driver.rank.schedule(call)?.scratch_len())
    }

    /// Scratch memory of earlier collectives, for reuse.
    pub(crate) fn scratch(&mut self) -> &mut Vec<u8> {
        &mut self.scratch
    }

    /// Starts a collective, whose memory is registered. Hang reports call it `kind`.
    pub(crate) fn collective(
        &mut self,
        call: Collective,
        op: Option<ReduceOp>,
        kind: Kind,
        site: CallSite,
    ) -> Result<Handle, BoxedError> {
        self.reach_all()?;
        self.driver.resources.reductions.start(op);
        let request = self.start(Call::Collective(call), What::Collective(kind), Registry::NONE.key, site);
        self.driver.resources.reductions.started(request.as_ref().ok().copied());
        request
    }

    /// Forgets the operation of a collective that has ended.
    pub(crate) fn end_collective(&mut self, request: Handle) {
        self.driver.resources.reductions.end(request);
    }

    /// Fails if a rank of the job cannot be reached.
    fn reach_all(&self) -> Result<(), BoxedError> {
        if self.neighbours.len() == self.ranks as usize || self.net.is_some() {
            return Ok(());
        }
        match (0..self.ranks).find(|rank| !self.is_reachable(*rank)) {
            Some(rank) => Err(self.unreachable(rank)),
            None => Ok(()),
        }
    }

    #[inline(always)]
    fn start(&mut self, call: Call, what: What, key: u32, at: impl Located) -> Result<Handle, BoxedError> {
        let rendezvous = self.driver.rank.needs_initial_progress(&call);
        let arrived = self.driver.recorder.is_some().then(|| self.node.arrived());
        if rendezvous {
            self.progress_until_idle();
        } else {
            self.progress_now_and_then();
        }
        if let Some(arrived) = arrived {
            self.driver.ignored = self.node.not_taken(&arrived).map(|rank| rank.0).collect();
        }
        match self.driver.call(call, &[], &mut Transports::of(&mut self.node, &mut self.net), at) {
            Ok(request) => {
                self.pending.begin(request, Known { what, key, rendezvous, location: at.location() });
                Ok(request)
            }
            Err(error) => {
                self.driver.resources.registry.release(key);
                Err(error.into())
            }
        }
    }

    /// Cancels a receive if it has no message yet.
    pub(crate) fn cancel(&mut self, request: Handle, site: CallSite) {
        let transports = &mut Transports::of(&mut self.node, &mut self.net);
        // The only usage error is to cancel a request that is not a receive, which changes nothing.
        let _ = self.driver.call(Call::Cancel(request), &[], transports, site);
    }

    /// Progress for a call that stays eager: always while a rendezvous of this rank is open, because its peer may wait for
    /// an answer; otherwise in one call of many, because an application that only starts messages must learn what its
    /// peers have seen of them, too.
    #[inline]
    fn progress_now_and_then(&mut self) {
        const CALLS: u32 = 32;
        self.calls = self.calls.wrapping_add(1);
        if self.pending.has_rendezvous() || self.calls.is_multiple_of(CALLS) {
            self.progress();
        }
    }

    /// Initial progress (speculative-rendezvous 4.2.1): processes all that has arrived before a call that may be a
    /// rendezvous. Later arrivals may be processed too, but do not delay the call.
    #[inline(never)]
    fn progress_until_idle(&mut self) {
        // A bound, so that a peer that sends all the time does not keep this rank from its call: rings hold less.
        const TURNS: u32 = 1 << 12;
        for _ in 0..TURNS {
            if !self.progress() {
                break;
            }
        }
    }

    #[inline]
    fn is_reachable(&self, rank: u32) -> bool {
        // The protocol refuses ranks that do not exist.
        self.neighbours.len() == self.ranks as usize
            || self.net.is_some()
            || rank >= self.ranks
            || self.neighbours.binary_search(&RankId(rank)).is_ok()
    }

    #[inline]
    fn reach(&mut self, rank: u32, key: u32) -> Result<(), BoxedError> {
        if self.is_reachable(rank) {
            return Ok(());
        }
        self.driver.resources.registry.release(key);
        Err(self.unreachable(rank))
    }

    #[cold]
    fn unreachable(&self, rank: u32) -> BoxedError {
        let none = "there is no transport between nodes";
        Error::Unreachable { rank, why: self.why_near.clone().unwrap_or_else(|| none.to_owned()) }.into()
    }

    /// Processes what has arrived. Returns whether anything had.
    #[inline]
    pub(crate) fn progress(&mut self) -> bool {
        let Self { node, net, driver, .. } = self;
        let mut count = driver.local(&mut Transports::of(node, net));
        count += node.poll(&mut FromShm { driver, net: net.as_deref_mut().map(Transport::out) });
        if let Some(net) = net {
            count += net.poll(&mut FromNet { driver, shm: node.out() });
            self.reap_zcopy();
        }
        count > 0
    }

    #[inline]
    fn is_complete(&self, request: Handle) -> bool {
        self.driver.rank.is_complete(request) && !self.is_lent(self.pending.key(request))
    }

    /// Whether the adapter still reads the memory of a request, which is registered under `key`: the message is complete,
    /// but the buffer is not the application's yet (rule COMPLETES_LOCALLY).
    #[inline(always)]
    fn is_lent(&self, key: u32) -> bool {
        let registry = &self.driver.resources.registry;
        registry.lends() && registry.is_lent(key)
    }

    /// The call site that started a request, which has not been ended.
    pub(crate) fn started_at(&self, request: Handle) -> CallSite {
        let location = self.pending.known(request).location;
        self.driver.call_site_of(request).unwrap_or(CallSite::Source(location))
    }

    /// Whether a request has not been ended.
    #[inline]
    pub(crate) fn is_open(&self, request: Handle) -> bool {
        self.driver.rank.status(request).is_ok()
    }

    /// Ends a request if it is complete: its memory is the application's again. `None` if it is not complete. `read` takes
    /// what the caller needs of its status.
    #[inline]
    pub(crate) fn finish<T>(
        &mut self,
        request: Handle,
        read: impl FnOnce(&Status) -> T,
    ) -> Option<Result<T, BoxedError>> {
        self.release::<true, T>(request, read)
    }

    /// As [`Endpoint::finish`], for a request that is pending or, if not `PENDING`, was complete when it started and has no
    /// memory. The status is not copied as a whole, because that would wait for all of its parts to be stored.
    #[inline(always)]
    fn release<const PENDING: bool, T>(
        &mut self,
        request: Handle,
        read: impl FnOnce(&Status) -> T,
    ) -> Option<Result<T, BoxedError>> {
        let ended = match self.driver.rank.status(request) {
            Ok(None) => return None,
            Ok(Some(_)) if PENDING && self.is_lent(self.pending.key(request)) => return None,
            Ok(Some(status @ Status { failure: None, .. })) => Ok(read(status)),
            Ok(Some(status)) => {
                let status = *status;
                self.failed(status).map(|status| read(&status))
            }
            // The request has ended before, and its position may belong to another one.
            Err(error) => return Some(Err(error.into())),
        };
        self.driver.release(request);
        if PENDING {
            self.driver.resources.registry.release(self.pending.end(request));
        }
        Some(ended)
    }

    #[cold]
    fn failed(&mut self, status: Status) -> Result<Status, BoxedError> {
        match status.failure {
            None | Some(Failure::Cancelled) => Ok(status),
            Some(Failure::Truncated { sent }) => Err(Error::Truncated { sent, room: status.len }.into()),
            Some(Failure::PeerLost(rank)) => Err(self.gone(rank)),
        }
    }

    /// The error for a lost peer: the first error that concerned it, if there was one.
    #[cold]
    fn gone(&mut self, rank: RankId) -> BoxedError {
        let lost = || {
            let net = self.net.as_mut().and_then(|net| net.out().loss_of(rank)).map(ToString::to_string);
            let shm = || self.node.out().loss_of(rank).map(ToString::to_string);
            Error::PeerLost { rank: rank.0, why: net.or_else(shm) }
        };
        self.driver.resources.errors.of(rank).unwrap_or_else(lost).into()
    }

    /// Takes back the memory that the adapter has read.
    #[inline]
    fn reap_zcopy(&mut self) {
        let Self { net: Some(net), driver, .. } = self else { return };
        while let Some(key) = net.out().returned() {
            driver.resources.registry.returned(key);
        }
    }

    /// Whether a request is complete; lets messages move if it is not.
    pub(crate) fn test(&mut self, request: Handle) -> bool {
        if !self.is_complete(request) {
            self.poll(None);
        }
        self.is_complete(request)
    }

    /// The first message that such a receive would get.
    pub(crate) fn probe(
        &mut self,
        communicator: Communicator,
        from: Source,
        tag: TagSelector,
    ) -> Option<crate::Status> {
        let pattern = Pattern { source: from, tag, context: communicator.messages() };
        let arrived = self.driver.rank.probe(&pattern)?;
        if self.driver.recorder.is_some() {
            self.driver.record_probe(pattern, arrived);
        }
        let Arrived { envelope, len: bytes, .. } = arrived;
        Some(crate::Status { source: envelope.source.0, tag: mpi::number(envelope.tag), bytes })
    }

    /// Sends what is left, waits for all ranks, and tells them that this one has finished.
    pub(crate) fn finalize(&mut self, site: CallSite) -> Result<(), Error> {
        // After the barrier a rank need not poll any more: frames that wait for room there would wait for ever.
        self.drain(site);
        let barrier = Collective::barrier(Communicator::WORLD);
        let barrier = self.collective(barrier, None, Kind::Barrier, site)?;
        let result = self.wait(barrier, site, |_| ());
        self.drain(site);
        if result.is_ok() {
            self.node.finish();
            self.net.iter_mut().for_each(|net| net.finish());
            self.drain(site);
        }
        // Otherwise the barrier has failed, and ranks that still need this one must see it as lost.
        self.end_trace(if result.is_ok() { TraceEnd::Finalized } else { TraceEnd::Left });
        Ok(result?)
    }
}
