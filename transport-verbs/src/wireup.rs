//! A thread that makes connections, so that a rank that computes can be connected to.
//!
//! It owns the datagram queue and one [`Handshake`] for each peer, makes queue pairs and connects them, and tells the rank
//! by [`WireupEvent`]; the rank looks at one word to know whether there are any. The thread sleeps unless a datagram comes,
//! a connection is asked for, the device has something to say, or an answer is overdue.

use crate::ibv::{Completions, Datagrams, Device, DeviceEvent, QueuePair, ReceiveQueue, Shape};
use crate::wireup_message::{NAME_MAX, WireupMessage};
use crate::{Address, Loss, VerbsError, ready};
use carrousel_connection::{Handshake, Progress, Rules};
use carrousel_transport::{Name, RankId};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two times at which a peer is told again: many times what an answer takes.
const TICK: Duration = Duration::from_millis(100);

/// An event of the thread, for the rank.
#[derive(Debug)]
pub(crate) enum WireupEvent {
    /// A queue pair is being connected to this peer, and maybe a second one: packets may come.
    Made { rank: RankId, pair: Arc<QueuePair>, control: Option<Arc<QueuePair>>, window: u16 },
    /// Packets may be sent to it.
    Up(RankId),
    /// There is no connection to it, and there will be none.
    Failed(RankId, Loss),
    /// The queue pair of this number has failed, and may say no more.
    PairFailed(u32),
    /// The queue pair of this number is at its end, as its peer has asked for what it does not do.
    PairRefuses(u32),
    /// The device has failed.
    DeviceFailed(String),
}

/// A request of the rank, for the thread.
enum WireupRequest {
    Connect(RankId, Address),
    /// A packet of this peer has come before it was known to be up.
    Received(RankId),
    /// What this process says of itself from now on.
    IntroduceAs(Vec<u8>),
    Stop,
}

/// What all queue pairs of a rank have in common.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub(crate) device: Arc<Device>,
    pub(crate) completions: Arc<Completions>,
    pub(crate) receives: Arc<ReceiveQueue>,
    pub(crate) shape: Shape,
    pub(crate) window: u16,
    /// The service level of a second queue pair, if there is to be one.
    pub(crate) second: Option<u8>,
    /// That of datagrams.
    pub(crate) control_service_level: u8,
    /// How long a peer may take to answer.
    pub(crate) patience: Duration,
}

/// The rank's side of the thread.
#[derive(Debug)]
pub(crate) struct Wireup {
    requests: Sender<WireupRequest>,
    events: Receiver<WireupEvent>,
    count: Arc<AtomicUsize>,
    seen: usize,
    wake: Arc<OwnedFd>,
    /// Readable when there are events.
    bell: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    address: Address,
}

impl Wireup {
    /// Starts the thread. `key` is that of its address, and `name` says which ranks peers are.
    pub(crate) fn start(common: Common, key: u64, name: Name) -> Result<Self, VerbsError> {
        let system = |what: &'static str| move |why: std::io::Error| VerbsError::System { what, why };
        let datagrams = Datagrams::new(&common.device, key, common.control_service_level)?;
        let address = datagrams.address();
        let bell = || -> Result<Arc<OwnedFd>, VerbsError> {
            let fd = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC);
            Ok(Arc::new(fd.map_err(|why| system("waking a thread")(why.into()))?))
        };
        let (wake, bell) = (bell()?, bell()?);
        let (requests, requested) = channel();
        let (sender, events) = channel();
        let count = Arc::new(AtomicUsize::new(0));
        let events_out = EventSender { sender, count: Arc::clone(&count), bell: Arc::clone(&bell) };
        let mut maker = WireupThread {
            common,
            datagrams,
            name,
            introduction: Vec::new(),
            peers: BTreeMap::new(),
            gone: BTreeSet::new(),
            events: events_out,
            random: key,
        };
        let woken = Arc::clone(&wake);
        let work = move || {
            if let Err(error) = maker.run(&requested, &woken) {
                maker.events.send(WireupEvent::DeviceFailed(error.to_string()));
            }
        };
        let thread = std::thread::Builder::new().name("carrousel-wireup".to_owned()).spawn(work);
        let thread = Some(thread.map_err(system("a thread that makes connections"))?);
        Ok(Self { requests, events, count, seen: 0, wake, bell, thread, address })
    }

    /// Where peers reach it.
    pub(crate) fn address(&self) -> Address {
        self.address
    }

    /// Asks for a connection; [`WireupEvent`]s follow.
    pub(crate) fn connect(&self, rank: RankId, address: Address) {
        self.request(WireupRequest::Connect(rank, address));
    }

    /// A packet of a peer has come that is not known to be up.
    #[cold]
    pub(crate) fn received(&self, rank: RankId) {
        self.request(WireupRequest::Received(rank));
    }

    /// Sets what this process says of itself to peers from now on.
    pub(crate) fn introduce_as(&self, text: &[u8]) {
        self.request(WireupRequest::IntroduceAs(text.to_vec()));
    }

    fn request(&self, request: WireupRequest) {
        // A thread that has ended has said why.
        let _ = self.requests.send(request);
        ring(&self.wake);
    }

    /// Readable when there are events.
    pub(crate) fn bell(&self) -> &OwnedFd {
        &self.bell
    }

    /// The bell was heard.
    pub(crate) fn heard(&self) {
        silence(&self.bell);
    }

    /// The next event, if there is one. One load of a word if there is none.
    #[inline]
    pub(crate) fn next_event(&mut self) -> Option<WireupEvent> {
        if self.count.load(Ordering::Acquire) == self.seen {
            return None;
        }
        self.seen = self.seen.wrapping_add(1);
        self.events.recv().ok()
    }
}

impl Drop for Wireup {
    fn drop(&mut self) {
        self.request(WireupRequest::Stop);
        if let Some(thread) = self.thread.take() {
            // That it has panicked was printed.
            let _ = thread.join();
        }
    }
}

fn ring(bell: &OwnedFd) {
    // It can only fail when it rings already.
    let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
}

fn silence(bell: &OwnedFd) {
    // It can only fail when it does not ring.
    let _ = rustix::io::read(bell, &mut [0; 8]);
}

struct EventSender {
    sender: Sender<WireupEvent>,
    count: Arc<AtomicUsize>,
    bell: Arc<OwnedFd>,
}

impl EventSender {
    fn send(&self, event: WireupEvent) {
        // The rank may have gone.
        if self.sender.send(event).is_ok() {
            // Behind the event: a rank that sees the count finds it.
            self.count.fetch_add(1, Ordering::Release);
            ring(&self.bell);
        }
    }
}

/// One connection that is being made, or was: a peer that was not answered asks again.
struct PendingConnection {
    handshake: Handshake<Rules>,
    pair: Arc<QueuePair>,
    control: Option<Arc<QueuePair>>,
    address: Address,
    due: Instant,
}

struct WireupThread {
    common: Common,
    datagrams: Datagrams,
    /// Says which ranks peers are.
    name: Name,
    /// What this process says of itself.
    introduction: Vec<u8>,
    peers: BTreeMap<RankId, PendingConnection>,
    /// Peers that have not answered, or for which the system has refused what a connection needs. They are lost: what they
    /// tell now comes too late. A new queue pair would be of no use to them, as they may be connected to the one that has
    /// gone (GIVEN_UP_STAYS).
    gone: BTreeSet<RankId>,
    events: EventSender,
    random: u64,
}

impl WireupThread {
    fn run(&mut self, requested: &Receiver<WireupRequest>, wake: &OwnedFd) -> Result<(), VerbsError> {
        // Whether something has come that was not taken, and is not announced again.
        let mut has_more = false;
        loop {
            let due = self.peers.values().filter(|one| !one.handshake.is_up()).map(|one| one.due).min();
            let until = if has_more { Some(Instant::now()) } else { due };
            let ready = self.sleep(wake, until)?;
            if ready[0] {
                silence(wake);
            }
            for request in requested.try_iter() {
                match request {
                    WireupRequest::Connect(rank, address) => self.begin(rank, address),
                    WireupRequest::Received(rank) => {
                        if let Some(making) = self.peers.get_mut(&rank) {
                            let progress = making.handshake.received();
                            self.proceed(rank, progress, None);
                        }
                    }
                    WireupRequest::IntroduceAs(text) => self.introduction = text,
                    WireupRequest::Stop => return Ok(()),
                }
            }
            if ready[1] {
                self.datagrams.noticed()?;
            }
            let mut messages = Vec::new();
            has_more = self.datagrams.take(|datagram| messages.extend(WireupMessage::read(datagram)))?;
            for message in messages {
                self.receive(&message);
            }
            if ready[2] {
                self.listen();
            }
            self.tick();
        }
    }

    /// Waits until one of its sources has something, and says which.
    fn sleep(&self, wake: &OwnedFd, until: Option<Instant>) -> Result<[bool; 3], VerbsError> {
        let rest = until.map(|until| until.saturating_duration_since(Instant::now()));
        let fds = [wake.as_fd(), self.datagrams.readable(), self.common.device.events()];
        let failed = |why: Errno| VerbsError::System { what: "waiting for datagrams", why: why.into() };
        ready::wait(fds, rest).map_err(failed)
    }

    fn ticks(&self) -> u16 {
        u16::try_from(self.common.patience.as_millis() / TICK.as_millis()).unwrap_or(u16::MAX).max(1)
    }

    /// Makes the queue pairs for a connection, and has its handshake begin with what it says. If there can be none, only
    /// this peer is lost.
    fn make(
        &mut self,
        rank: RankId,
        address: Address,
        handshake: Handshake<Rules>,
    ) -> Option<&mut PendingConnection> {
        match self.make_pairs() {
            Ok((pair, control)) => {
                let making =
                    PendingConnection { handshake, pair, control, address, due: Instant::now() + TICK };
                Some(self.peers.entry(rank).insert_entry(making).into_mut())
            }
            Err(error) => {
                self.refuse(rank, &error);
                None
            }
        }
    }

    /// A queue pair, and a second one for packets without data if these have a service level of their own.
    fn make_pairs(&mut self) -> Result<(Arc<QueuePair>, Option<Arc<QueuePair>>), VerbsError> {
        let Common { device, completions, receives, shape, second, .. } = &self.common;
        let mut make = |service_level| {
            // Any number will do; an old packet of another connection is less likely to fit when they differ.
            self.random = self.random.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
            let (shape, first) = (Shape { service_level, ..*shape }, (self.random >> 40) as u32);
            QueuePair::new(device, completions, receives, shape, first).map(Arc::new)
        };
        Ok((make(shape.service_level)?, second.map(make).transpose()?))
    }

    /// The rank wants a connection.
    fn begin(&mut self, rank: RankId, address: Address) {
        if self.peers.contains_key(&rank) {
            return;
        }
        let (handshake, progress) = Handshake::begin(self.ticks());
        if self.make(rank, address, handshake).is_some() {
            self.proceed(rank, progress, None);
        }
    }

    /// The connection to this peer cannot be made; others may have theirs.
    fn refuse(&mut self, rank: RankId, error: &VerbsError) {
        self.give_up(rank, Loss::System(error.to_string()));
    }

    /// There is no connection to this peer, and there will be none.
    fn give_up(&mut self, rank: RankId, loss: Loss) {
        self.events.send(WireupEvent::Failed(rank, loss));
        self.peers.remove(&rank);
        self.gone.insert(rank);
    }

    /// A message of a peer.
    fn receive(&mut self, message: &WireupMessage) {
        if message.to != self.datagrams.address().key {
            return;
        }
        let Some(rank) = (self.name)(&message.from).filter(|rank| !self.gone.contains(rank)) else { return };
        let making = if self.peers.contains_key(&rank) {
            self.peers.get_mut(&rank)
        } else {
            self.make(rank, message.address, Handshake::asked(self.ticks()))
        };
        if let Some(making) = making {
            let progress = making.handshake.told(message.hello);
            self.proceed(rank, progress, Some(message));
        }
    }

    /// Carries out what a handshake says.
    fn proceed(&mut self, rank: RankId, progress: Progress, message: Option<&WireupMessage>) {
        let Some(making) = self.peers.get_mut(&rank) else { return };
        let window = self.common.window;
        if let (true, Some(message)) = (progress.connect, message) {
            // Before the peer can know of it: the rank knows the queue pair when its packets come.
            let pair = Arc::clone(&making.pair);
            // There is a second one only if the peer has one, too.
            let second = making.control.take().zip(message.control);
            making.control = second.as_ref().map(|(control, _)| Arc::clone(control));
            let control = making.control.clone();
            self.events.send(WireupEvent::Made { rank, pair, control, window: window.min(message.window) });
            let connected = making.pair.connect(&message.ends);
            let connected =
                connected.and_then(|()| second.map_or(Ok(()), |(pair, ends)| pair.connect(&ends)));
            if let Err(error) = connected {
                return self.refuse(rank, &error);
            }
        }
        if progress.up {
            self.events.send(WireupEvent::Up(rank));
        }
        if progress.give_up {
            return self.give_up(rank, Loss::NoAnswer);
        }
        if let Some(hello) = progress.tell {
            let address = self.datagrams.address();
            let (ends, control) = (making.pair.ends(), making.control.as_ref().map(|pair| pair.ends()));
            let (from, to) = (self.introduction.clone(), making.address);
            let message = WireupMessage { from, to: to.key, address, ends, control, window, hello };
            match message.to_bytes() {
                // What cannot be sent is lost, like any other.
                Some(bytes) => _ = self.datagrams.send(&to, &bytes),
                None => self.give_up(rank, Loss::NameTooLong { bytes: message.from.len(), most: NAME_MAX }),
            }
        }
    }

    /// Repeats messages that were not answered.
    fn tick(&mut self) {
        let now = Instant::now();
        let due: Vec<RankId> = self
            .peers
            .iter()
            .filter(|(_, one)| !one.handshake.is_up() && one.due <= now)
            .map(|(rank, _)| *rank)
            .collect();
        for rank in due {
            let Some(making) = self.peers.get_mut(&rank) else { continue };
            making.due = now + TICK;
            let progress = making.handshake.tick();
            self.proceed(rank, progress, None);
        }
    }

    /// An event of the device.
    fn listen(&mut self) {
        let device = &self.common.device;
        match device.event() {
            Some(DeviceEvent::Fatal(why)) => {
                self.events.send(WireupEvent::DeviceFailed(format!("{}: {why}", device.name())))
            }
            Some(DeviceEvent::Pair(number)) => self.events.send(WireupEvent::PairFailed(number)),
            Some(DeviceEvent::PairRefuses(number)) => self.events.send(WireupEvent::PairRefuses(number)),
            Some(DeviceEvent::Other) | None => {}
        }
    }
}
