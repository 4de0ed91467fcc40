//! The half that takes operations, and what it knows of peers.

use crate::control::Control;
use crate::ibv::{BounceBuffers, Completion, Device, Failure, Limits, Sge};
use crate::peer::{Peer, PeerState, Transfer, TransferKind, Waiting, ZcopySend};
use crate::rail::{Rail, posted_to};
use crate::shared::Shared;
use crate::wireup::{Wireup, WireupEvent};
use crate::{Address, Loss, VerbsError};
use carrousel_connection::Credits;
use carrousel_transport::{
    Arrival, Atomic, AtomicsUnsupportedError, Direction, Head, Memory, Outbound, RankId, Read, Regions,
    Write, ZcopySource,
};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The half of a [`Verbs`](super::Verbs) that takes operations.
#[derive(Debug)]
pub struct Out {
    /// By rank.
    pub(crate) peers: Vec<Option<Box<Peer>>>,
    /// The peers, by the numbers of their queue pairs.
    by_number: HashMap<u32, RankId, ahash::RandomState>,
    pub(crate) wireup: Wireup,
    pub(crate) shared: Shared,
    /// Lost, and not reported.
    pub(crate) to_report: VecDeque<RankId>,
    /// Completions that have not been reported.
    pub(crate) done: VecDeque<Arrival>,
    /// Names of zero-copy sends that are done, and have not been reported.
    zcopy_done: VecDeque<u32>,
    /// Peers that something waits for.
    active: VecDeque<RankId>,
    pub(crate) device: Arc<Device>,
    /// Why nothing goes any more, if that is so.
    failed: Option<Loss>,
}

/// The peer of this rank, if it is known.
#[inline]
fn peer_of(peers: &mut [Option<Box<Peer>>], rank: RankId) -> Option<&mut Peer> {
    peers.get_mut(rank.0 as usize)?.as_deref_mut()
}

impl Out {
    pub(crate) fn new(
        device: &Arc<Device>,
        ranks: u32,
        wireup: Wireup,
        bounce_buffers: BounceBuffers,
        room: u32,
    ) -> Self {
        let free = (0..bounce_buffers.count()).collect();
        let Limits { message, .. } = device.limits;
        Self {
            peers: (0..ranks).map(|_| None).collect(),
            by_number: HashMap::default(),
            wireup,
            shared: Shared { bounce_buffers, free, outstanding: 0, room, message, results: None },
            to_report: VecDeque::new(),
            done: VecDeque::new(),
            zcopy_done: VecDeque::new(),
            active: VecDeque::new(),
            device: Arc::clone(device),
            failed: None,
        }
    }

    /// Asks for a connection to `rank`, unless there is one, or one was asked for. What is posted to it before
    /// it is there waits. A peer that does not answer is lost.
    pub fn connect(&mut self, rank: RankId, address: &Address) {
        let Some(place @ None) = self.peers.get_mut(rank.0 as usize) else { return };
        *place = Some(Box::default());
        match self.failed.clone() {
            None => self.wireup.connect(rank, *address),
            Some(loss) => self.lose_unheard(rank, loss),
        }
    }

    /// Whether a connection to `rank` was asked for, is there, or is lost.
    #[inline]
    pub fn is_known(&self, rank: RankId) -> bool {
        self.peer(rank).is_some()
    }

    /// Why `rank` is lost, if it is.
    pub fn loss_of(&self, rank: RankId) -> Option<&Loss> {
        match &self.peer(rank)?.state {
            PeerState::Lost(why) => Some(why),
            _ => None,
        }
    }

    /// Gives a peer up, as if its connection had broken: it is reported as lost, and nothing of it is
    /// acted upon any more.
    pub fn abandon(&mut self, rank: RankId) {
        self.give_up(rank, Loss::Abandoned);
    }

    /// The launcher says that a peer has ended: it is reported as lost.
    pub fn has_ended(&mut self, rank: RankId) {
        self.give_up(rank, Loss::Ended);
    }

    fn give_up(&mut self, rank: RankId, loss: Loss) {
        if let Some(place) = self.peers.get_mut(rank.0 as usize) {
            place.get_or_insert_default();
        }
        self.lose(rank, loss);
    }

    /// As [`Outbound::send`], zero-copy: the adapter knows `data` under the key of `source`, and reads it in place until [`Out::zcopy_done`] gives `name` back. False if they were copied instead, as the packet has to
    /// wait, or go nowhere, as the peer is lost: then they may be changed at once.
    pub fn send_zcopy(&mut self, to: RankId, head: &Head, data: &[u8], source: ZcopySource) -> bool {
        let Some((peer, shared)) = self.with_shared(to) else { return false };
        let sge = Sge { address: data.as_ptr().addr() as u64, len: data.len() as u32, key: source.key };
        let lent = if peer.waiting.is_empty() {
            peer.send_zcopy(shared, head, ZcopySend { data: sge, name: source.name })
        } else {
            Ok(false)
        };
        match lent {
            Ok(true) => return true,
            Ok(false) => self.send(to, head, data),
            Err(error) => self.refused(to, &error),
        }
        false
    }

    /// The name of a zero-copy send that is done: the adapter has read its data, or never will.
    #[inline]
    pub fn zcopy_done(&mut self) -> Option<u32> {
        self.zcopy_done.pop_front()
    }

    /// Whether something waits for room, for credits, or for a connection, and its peer may need it.
    pub fn is_waiting(&self) -> bool {
        let is_waiting = |peer: &Peer| !peer.waiting.is_empty() && !peer.needs_nothing();
        self.active.iter().any(|rank| self.peer(*rank).is_some_and(is_waiting))
    }

    /// The peers that have not acknowledged all that was posted, and may need it; asks them to. A peer that needs nothing may
    /// look no more: then what it has no receive buffer for, as there are more ranks that say goodbye to it, stays posted.
    pub(crate) fn drain(&mut self) -> Vec<RankId> {
        let mut busy = Vec::new();
        for rank in self.ranks() {
            let Some((peer, shared)) = self.with_shared(rank) else { continue };
            if peer.needs_nothing() {
                continue;
            }
            if let Err(error) = peer.drain(shared) {
                self.refused(rank, &error);
            }
            busy.extend(self.peer(rank).is_some_and(Peer::is_busy).then_some(rank));
        }
        busy
    }

    /// Asks each peer for an acknowledgement, unless one is expected: a peer that is gone is not noticed otherwise.
    pub(crate) fn probe(&mut self) {
        for rank in self.ranks() {
            let Some((peer, shared)) = self.with_shared(rank) else { continue };
            if !peer.is_finished()
                && !peer.expects()
                && let Err(error) = peer.probe(shared)
            {
                self.refused(rank, &error);
            }
        }
    }

    /// Says a word to all connected peers; by both rails, where there are two, if all that was sent has to be before it.
    pub(crate) fn say(&mut self, word: u16, by_both: bool) {
        for rank in self.ranks() {
            let is_there = |peer: &&Peer| matches!(peer.state, PeerState::Made | PeerState::Up);
            let Some(peer) = self.peer(rank).filter(is_there) else { continue };
            let by_both = by_both && peer.control.is_some();
            self.wait(rank, Waiting::Word { word, control: false });
            if by_both {
                self.wait(rank, Waiting::Word { word, control: true });
            }
        }
        self.flush();
    }

    fn ranks(&self) -> Vec<RankId> {
        (0..).map(RankId).zip(&self.peers).filter(|(_, peer)| peer.is_some()).map(|(rank, _)| rank).collect()
    }

    #[inline]
    fn peer(&self, rank: RankId) -> Option<&Peer> {
        self.peers.get(rank.0 as usize)?.as_deref()
    }

    #[inline]
    fn with_shared(&mut self, rank: RankId) -> Option<(&mut Peer, &mut Shared)> {
        Some((peer_of(&mut self.peers, rank)?, &mut self.shared))
    }

    #[inline]
    fn peer_mut(&mut self, rank: RankId) -> Option<&mut Peer> {
        self.with_shared(rank).map(|(peer, _)| peer)
    }

    /// Takes the events of the thread that makes connections. Returns their number.
    #[inline]
    pub(crate) fn poll_wireup(&mut self) -> usize {
        let mut count = 0;
        while let Some(event) = self.wireup.next_event() {
            count += 1;
            self.wireup_event(event);
        }
        count
    }

    #[cold]
    fn wireup_event(&mut self, event: WireupEvent) {
        match event {
            WireupEvent::Made { rank, pair, control, window } => {
                let Some(place) = self.peers.get_mut(rank.0 as usize) else { return };
                let peer = place.get_or_insert_default();
                if matches!(peer.state, PeerState::Lost(_)) {
                    // It was given up before. The peer notices by this, as it would if there were no connection: if it cannot
                    // be ended, or is ended before it begins, then there is none.
                    for pair in [Some(pair), control].into_iter().flatten() {
                        let _ = pair.fail();
                    }
                } else if matches!(peer.state, PeerState::Asked) {
                    self.by_number
                        .extend([&pair].into_iter().chain(&control).map(|pair| (pair.number(), rank)));
                    peer.credits = Credits::new(window);
                    peer.data = Some(Rail::new(pair, rank, false));
                    let second = |pair| Box::new(Control::new(Rail::new(pair, rank, true), window));
                    peer.control = control.map(second);
                    peer.state = PeerState::Made;
                }
            }
            WireupEvent::Up(rank) => self.up(rank),
            // Also without a request of this rank: a later request is not answered.
            WireupEvent::Failed(rank, loss) => self.give_up(rank, loss),
            WireupEvent::PairFailed(number) => {
                if let Some(rank) = self.by_number.get(&number) {
                    self.lose_unheard(*rank, Loss::Failed("its queue pair has failed"));
                }
            }
            WireupEvent::PairRefuses(number) => {
                if let Some(rank) = self.by_number.get(&number) {
                    self.lose(*rank, Loss::Nonsense("a request that its queue pair refuses".to_owned()));
                }
            }
            WireupEvent::DeviceFailed(why) => self.fail(&Loss::Device(why)),
        }
    }

    /// Whether the device has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// The device has failed: all peers are lost.
    #[cold]
    pub(crate) fn fail(&mut self, loss: &Loss) {
        // Of two reasons the first one is reported, for later peers, too.
        self.failed.get_or_insert_with(|| loss.clone());
        for rank in self.ranks() {
            self.lose_unheard(rank, loss.clone());
        }
    }

    /// What was asked of the device has failed, so all peers are lost.
    #[cold]
    pub(crate) fn device_failed(&mut self, error: &VerbsError) {
        self.fail(&Loss::Device(error.to_string()));
    }

    /// Packets may be sent.
    fn up(&mut self, rank: RankId) {
        if let Some(peer) = self.peer_mut(rank)
            && matches!(peer.state, PeerState::Made)
        {
            peer.state = PeerState::Up;
        }
    }

    /// The peer whose queue pair has this number, if it is not lost.
    #[inline]
    pub(crate) fn sender(&mut self, number: u32) -> Option<RankId> {
        let rank = match self.by_number.get(&number) {
            Some(rank) => *rank,
            None => {
                // It sends as soon as it can, and the event may not have been looked at.
                self.poll_wireup();
                *self.by_number.get(&number)?
            }
        };
        match self.peer(rank)?.state {
            PeerState::Up => {}
            // A peer that sends is connected. The message that says so may never come, and need not be waited for.
            PeerState::Made => {
                self.up(rank);
                self.wireup.received(rank);
            }
            PeerState::Asked | PeerState::Lost(_) => return None,
        }
        Some(rank)
    }

    /// A frame of a peer has brought credits. An error if no honest peer has so many: then it is to be lost.
    #[inline]
    pub(crate) fn credited(&mut self, rank: RankId, credits: u16) -> Result<(), Loss> {
        let Some(peer) = self.peer_mut(rank) else { return Ok(()) };
        peer.credits.given(credits).map_err(|error| Loss::Nonsense(error.to_string()))
    }

    /// A packet of a peer is out of its receive buffer.
    #[inline]
    pub(crate) fn took(&mut self, rank: RankId) {
        let Some(peer) = self.peer_mut(rank) else { return };
        peer.credits.took();
        if peer.credits.owes() {
            self.list(rank);
        }
    }

    /// Whether it is the turn of a packet that has come by one of two rails. If not, it is stored.
    #[cold]
    pub(crate) fn is_next(
        &mut self,
        from: RankId,
        direction: Direction,
        number: u16,
        packet: &[u8],
    ) -> Result<bool, Loss> {
        match self.peer_mut(from).and_then(|peer| peer.control.as_mut()) {
            Some(control) => control.is_next(direction, number, packet),
            None => Err(Loss::Nonsense(format!("packet {number}, where there is no second queue pair"))),
        }
    }

    /// A packet of the direction that was kept, and whose turn has come.
    pub(crate) fn ready(&mut self, from: RankId, direction: Direction) -> Option<Vec<u8>> {
        let peer = self.peer_mut(from).filter(|peer| matches!(peer.state, PeerState::Up))?;
        peer.control.as_mut()?.ready(direction)
    }

    /// Whether the application of `rank` may still receive messages, see [`Network::leave`](carrousel_transport::Network::leave).
    pub fn receives(&self, rank: RankId) -> bool {
        let is_over =
            |peer: &Peer| peer.leaves || peer.is_finished() || matches!(peer.state, PeerState::Lost(_));
        !self.peer(rank).is_some_and(is_over)
    }

    /// A peer has said that its application receives no message any more.
    pub(crate) fn leaves(&mut self, rank: RankId) {
        if let Some(peer) = self.peer_mut(rank) {
            peer.leaves = true;
        }
    }

    /// A peer has said that it has sent all of its messages by one of the rails.
    pub(crate) fn finished(&mut self, rank: RankId) {
        if let Some(peer) = self.peer_mut(rank) {
            peer.goodbyes = peer.goodbyes.saturating_add(1);
        }
    }

    pub(crate) fn list(&mut self, rank: RankId) {
        if let Some(peer) = self.peer_mut(rank)
            && !std::mem::replace(&mut peer.listed, true)
        {
            self.active.push_back(rank);
        }
    }

    pub(crate) fn wait(&mut self, rank: RankId, waiting: Waiting) {
        if let Some(peer) = self.peer_mut(rank) {
            peer.waiting.push_back(waiting);
            self.list(rank);
        }
    }

    /// Takes the completion of something that was posted.
    pub(crate) fn complete(&mut self, completion: &Completion) {
        let id = completion.id();
        let (rank, control) = posted_to(id);
        if let Some(failure) = completion.failure() {
            self.failed(rank, failure);
        }
        let Self { peers, shared, done, zcopy_done, .. } = self;
        let Some(peer) = peer_of(peers, rank) else { return };
        peer.completed(control, id as u32, |posted| shared.over(posted, done, zcopy_done));
        let is_lost = matches!(peer.state, PeerState::Lost(_));
        if shared.results.is_some() {
            self.end_swaps(rank);
        }
        if is_lost {
            self.settle(rank);
        }
    }

    /// A work request to a peer has failed, which loses it. Those behind it fail, too, and say nothing new.
    #[cold]
    fn failed(&mut self, rank: RankId, failure: Failure) {
        if self.loss_of(rank).is_some() {
            return;
        }
        // With its port down an adapter may wait for an acknowledgement, or say that it cannot send.
        let loss = match (self.device.fault(), failure) {
            (Some(why), _) => Loss::Device(why),
            (None, Failure::Unacknowledged) => Loss::Silent,
            (None, Failure::Flushed) => Loss::Failed("its connection has ended"),
            (None, Failure::Other(why)) => Loss::Failed(why),
        };
        self.lose(rank, loss);
    }

    /// The system does not take what is posted to a peer.
    #[cold]
    pub(crate) fn refused(&mut self, rank: RankId, error: &VerbsError) {
        self.lose(rank, Loss::System(error.to_string()));
    }

    /// Forgets a peer. What is posted completes when the adapter has let go of it, and what waits does after that. Whoever
    /// is told of the loss takes the memory of transfers back: if there are any, that has to wait, too.
    pub(crate) fn lose(&mut self, rank: RankId, loss: Loss) {
        self.forget(rank, loss, true);
    }

    /// As [`Out::lose`], where the adapter may not say any more that it has let go of anything: that is not waited for.
    fn lose_unheard(&mut self, rank: RankId, loss: Loss) {
        self.forget(rank, loss, false);
    }

    fn forget(&mut self, rank: RankId, loss: Loss, mut is_heard: bool) {
        let Some((peer, shared)) = self.with_shared(rank) else { return };
        let is_new = !matches!(peer.state, PeerState::Lost(_));
        if is_new {
            // A peer that has sent everything, and is owed nothing, has ended as it should.
            peer.untold = peer.owes();
            peer.ended = peer.is_finished() && !peer.untold;
            peer.rails_mut().for_each(|rail| is_heard &= rail.fail());
            peer.state = PeerState::Lost(loss);
            let mut failed = Vec::new();
            peer.rails_mut().for_each(|rail| failed.extend(rail.give_up_transfers(shared)));
            peer.failed = failed;
            if !peer.untold && !peer.ended {
                self.to_report.push_back(rank);
            }
        }
        if !is_heard {
            self.take_back(rank);
        }
        if is_new || !is_heard {
            self.settle(rank);
        }
    }

    /// Takes back all that was posted to a lost peer, as the adapter may say no more of it: a connection that has failed
    /// does nothing any more.
    fn take_back(&mut self, rank: RankId) {
        let Self { peers, shared, done, zcopy_done, .. } = self;
        let Some(peer) = peer_of(peers, rank) else { return };
        peer.rails_mut().for_each(|rail| rail.take_back(|posted| shared.over(posted, done, zcopy_done)));
    }

    /// Of a lost peer: ends what is left of it if nothing is posted any more.
    #[cold]
    fn settle(&mut self, rank: RankId) {
        let Self { peers, shared, done, zcopy_done, to_report, .. } = self;
        let Some(peer) = peer_of(peers, rank) else { return };
        for rail in peer.rails_mut() {
            if !rail.hears_of_rest(shared) {
                rail.take_back(|posted| shared.over(posted, done, zcopy_done));
            }
        }
        if peer.settle(done) {
            to_report.push_back(rank);
        }
    }

    /// Posts what waits, as far as there is room. Returns how much went.
    #[inline]
    pub(crate) fn flush(&mut self) -> usize {
        if self.active.is_empty() { 0 } else { self.flush_all() }
    }

    fn flush_all(&mut self) -> usize {
        let mut went = 0;
        for _ in 0..self.active.len() {
            let Some(rank) = self.active.pop_front() else { break };
            let Some((peer, shared)) = self.with_shared(rank) else { continue };
            peer.listed = false;
            match peer.flush(shared) {
                Ok(count) => went += count,
                Err(error) => self.refused(rank, &error),
            }
            if self.peer(rank).is_some_and(Peer::has_more) {
                self.list(rank);
            }
        }
        went
    }

    fn transfer(&mut self, rank: RankId, transfer: Transfer) {
        let arrival = transfer.arrival();
        let Self { peers, shared, done, to_report, .. } = self;
        let Some(peer) = peer_of(peers, rank) else {
            return done.push_back(arrival);
        };
        if matches!(peer.state, PeerState::Lost(_)) {
            // Its end is a loss once an operation needs it.
            if std::mem::take(&mut peer.ended) {
                to_report.push_back(rank);
            }
            peer.waiting.push_back(Waiting::Transfer(transfer));
            // Its loss is reported by now, or will be when the adapter lets go of what was posted.
            peer.settle(done);
            return;
        }
        let left = if peer.waiting.is_empty() { peer.transfer(shared, transfer) } else { Ok(Some(transfer)) };
        match left {
            Ok(None) => {}
            Ok(Some(left)) => self.wait(rank, Waiting::Transfer(left)),
            Err(error) => {
                peer.waiting.push_back(Waiting::Transfer(transfer));
                self.refused(rank, &error);
            }
        }
    }
}

/// Local bytes as the adapter knows them; `None` if they are not registered. Without bytes there is nothing to be
/// registered.
fn local(memory: Memory, len: u64, writable: bool, regions: &mut impl Regions) -> Option<Memory> {
    if len == 0 {
        return Some(memory);
    }
    let keys = regions.keys(memory, len, writable)?;
    Some(Memory { key: keys.local, ..memory })
}

impl Outbound for Out {
    #[inline]
    fn send(&mut self, to: RankId, head: &Head, data: &[u8]) {
        let Some((peer, shared)) = self.with_shared(to) else { return };
        if matches!(peer.state, PeerState::Lost(_)) {
            return;
        }
        let posted = if peer.waiting.is_empty() {
            peer.send(shared, || head.direction(), [head.as_bytes(), data])
        } else {
            Ok(false)
        };
        match posted {
            Ok(true) => {}
            Ok(false) => self.wait(to, Waiting::Packet(*head, data.to_vec())),
            Err(error) => self.refused(to, &error),
        }
    }

    fn write(&mut self, write: &Write, regions: &mut impl Regions) {
        let Write { to, from, into, len, request, notice } = *write;
        let Some(local) = local(from, len, false, regions) else {
            return self.done.push_back(Arrival::Written(request));
        };
        self.transfer(to, Transfer { kind: TransferKind::Write, local, remote: into, len, request, notice });
    }

    fn read(&mut self, read: &Read, regions: &mut impl Regions) {
        let Read { of, from, into, len, request, notice } = *read;
        let Some(local) = local(into, len, true, regions) else {
            return self.done.push_back(Arrival::Read(request));
        };
        self.transfer(of, Transfer { kind: TransferKind::Read, local, remote: from, len, request, notice });
    }
    fn atomic(&mut self, atomic: &Atomic) -> Result<(), AtomicsUnsupportedError> {
        self.post_atomic(atomic)
    }
}
