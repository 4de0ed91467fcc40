//! A transport between the ranks of one node, made of rings and direct copies.
//!
//! A process has one [`Node`], whose [`Address`] it publishes; a peer that wants to send to it connects. The caller
//! finds out which ranks share the node, and which address each has published.
//!
//! Packets, and the data of eager messages, go through the rings. Writes and reads copy directly between
//! the memory of the processes where the system permits that, which is tried when a peer is connected; where it
//! does not, they go through the rings in fragments, with the peer's help. Both processes copy large ones, if
//! the peer polls meanwhile: then it copies chunks of them instead of waiting. Atomics go through the rings always: the
//! process that has the word changes it, when it polls.
//!
//! **Promises.** In addition to those of the rings: no call but [`Node::sleep`] waits for a peer, except for one that is copying a chunk. That peer
//! needs no other process to finish the copy, and is given up when it is gone, or after ten seconds in which it was not
//! stopped.
//!
//! **Limits.** A direct copy asks the system, not the owner of the memory: keys are checked only where bytes
//! go through a ring. So a peer that was given up while its process lives can still write where it was once
//! permitted to. And a peer decides how many reads and atomics it asks for at once: each answer that waits for room is kept.

mod address;
mod atomics;
mod connect;
mod cooperative_copy;
mod direct;
mod frames;
mod helpfulness;
mod identity;
mod inbound;
mod introductions;
mod local_ranks;
mod loss;
mod memory;
mod outbound;
mod peer;
mod pending_atomics;
mod process;

pub use address::{Address, AddressError};
pub use connect::ConnectError;
pub use loss::Loss;
pub use memory::MemoryShortageError;
pub use outbound::Out;

use self::inbound::{Inbound, InboundState};
use self::introductions::Introductions;
use self::local_ranks::LocalRanks;
use self::memory::Budget;
use crate::announce::Listener;
use crate::doorbell;
use crate::segment::Word;
use crate::sync::{Ordering, Sound};
use crate::{Consumer, Layout, Segment, SegmentError, largest};
use carrousel_system::{Defect, Point, SYSTEM, System};
use carrousel_transport::{Arrival, HEAD_MAX, Handler, Name, RankId, Transport};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;
use thiserror::Error;

/// The options of a [`Node`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Words of 8 bytes of the ring from each peer, a power of two.
    pub capacity: usize,
    /// Whether memory is copied directly where the system permits it.
    pub direct: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { capacity: 32 << 10, direct: true }
    }
}

/// The transport between a process and its peers on the node.
#[derive(Debug)]
pub struct Node {
    /// Changes when a peer connects.
    announcements: Word,
    /// Says on which processor this process runs, plus 1.
    processor: Word,
    listener: Listener,
    /// The rings of the peers that have connected, in the order in which they did.
    inbound: Vec<Inbound>,
    /// The peers that have connected, where they are not known ahead.
    introductions: Option<Introductions>,
    out: Out,
}

/// How long [`Node::linger`] looks: twice the time in which a peer answers that waits for a message.
const LINGERS: Duration = Duration::from_micros(2);
/// The most looks in that time, as a clock that is simulated may stand.
const LOOKS_MAX: u32 = 1 << 10;
/// Looks for frames between two at the clock.
const LOOKS_PER_CLOCK: u32 = 8;
impl Node {
    /// The node of rank `me`, with a ring for each of the `ranks` of this node, of which `me` is one. A ring takes memory
    /// when its peer connects.
    ///
    /// # Errors
    /// When the settings are wrong, or there is too little memory.
    pub fn new(me: RankId, ranks: &[RankId], settings: Settings) -> Result<Self, NodeError> {
        let local_ranks = LocalRanks::new(me, ranks).ok_or(NodeError::NotOnNode(me))?;
        let together = local_ranks.count();
        Self::with(local_ranks, together, None, settings)
    }

    /// A node whose peers are not known ahead: up to `most` of them introduce themselves when they connect, by the text
    /// that [`Node::introduce_as`] has set there, and `name` says which rank that is, here: each process has ranks of
    /// its own for its peers. A peer without a name is not heard.
    ///
    /// # Errors
    /// As [`Node::new`].
    pub fn open(most: u32, name: Name, settings: Settings) -> Result<Self, NodeError> {
        Self::with(LocalRanks::open(most), 1, Some(Introductions::new(name)), settings)
    }

    /// `together` ranks take memory for rings at once.
    fn with(
        local_ranks: LocalRanks,
        together: usize,
        introductions: Option<Introductions>,
        settings: Settings,
    ) -> Result<Self, NodeError> {
        let layout = Layout::new(local_ranks.count(), settings.capacity).map_err(SegmentError::from)?;
        let budget = Budget::new(together, layout.first_bytes() as u64)?;
        let segment = Segment::create(layout)?;
        if settings.direct {
            direct::permit();
        }
        let (announcements, processor) = (segment.announcements(), segment.processor());
        let listener = Listener::new(local_ranks.count());
        let out = Out::new(local_ranks, segment, budget, settings.direct);
        Ok(Self { announcements, processor, listener, inbound: Vec::new(), introductions, out })
    }

    /// Sets what this process says of itself to peers that it connects to from now on.
    pub fn introduce_as(&mut self, text: &[u8]) {
        self.out.introduction = text.to_vec();
    }

    /// The address with which peers connect.
    pub fn address(&self) -> Address {
        let fd = self.out.segment.as_fd().as_raw_fd();
        Address {
            pid: SYSTEM.pid().as_raw_pid() as u32,
            fd,
            probe: &raw const direct::PROBE as u64,
            nonce: self.out.segment.nonce(),
            began: process::began(),
            namespace: process::namespace(),
            node: identity::node(),
        }
    }

    /// The most data, in bytes, that a packet can have.
    pub fn largest_eager(&self) -> u64 {
        largest(self.out.segment.layout().capacity()).saturating_sub(HEAD_MAX) as u64
    }

    /// Bytes of peers' transfers that this process has copied while it polled.
    pub fn helped(&self) -> u64 {
        self.out.helped
    }

    /// Tells all peers that the application of this process receives no message any more: peers that leave, too, need not wait
    /// until theirs are received. Packets are taken as before.
    pub fn leave(&self) {
        self.out.segment.leave();
    }

    /// Tells all connected peers that this process has sent all of its messages, so that its end is not a loss. Peers
    /// that are not connected cannot see this once the process has ended: it must not end while such a peer may wait
    /// for it.
    pub fn finish(&self) {
        self.out.segment.finish();
    }

    /// The position behind the last message that has arrived from each peer; takes none. With [`Node::not_taken`], the
    /// caller checks later that all of them were taken.
    pub fn arrived(&self) -> Vec<(RankId, u64)> {
        self.inbound.iter().map(|inbound| (inbound.from, inbound.before + inbound.ring.arrived())).collect()
    }

    /// Peers of which messages that had arrived, by [`Node::arrived`], have not been taken since.
    pub fn not_taken<'a>(&'a self, arrived: &'a [(RankId, u64)]) -> impl Iterator<Item = RankId> + 'a {
        let is_open =
            |inbound: &Inbound| inbound.state == InboundState::Open && !self.out.is_lost(inbound.local_rank);
        let pairs = self.inbound.iter().zip(arrived).filter(move |(inbound, _)| is_open(inbound));
        let is_left = |(inbound, (_, until)): &(&Inbound, &(RankId, u64))| {
            // Positions wrap around.
            ((inbound.before + inbound.ring.position()).wrapping_sub(*until) as i64) < 0
        };
        pairs.filter(is_left).map(|(inbound, _)| inbound.from)
    }

    /// Blocks until something may have arrived, at most for `timeout`, and takes it as [`Transport::poll`] does. Arrivals
    /// just before are noticed. It does not block while messages of this process wait for room, and where a peer, or the
    /// system, cannot ring the [doorbell](crate::doorbell).
    ///
    /// A peer's end, and that it has finished, are no arrivals: [`Node::check`] is to be called now and then all the same.
    pub fn sleep(&mut self, now: Duration, handler: &mut impl Handler<Out>, timeout: Duration) -> usize {
        if !self.out.rings_doorbells || self.out.is_waiting() {
            return self.poll_aside(now, handler);
        }
        let doorbell = self.out.segment.doorbell();
        doorbell::fall_asleep::<Sound>(&doorbell);
        let taken = if SYSTEM.restores(Defect::SleepsUnpolled) { 0 } else { self.poll_aside(now, handler) };
        let ringers = self.out.segment.ringers().load(Ordering::Relaxed);
        if taken == 0 && !self.out.is_waiting() && ringers >= self.inbound.len() as u64 {
            doorbell.wait_while(doorbell::SLEEPS, timeout);
        }
        doorbell::wake_up(&doorbell);
        if taken > 0 {
            return taken;
        }
        let taken = self.poll_aside(now, handler);
        SYSTEM.passes(Point::Slept { arrivals: taken > 0 });
        taken
    }

    /// [`Transport::poll`], of which one copy is enough where this process sleeps anyway.
    #[inline(never)]
    fn poll_aside(&mut self, now: Duration, handler: &mut impl Handler<Out>) -> usize {
        self.poll(now, handler)
    }

    /// Whether [`Node::sleep`] can block at all.
    pub fn can_sleep(&self) -> bool {
        self.out.rings_doorbells
    }

    /// Looks for frames of connected peers until there are some, for about two microseconds at most. Takes none. Returns
    /// whether there may be some.
    pub fn linger(&self) -> bool {
        if self.inbound.is_empty() {
            return false;
        }
        // What is left in a ring that is closed is never taken.
        let has_frames = |one: &Inbound| match one.state {
            InboundState::Open | InboundState::Ending => one.ring.has_next(),
            InboundState::Moved => true,
            InboundState::Closed => false,
        };
        let until = SYSTEM.now() + LINGERS;
        for look in 1..=LOOKS_MAX {
            if self.inbound.iter().any(has_frames) {
                return true;
            }
            std::hint::spin_loop();
            if look.is_multiple_of(LOOKS_PER_CLOCK) && SYSTEM.now() >= until {
                break;
            }
        }
        false
    }

    /// Says to the peers on which processor this thread runs, and returns whether a connected peer of another process was on
    /// it when it asked last: it does not run then, unless it was moved since. To be asked now and then while nothing arrives.
    pub fn shares_processor(&self) -> bool {
        let Some(processor) = SYSTEM.processor() else { return false };
        let said = processor as u64 + 1;
        // Written only when it changes: peers that read it then have it in their caches.
        if self.processor.load(Ordering::Relaxed) != said {
            self.processor.store(said, Ordering::Relaxed);
        }
        self.out.is_one_on(said)
    }

    /// Checks which of the peers that are connected or [watched](Out::watch) have ended. The messages that they had sent
    /// still arrive; then they are reported as lost, unless they had [finished](Node::finish). It makes a few system
    /// calls: to be called now and then while nothing arrives.
    pub fn check(&mut self) {
        let ended = self.out.poll_ended();
        // A peer that has ended may have connected and sent before. Otherwise polls see who connects: to look for all peers
        // that there may be takes thousands of instructions.
        if !ended.is_empty() || self.introductions.as_ref().is_some_and(Introductions::are_awaited) {
            self.accept_connections();
        }
        for local_rank in ended {
            match self.inbound.iter_mut().find(|inbound| inbound.local_rank == local_rank) {
                Some(inbound) if inbound.state == InboundState::Open => inbound.state = InboundState::Ending,
                // The end of a peer that has moved is found again, when its second ring is open.
                Some(inbound) if matches!(inbound.state, InboundState::Ending | InboundState::Moved) => {}
                // Operations that were posted to it since then cannot complete.
                _ => self.out.handle_exit(local_rank),
            }
        }
    }

    /// Begins to take frames from the peers that have connected since this was last called.
    #[cold]
    fn accept_connections(&mut self) {
        let Self { listener, inbound, introductions, out, .. } = self;
        for place in listener.new_peers(out.segment.announced()) {
            // A process does not connect to itself.
            if Some(place) == out.local_ranks.own {
                continue;
            }
            let ring = out.segment.ring(place).map(|memory| (Consumer::new(memory.clone()), memory));
            match (introductions.as_mut(), ring) {
                (None, Ok((Ok(ring), memory))) => {
                    inbound.push(Inbound::new((ring, memory, place), place, out))
                }
                (Some(introductions), Ok((Ok(ring), memory))) => {
                    introductions.await_one((ring, memory, place))
                }
                // Without its ring none of its messages can be received.
                (None, Ok((Err(_), _))) => out.lose(place),
                (None, Err(why)) => out.lose_because(place, why),
                // Nobody here knows whose messages these would be; whoever it is cannot be answered either.
                (Some(_), _) => {}
            }
        }
        let Some(introductions) = introductions else { return };
        for (ring, rank) in introductions.made() {
            // A second ring of a peer is one that no honest peer takes.
            let is_new = |local_rank: &usize| inbound.iter().all(|known| known.local_rank != *local_rank);
            if let Some(local_rank) = out.local_ranks.of(rank).filter(is_new) {
                inbound.push(Inbound::new(ring, local_rank, out));
            }
        }
    }
}

impl Out {
    /// Reports losses, then completions. In this order: a completion cannot say that its operation failed,
    /// so the handler has to know of the loss first. Completions of operations that are posted meanwhile are reported
    /// by the next call.
    #[cold]
    fn report<H: Handler<Self>>(&mut self, handler: &mut H) -> usize {
        let mut count = 0;
        while let Some(local_rank) = self.to_report.pop_front() {
            count += 1;
            let rank = self.local_ranks.ranks[local_rank];
            handler.arrival(Arrival::Lost(rank), &[] as &[u8], self);
        }
        for _ in 0..self.completions.len() {
            let Some(completion) = self.completions.pop_front() else { break };
            count += 1;
            handler.arrival(completion, &[] as &[u8], self);
        }
        count
    }
}

/// Why a node cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The rank is not among those of its own node.
    #[error("{0} is not among the ranks of its node")]
    NotOnNode(RankId),
    /// The segment cannot be created.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// The node has too little memory for the rings.
    #[error(transparent)]
    Memory(#[from] MemoryShortageError),
}

impl Transport for Node {
    type Out = Out;

    #[inline]
    fn out(&mut self) -> &mut Out {
        &mut self.out
    }

    /// Never: only waits within a call, for a peer that is copying, are bounded by time, and those read a clock themselves.
    fn next_poll(&self) -> Option<Duration> {
        None
    }

    // In a look that finds nothing, a call and the registers that it saves would be a third of all.
    #[inline(always)]
    fn poll(&mut self, _: Duration, handler: &mut impl Handler<Out>) -> usize {
        if self.listener.has_changed(&self.announcements) {
            self.accept_connections();
        }
        let Self { inbound, out, .. } = self;
        let mut done = out.flush(handler.regions());
        for one in inbound.iter_mut() {
            done +=
                if one.state == InboundState::Open { one.take(handler, out) } else { one.end(handler, out) };
        }
        if !out.to_report.is_empty() || !out.completions.is_empty() {
            done += out.report(handler);
        }
        done
    }
}
