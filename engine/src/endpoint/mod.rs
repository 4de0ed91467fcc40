//! The endpoint of a process: its rank's state machine, registered memory, and transports.

mod address_resolver;
mod agreement;
mod arrivals;
mod claims;
mod clock;
mod collectives;
mod communicators;
mod completions;
mod crowd;
mod driver;
mod first_error;
mod launcher;
mod leaving;
mod lingering;
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
mod refusals;
mod registry;
mod requests;
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
use self::crowd::Crowd;
use self::driver::Driver;
use self::first_error::FirstErrors;
use self::lingering::Lingering;
pub use self::names::LookUp;
use self::names::Names;
use self::pending::Pending;
use self::reductions::Reductions;
use self::registry::Registry;
use self::unexpected::UnexpectedBuffers;
use self::wait_strategy::{PollsTimer, StartsTimer};
use self::work_executor::{Completed, Resources};
use crate::backends::shm::{Node, NodeError, Settings};
use crate::backends::{AnyNetwork, Introduced};
use crate::error::BoxedError;
use crate::site::CallSite;
use carrousel_options::CheckUsage;
use carrousel_rank::{Arrived, Envelope, Job, Options, Rank, RankId};
use carrousel_system::{Defect, SYSTEM, System};
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
/// claims ask for a source or any, and for a tag without the bits that they ignore
/// ([`TagSelector`](carrousel_rank::TagSelector)). All tags and all masks are legal: what bits mean, and that some must not
/// be set, is the matter of who calls.
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
    /// Whether another rank waits for the processor of this one.
    crowd: Crowd,
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
    /// Which polls of a program that polls linger.
    lingering: Lingering,
    /// When such a program takes the slow path.
    slow_path_timer: PollsTimer,
    /// That of calls that start messages.
    starts_timer: StartsTimer,
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
    /// The endpoint of a rank. `net` is the transport to other nodes, or says why there can be none. Its
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
    /// `network` makes the transport to other nodes for peers that introduce themselves, or says why there can be none.
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

    /// The adapter by which this endpoint reaches ranks of other nodes, in words; none if it needs none, or why it has none.
    ///
    /// # Errors
    /// If there is none.
    pub fn network(&self) -> Result<Option<String>, &str> {
        match (&self.net, self.driver.resources.resolver.why_near()) {
            (Some(net), _) => Ok(Some(net.describe())),
            (None, Some(why)) => Err(why),
            (None, None) => Ok(None),
        }
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
            crowd: Crowd::new(crowded),
            can_block,
            neighbours,
            launcher: None,
            tag_text: launcher::tag_bits,
            check_usage: CheckUsage::Off,
            calls: 0,
            communicators: Communicators::default(),
            scratch: Vec::new(),
            lingering: Lingering::default(),
            slow_path_timer: PollsTimer::default(),
            starts_timer: StartsTimer::default(),
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

    /// Says how many ranks of this node share how many processors, which nobody else can say to an [open](Endpoint::open)
    /// endpoint. If there are fewer processors, [`Endpoint::progress`] offers this one to others while it finds nothing.
    pub fn share_processors(&mut self, ranks: usize, processors: usize) {
        self.crowd = Crowd::new(processors < ranks);
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

    /// The ranks of this node.
    pub fn neighbours(&self) -> &[RankId] {
        &self.neighbours
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
}
