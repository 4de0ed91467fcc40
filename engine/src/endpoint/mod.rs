//! The endpoint of a process: its rank's state machine, registered memory, and transports.

mod address_resolver;
mod arrivals;
mod claims;
mod clock;
mod communicators;
mod completions;
mod driver;
mod first_error;
mod launcher;
mod names;
mod open;
mod packets;
mod pending;
mod pmi;
mod progress;
mod receiving;
mod recorder;
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
mod work_executor;

pub use self::claims::ClaimedMessage;
pub use self::communicators::{COMPARED, Membership, Taken};
pub use self::completions::OpenRequest;
pub use self::launcher::{Launcher, TagText, Waiting, WaitingRequest};
pub use self::open::OpenPeers;
pub use self::pending::Awaited;
pub use self::pmi::PmiConnection;
pub use self::reductions::ReduceOp;
pub use self::sending::{SendEnvelope, SendKind};
pub use self::usage::LeftBehind;
pub use self::wait_strategy::WaitStrategy;

use self::address_resolver::AddressResolver;
use self::clock::Clock;
use self::communicators::Communicators;
use self::driver::Driver;
use self::first_error::FirstErrors;
pub use self::names::LookUp;
use self::names::Names;
use self::pending::{Known, Pending, What};
use self::reductions::Reductions;
use self::registry::Registry;
use self::transports::Transports;
use self::unexpected::UnexpectedBuffers;
use self::wait_strategy::SlowPathTimer;
use self::work_executor::{Completed, Resources};
use crate::Error;
use crate::backends::shm::{Node, NodeError, Settings};
use crate::backends::{AnyNetwork, Introduced};
use crate::error::BoxedError;
use crate::site::{CallSite, Caller, Located};
use carrousel_options::CheckUsage;
use carrousel_rank::{
    Arrived, Call, Collective, Communicator, Envelope, Failure, Handle, Job, Kind, Members, Memory, Options,
    Pattern, Rank, RankId, Receive, Source, Status, TagSelector,
};
use carrousel_system::{Defect, SYSTEM, System};
use carrousel_trace::TraceEnd;
use carrousel_transport::{NetworkOut, Transport};
use std::collections::VecDeque;

/// This rank, and the ranks that share its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTopology {
    /// This rank.
    pub me: RankId,
    /// The number of ranks.
    pub ranks: u32,
    /// The ranks that share memory with this one, itself included.
    pub neighbours: Vec<RankId>,
    /// The number of ranks on this node, including those that do not share memory with this one.
    pub here: usize,
}

/// A message that a probe has found: its envelope, its data, and its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The envelope.
    pub envelope: Envelope,
    /// The 8 bytes that its sender has sent with it ([`SendEnvelope::data`]).
    pub data: Option<u64>,
    /// The bytes.
    pub bytes: u64,
}

impl From<Arrived> for Found {
    #[inline]
    fn from(Arrived { envelope, data, len }: Arrived) -> Self {
        Self { envelope, data, bytes: len }
    }
}

/// A rank, its memory and its transports. No MPI names, no lifetimes: memory is lent to it by pointer and length.
///
/// A message has a tag of 64 bits, and 8 bytes of data if its sender wants them ([`SendEnvelope`]). Receives, probes and
/// claims ask for a source or any, and for a tag without the bits that they ignore ([`TagSelector`]). All tags and all masks
/// are legal: what bits mean, and that some must not be set, is the matter of who calls.
pub struct Endpoint {
    node: Node,
    net: Option<AnyNetwork>,
    /// Its peers, where nobody says ahead who they are.
    names: Option<Names>,
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
    /// Whether this rank may block in a long wait: others need the processor, and every arrival wakes the rank.
    can_block: bool,
    launcher: Option<Launcher>,
    /// How tags are told in hang reports.
    tag_text: TagText,
    /// The reaction to usage errors that no rank can see alone.
    check_usage: CheckUsage,
    /// The number of calls that have started a request; wraps around.
    calls: u32,
    communicators: Communicators,
    scratch: Vec<u8>,
    /// When a program that polls takes the slow path.
    slow_path_timer: SlowPathTimer,
    /// The time that transports are given.
    clock: Clock,
    /// The request or message that the current call waits for, and its call site, once it has waited for long.
    awaited: Option<(Awaited, CallSite)>,
}

impl Drop for Endpoint {
    /// Peers see a rank that has not finished as lost once its memory is gone. The launcher is told before, so that it does
    /// not take their ends for the reason.
    fn drop(&mut self) {
        if let Some(launcher) = &self.launcher {
            launcher.leave();
        }
    }
}

/// An endpoint may be driven by one thread after another, or by several behind a lock.
const _: fn() = || {
    fn sends<T: Send>() {}
    sends::<Endpoint>();
};

impl Endpoint {
    /// The endpoint of a rank. `net` is the transport to other nodes, or the reason why there is none. Its
    /// [`Endpoint::address`] has to be published before any peer is used.
    pub fn new(
        topology: &NodeTopology,
        options: &Options,
        settings: Settings,
        net: Result<Option<AnyNetwork>, String>,
        reuse_blocking: bool,
        look_up: LookUp,
    ) -> Result<Self, NodeError> {
        let node = Node::new(topology.me, &topology.neighbours, settings)?;
        Ok(Self::over(node, topology, options, net, reuse_blocking, (look_up, None)))
    }

    /// An endpoint of its own: no launcher says who its peers are. Processes are peers once their
    /// [full address](Endpoint::full_address) is [named here](Endpoint::peer), or they send something. It is rank 0 to
    /// itself, and ranks are its own: no other endpoint has the same. Only endpoints of the same job hear each other.
    ///
    /// `network` makes the transport to other nodes for peers that introduce themselves, or says why there is none.
    ///
    /// # Errors
    /// When the settings are wrong, or there is too little memory.
    pub fn open(
        peers: OpenPeers<'_>,
        options: &Options,
        settings: Settings,
        network: impl FnOnce(Introduced) -> Result<Option<AnyNetwork>, String>,
    ) -> Result<Self, NodeError> {
        let OpenPeers { job, most, apart } = peers;
        let names = Names::new(job, most);
        let node = Node::open(most, names.introduce(true), settings)?;
        if !apart {
            names.share_node(node.address().node());
        }
        let net = network(Introduced { most, key: node.address().nonce(), name: names.introduce(false) });
        let neighbours = (0..most).map(RankId).collect();
        let topology = NodeTopology { me: RankId(0), ranks: most, neighbours, here: 1 };
        let known = (names.look_up(), Some(names.clone()));
        let mut endpoint = Self::over(node, &topology, options, net, true, known);
        let own = names.full(&endpoint.address());
        names.rank_of(&own);
        endpoint.node.introduce_as(own.as_bytes());
        endpoint.net.iter_mut().for_each(|net| net.introduce_as(own.as_bytes()));
        Ok(endpoint)
    }

    /// The endpoint of a rank of a job over its node.
    fn over(
        node: Node,
        topology: &NodeTopology,
        options: &Options,
        net: Result<Option<AnyNetwork>, String>,
        reuse_blocking: bool,
        (look_up, names): (LookUp, Option<Names>),
    ) -> Self {
        let (net, why_near) = match net {
            Ok(net) => (net, None),
            Err(why) => (None, Some(why)),
        };
        let largest = net.as_ref().map_or(u64::MAX, AnyNetwork::largest_eager);
        let eager_threshold = options.eager_threshold.min(node.largest_eager()).min(largest);
        let unbounded = SYSTEM.restores(Defect::UnboundedEager);
        let eager_window = if unbounded { u64::MAX } else { options.eager_window };
        let options = Options { eager_threshold, eager_window, ..*options };
        let registry = Registry::over(net.as_ref().map(AnyNetwork::memory_domain));
        let resources = Resources {
            me: topology.me,
            registry,
            kept: UnexpectedBuffers::default(),
            local: VecDeque::new(),
            resolver: AddressResolver::new(look_up, names.clone(), why_near),
            reductions: Reductions::default(),
            errors: FirstErrors::default(),
            completed: Completed::default(),
        };
        let rank = Rank::new(topology.me, &Job { ranks: topology.ranks }, &options);
        let driver = Driver::new(rank, resources);
        let neighbours = topology.neighbours.clone();
        let processors = carrousel_launch::processors();
        let crowded = processors.is_some_and(|processors| processors < topology.here);
        let can_block = match net {
            // The kernel needs a node's only processor for arrivals. Ranks that share memory cannot wake a rank that waits
            // for the network.
            Some(_) => processors == Some(1) && neighbours.len() == 1,
            None => crowded && node.can_sleep(),
        };
        Self {
            node,
            net,
            names,
            driver,
            pending: Pending::default(),
            ranks: topology.ranks,
            eager_threshold,
            reuse_blocking,
            crowded,
            can_block,
            neighbours,
            launcher: None,
            tag_text: launcher::tag_bits,
            check_usage: CheckUsage::Off,
            calls: 0,
            communicators: Communicators::default(),
            scratch: Vec::new(),
            slow_path_timer: SlowPathTimer::default(),
            clock: Clock::new(),
            awaited: None,
        }
    }

    /// Attaches the launcher, which is polled in long waits.
    pub fn attach_launcher(&mut self, launcher: Launcher) {
        self.launcher = Some(launcher);
    }

    /// Sets how tags are told in hang reports; before, a tag is a number.
    pub fn set_tag_text(&mut self, text: TagText) {
        self.tag_text = text;
    }

    /// The address by which peers connect, as text.
    pub fn address(&self) -> String {
        match &self.net {
            Some(net) => format!("{} {}", self.node.address(), net.address()),
            None => self.node.address().to_string(),
        }
    }

    /// The address by which peers name an [open](Endpoint::open) endpoint; for another one, its address.
    pub fn full_address(&self) -> String {
        self.names.as_ref().map_or_else(|| self.address(), |names| names.full(&self.address()))
    }

    /// The rank, at an [open](Endpoint::open) endpoint, of the peer with this full address. `None` if the address is that
    /// of another job, or there are too many peers.
    pub fn peer(&self, full_address: &str) -> Option<RankId> {
        self.names.as_ref()?.rank_of(full_address)
    }

    /// The full address of a peer of an [open](Endpoint::open) endpoint.
    pub fn address_of(&self, peer: RankId) -> Option<String> {
        self.names.as_ref()?.address_of(peer)
    }

    /// This rank.
    pub fn me(&self) -> u32 {
        self.driver.resources.me.0
    }

    /// The number of ranks of the job.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Starts a receive into bytes that are lent to the library.
    ///
    /// # Safety
    ///
    /// The bytes are valid for reads and writes, initialised, and not used by anybody else until [`Endpoint::finish`] or
    /// [`Endpoint::wait`] has ended the request.
    #[allow(unsafe_code, reason = "passes on what the caller promises about its memory")]
    #[inline]
    pub unsafe fn receive(
        &mut self,
        bytes: *mut [u8],
        caller: Caller<'_>,
        from: Source,
        tag: TagSelector,
    ) -> Result<Handle, BoxedError> {
        // SAFETY: as the caller promises: the key is released when the request ends.
        let memory = unsafe { self.driver.resources.registry.register_mut(bytes.cast(), bytes.len()) };
        if let Source::Rank(rank) = from {
            self.reach(rank.0, memory.key)?;
        }
        let (len, communicator) = (bytes.len() as u64, caller.id());
        let receive = Receive { from, tag, communicator, len, memory };
        self.start(Call::Receive(receive), What::Receive { from, tag, len }, memory.key, caller)
    }

    /// Which communicator numbers from `block` times [`COMPARED`] on are in use at this rank, in the eyes of the ranks for
    /// which `takes_part` holds: they agree on a number now, and all of their messages have arrived.
    pub fn communicators_taken(&mut self, block: usize, takes_part: impl Fn(u32) -> bool) -> Taken {
        // A message that has arrived keeps its communicator in use.
        self.poll_until_idle();
        let Self { communicators, driver, .. } = self;
        communicators.taken(block, |communicator, members| {
            members.iter().all(|rank| takes_part(rank.0)) && driver.rank.may_forget(communicator)
        })
    }

    /// Takes the numbers that are in use at any of the ranks: all other numbers of the block are free.
    pub fn communicators_agreed(&mut self, block: usize, all: &Taken) {
        let Self { communicators, driver, .. } = self;
        communicators.agreed(block, all, |communicator| driver.forget(communicator));
    }

    /// Defines a communicator of these ranks, under a number that all of them have agreed on.
    pub fn define(
        &mut self,
        number: usize,
        members: &Members,
    ) -> Result<(Communicator, Membership), BoxedError> {
        let communicator = u16::try_from(number).ok().and_then(Communicator::new);
        let communicator = communicator.ok_or(Error::TooManyCommunicators)?;
        self.driver.define(communicator, members, &mut Transports::of(&mut self.node, &mut self.net))?;
        Ok((communicator, self.communicators.take(communicator, members.clone())))
    }

    /// Makes a communicator one of strangers: a receive from any source is for whoever sends next, so that no peer's loss
    /// fails it. In others it might have waited for that peer only.
    pub fn welcome_strangers(&mut self, communicator: Communicator) -> Result<(), BoxedError> {
        let own = Members::new(&[self.driver.resources.me], self.ranks)?;
        self.driver.define(communicator, &own, &mut Transports::of(&mut self.node, &mut self.net))?;
        Ok(())
    }

    /// The ranks of this node.
    pub fn neighbours(&self) -> &[RankId] {
        &self.neighbours
    }

    /// Registers memory that collectives read.
    ///
    /// # Safety
    ///
    /// The bytes are valid for reads, and nobody writes to them, until they are deregistered.
    #[allow(unsafe_code, reason = "passes on what the caller promises about its memory")]
    #[inline]
    pub unsafe fn register(&mut self, bytes: *const [u8]) -> Memory {
        // SAFETY: as the caller promises.
        unsafe { self.driver.resources.registry.register(bytes.cast(), bytes.len()) }
    }

    /// Registers memory that collectives read and write.
    ///
    /// # Safety
    ///
    /// The bytes are valid for reads and writes, initialised, and not used by anybody else, until they are deregistered.
    #[allow(unsafe_code, reason = "passes on what the caller promises about its memory")]
    #[inline]
    pub unsafe fn register_mut(&mut self, bytes: *mut [u8]) -> Memory {
        // SAFETY: as the caller promises.
        unsafe { self.driver.resources.registry.register_mut(bytes.cast(), bytes.len()) }
    }

    /// Ends the registration of memory, which no open request uses.
    #[inline]
    pub fn deregister(&mut self, memory: Memory) {
        self.driver.resources.registry.release(memory.key);
    }

    /// The number of scratch bytes that a collective needs.
    pub fn scratch_len(&self, call: &Collective) -> Result<u64, BoxedError> {
        Ok(self.driver.rank.schedule(call)?.scratch_len())
    }

    /// Scratch memory of earlier collectives, for reuse.
    pub fn scratch(&mut self) -> &mut Vec<u8> {
        &mut self.scratch
    }

    /// Starts a collective, whose memory is registered. Hang reports call it `kind`.
    pub fn collective(
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
    pub fn end_collective(&mut self, request: Handle) {
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
            self.poll_until_idle();
        } else {
            self.poll_seldom_inlined();
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
    pub fn cancel(&mut self, request: Handle, site: CallSite) {
        let transports = &mut Transports::of(&mut self.node, &mut self.net);
        // The only usage error is to cancel a request that is not a receive, which changes nothing.
        let _ = self.driver.call(Call::Cancel(request), &[], transports, site);
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
        self.driver.resources.resolver.unreachable(RankId(rank)).into()
    }

    #[inline]
    fn is_complete(&self, request: Handle) -> bool {
        self.driver.rank.is_complete(request) && !self.is_zcopy_in_flight(self.pending.key(request))
    }

    /// Whether the adapter still reads the memory of a request, which is registered under `key`: the message is complete,
    /// but the buffer is not the application's yet (rule COMPLETES_LOCALLY).
    #[inline(always)]
    fn is_zcopy_in_flight(&self, key: u32) -> bool {
        let registry = &self.driver.resources.registry;
        registry.has_zcopy_in_flight() && registry.is_zcopy_in_flight(key)
    }

    /// The call site that started a request, which has not been ended.
    pub fn started_at(&self, request: Handle) -> CallSite {
        let location = self.pending.known(request).location;
        self.driver.call_site_of(request).unwrap_or(CallSite::Source(location))
    }

    /// Whether a request has not been ended.
    #[inline]
    pub fn is_open(&self, request: Handle) -> bool {
        self.driver.rank.status(request).is_ok()
    }

    /// Ends a request if it is complete: its memory is the application's again. `None` if it is not complete. `read` takes
    /// what the caller needs of its status.
    #[inline]
    pub fn finish<T>(
        &mut self,
        request: Handle,
        read: impl FnOnce(&Status) -> T,
    ) -> Option<Result<T, BoxedError>> {
        // The status is not copied as a whole, because that would wait for all of its parts to be stored.
        let ended = match self.driver.rank.status(request) {
            Ok(None) => return None,
            Ok(Some(_)) if self.is_zcopy_in_flight(self.pending.key(request)) => return None,
            Ok(Some(status @ Status { failure: None, .. })) => Ok(read(status)),
            Ok(Some(status)) => {
                let status = *status;
                self.failed(status).map(|status| read(&status))
            }
            // The request has ended before, and its position may belong to another one.
            Err(error) => return Some(Err(error.into())),
        };
        self.driver.release(request);
        self.driver.resources.registry.release(self.pending.end(request));
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
            let net = self.net.as_mut().and_then(|net| net.out().loss_of(rank).map(ToString::to_string));
            let shm = || self.node.out().loss_of(rank).map(ToString::to_string);
            Error::PeerLost { rank: rank.0, why: net.or_else(shm) }
        };
        self.driver.resources.errors.of(rank).unwrap_or_else(lost).into()
    }

    /// Whether a request is complete; lets messages move if it is not.
    pub fn test(&mut self, request: Handle) -> bool {
        if !self.is_complete(request) {
            self.poll_unblocked(None);
        }
        self.is_complete(request)
    }

    /// The first message that such a receive would get.
    pub fn probe(&mut self, communicator: Communicator, from: Source, tag: TagSelector) -> Option<Found> {
        let pattern = Pattern { source: from, tag, context: communicator.messages() };
        let arrived = self.driver.rank.probe(&pattern)?;
        if self.driver.recorder.is_some() {
            self.driver.record_probe(pattern, arrived);
        }
        Some(arrived.into())
    }

    /// Ends the part of this rank without its peers: they see it as lost once the process ends.
    pub fn abandon(&mut self) {
        self.end_trace(TraceEnd::Left);
    }

    /// Sends what is left, waits for all ranks, and tells them that this one has finished.
    pub fn finalize(&mut self, site: CallSite) -> Result<(), Error> {
        // After the barrier a rank need not poll any more: frames that wait for room there would wait for ever.
        self.drain(site);
        let barrier = Collective::barrier(Communicator::WORLD);
        let barrier = self.collective(barrier, None, Kind::Barrier, site)?;
        let result = self.wait(barrier, site, |_| ());
        self.drain(site);
        // A peer that this rank has given up may not have got its part of the barrier: that peer waits until it sees this rank
        // as lost.
        self.poll_until_idle();
        let unheard = SYSTEM.restores(Defect::LeavesUnheard);
        let result =
            result.and_then(|()| match self.driver.rank.lost_for(Source::Any, Communicator::WORLD) {
                Some(lost) if !unheard => Err(self.gone(lost)),
                _ => Ok(()),
            });
        if result.is_ok() {
            self.node.finish();
            self.net.iter_mut().for_each(AnyNetwork::finish);
            self.drain(site);
        }
        // Otherwise the barrier has failed, and ranks that still need this one must see it as lost.
        self.end_trace(if result.is_ok() { TraceEnd::Finalized } else { TraceEnd::Left });
        Ok(result?)
    }
}
