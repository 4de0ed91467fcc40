//! The half that takes operations, and what it knows of peers.

use crate::control::Control;
use crate::ibv::{Completion, Device, Failure, Limits, Sge, Slots};
use crate::peer::{Change, Kind, Loan, Peer, Shared, State, Transfer, Waiting};
use crate::way::{Way, posted_to};
use crate::wireup::{News, Wireup};
use crate::{Address, Loss, VerbsError};
use carrousel_link::Credits;
use carrousel_transport::{Arrival, Direction, Handle, Head, Memory, Outbound, RankId, Read, Regions, Write};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The half of a [`Verbs`](super::Verbs) that takes operations.
#[derive(Debug)]
pub struct Out {
    /// By rank.
    peers: Vec<Option<Box<Peer>>>,
    /// The peers, by the numbers of their queue pairs.
    by_number: HashMap<u32, RankId, ahash::RandomState>,
    pub(crate) wireup: Wireup,
    shared: Shared,
    /// Lost, and not reported.
    pub(crate) to_report: VecDeque<RankId>,
    /// Completions that have not been reported.
    pub(crate) done: VecDeque<Arrival>,
    /// Names of loans that are over, and that nobody was told of.
    returned: VecDeque<u32>,
    /// Peers that something waits for.
    active: VecDeque<RankId>,
    device: Arc<Device>,
    /// Why nothing goes any more, if that is so.
    failed: Option<Loss>,
}

/// The peer of this rank, if it is known.
#[inline]
fn peer_of(peers: &mut [Option<Box<Peer>>], rank: RankId) -> Option<&mut Peer> {
    peers.get_mut(rank.0 as usize)?.as_deref_mut()
}

impl Out {
    pub(crate) fn new(device: &Arc<Device>, ranks: u32, wireup: Wireup, slots: Slots, room: u32) -> Self {
        let free = (0..slots.count()).collect();
        let Limits { message, reads_behind_fences, .. } = device.limits;
        Self {
            peers: (0..ranks).map(|_| None).collect(),
            by_number: HashMap::default(),
            wireup,
            shared: Shared { slots, free, outstanding: 0, room, message, reads_behind_fences },
            to_report: VecDeque::new(),
            done: VecDeque::new(),
            returned: VecDeque::new(),
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
            State::Lost(why) => Some(why),
            _ => None,
        }
    }

    /// Gives a peer up, as if its connection had broken: it is reported as lost, and nothing of it is
    /// acted upon any more.
    pub fn abandon(&mut self, rank: RankId) {
        self.give_up(rank, Loss::Abandoned);
    }

    /// Somebody else says that a peer has ended: it is reported as lost.
    pub fn has_ended(&mut self, rank: RankId) {
        self.give_up(rank, Loss::Ended);
    }

    fn give_up(&mut self, rank: RankId, loss: Loss) {
        if let Some(place) = self.peers.get_mut(rank.0 as usize) {
            place.get_or_insert_default();
        }
        self.lose(rank, loss);
    }

    /// As [`Outbound::send`], of `data` that need not be copied: the adapter knows them under `key`, and reads them where
    /// they are until [`Out::returned`] gives `name` back. False if they were copied instead, as the packet has to
    /// wait, or go nowhere, as the peer is lost: then they may be changed at once.
    pub fn lend(&mut self, to: RankId, head: &Head, data: &[u8], (key, name): (u32, u32)) -> bool {
        let Some((peer, shared)) = self.with_shared(to) else { return false };
        let sge = Sge { address: data.as_ptr().addr() as u64, len: data.len() as u32, key };
        let lent = if peer.waiting.is_empty() {
            peer.lend(shared, head, Loan { data: sge, name })
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

    /// The name of data that were lent, and may be changed again: the adapter has read them, or never will.
    #[inline]
    pub fn returned(&mut self) -> Option<u32> {
        self.returned.pop_front()
    }

    /// Whether something waits for room, for credits, or for a connection, and its peer may need it.
    pub fn is_waiting(&self) -> bool {
        let is_waiting = |peer: &Peer| !peer.waiting.is_empty() && !peer.needs_nothing();
        self.active.iter().any(|rank| self.peer(*rank).is_some_and(is_waiting))
    }

    /// Whether peers have not acknowledged all that was posted, and may need it; asks them to. A peer that needs nothing may
    /// look no more: then what it has no receive buffer for, as there are more ranks that say goodbye to it, stays posted.
    pub(crate) fn drain(&mut self) -> bool {
        let mut is_busy = false;
        for rank in self.ranks() {
            let Some((peer, shared)) = self.with_shared(rank) else { continue };
            if peer.needs_nothing() {
                continue;
            }
            if let Err(error) = peer.drain(shared) {
                self.refused(rank, &error);
            }
            is_busy |= self.peer(rank).is_some_and(Peer::is_busy);
        }
        is_busy
    }

    /// Has everybody of whom no acknowledgement is expected acknowledge something: a peer that is gone is not noticed otherwise.
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

    /// Says to all peers that this process has sent all of its messages.
    pub(crate) fn say_goodbye(&mut self) {
        for rank in self.ranks() {
            let Some(peer) = self.peer(rank).filter(|peer| matches!(peer.state, State::Made | State::Up))
            else {
                continue;
            };
            let by_two = peer.control.is_some();
            self.wait(rank, Waiting::Goodbye { control: false });
            if by_two {
                self.wait(rank, Waiting::Goodbye { control: true });
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

    /// Takes what the thread that makes connections has to say. Returns how much that was.
    #[inline]
    pub(crate) fn hear(&mut self) -> usize {
        let mut count = 0;
        while let Some(news) = self.wireup.news() {
            count += 1;
            self.one_news(news);
        }
        count
    }

    #[cold]
    fn one_news(&mut self, news: News) {
        match news {
            News::Made { rank, pair, control, window } => {
                let Some(place) = self.peers.get_mut(rank.0 as usize) else { return };
                let peer = place.get_or_insert_default();
                if matches!(peer.state, State::Lost(_)) {
                    // It was given up before. The peer notices by this, as it would if there were no connection: if it cannot
                    // be ended, or is ended before it begins, then there is none.
                    for pair in [Some(pair), control].into_iter().flatten() {
                        let _ = pair.fail();
                    }
                } else if matches!(peer.state, State::Asked) {
                    self.by_number
                        .extend([&pair].into_iter().chain(&control).map(|pair| (pair.number(), rank)));
                    peer.credits = Credits::new(window);
                    peer.data = Some(Way::new(pair, rank, false));
                    let second = |pair| Box::new(Control::new(Way::new(pair, rank, true), window));
                    peer.control = control.map(second);
                    peer.state = State::Made;
                }
            }
            News::Up(rank) => self.up(rank),
            // Also one that this rank has not asked for: whoever asks later is not answered.
            News::Failed(rank, loss) => self.give_up(rank, loss),
            News::PairFailed(number) => {
                if let Some(rank) = self.by_number.get(&number) {
                    self.lose_unheard(*rank, Loss::Failed("its queue pair has failed"));
                }
            }
            News::PairRefuses(number) => {
                if let Some(rank) = self.by_number.get(&number) {
                    self.lose(*rank, Loss::Nonsense("a request that its queue pair refuses".to_owned()));
                }
            }
            News::DeviceFailed(why) => self.fail(&Loss::Device(why)),
        }
    }

    /// Whether the device has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Nothing goes any more: everybody is lost.
    #[cold]
    pub(crate) fn fail(&mut self, loss: &Loss) {
        // Of two reasons the first one is told to those who come later, too.
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
            && matches!(peer.state, State::Made)
        {
            peer.state = State::Up;
        }
    }

    /// The peer whose queue pair has this number, if it is not lost.
    #[inline]
    pub(crate) fn sender(&mut self, number: u32) -> Option<RankId> {
        let rank = match self.by_number.get(&number) {
            Some(rank) => *rank,
            None => {
                // It sends as soon as it can, and news of it may not have been looked at.
                self.hear();
                *self.by_number.get(&number)?
            }
        };
        match self.peer(rank)?.state {
            State::Up => {}
            // A peer that sends is connected. The message that says so may never come, and need not be waited for.
            State::Made => {
                self.up(rank);
                self.wireup.received(rank);
            }
            State::Asked | State::Lost(_) => return None,
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

    /// Whether it is the turn of a packet that has come by one of two ways. If not, it is kept.
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
        let peer = self.peer_mut(from).filter(|peer| matches!(peer.state, State::Up))?;
        peer.control.as_mut()?.ready(direction)
    }

    /// A peer has said that it has sent all of its messages by one of the ways.
    pub(crate) fn finished(&mut self, rank: RankId) {
        if let Some(peer) = self.peer_mut(rank) {
            peer.goodbyes = peer.goodbyes.saturating_add(1);
        }
    }

    fn list(&mut self, rank: RankId) {
        if let Some(peer) = self.peer_mut(rank)
            && !std::mem::replace(&mut peer.listed, true)
        {
            self.active.push_back(rank);
        }
    }

    fn wait(&mut self, rank: RankId, waiting: Waiting) {
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
        let Self { peers, shared, done, returned, .. } = self;
        let Some(peer) = peer_of(peers, rank) else { return };
        peer.completed(control, id as u32, |posted| shared.over(posted, done, returned));
        if matches!(peer.state, State::Lost(_)) {
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
    fn refused(&mut self, rank: RankId, error: &VerbsError) {
        self.lose(rank, Loss::System(error.to_string()));
    }

    /// Forgets a peer. What is posted completes when the adapter has let go of it, and what waits does after that. Whoever
    /// is told of the loss takes the memory of transfers back: if there are any, that has to wait, too.
    pub(crate) fn lose(&mut self, rank: RankId, loss: Loss) {
        self.forget(rank, loss, true);
    }

    /// As [`Out::lose`], where the adapter may not say any more that it has let go of anything: nobody waits for that.
    fn lose_unheard(&mut self, rank: RankId, loss: Loss) {
        self.forget(rank, loss, false);
    }

    fn forget(&mut self, rank: RankId, loss: Loss, mut is_heard: bool) {
        let Some(peer) = self.peer_mut(rank) else { return };
        let is_new = !matches!(peer.state, State::Lost(_));
        if is_new {
            // A peer that has sent everything, and is owed nothing, has ended as it should.
            peer.untold = peer.owes();
            peer.ended = peer.is_finished() && !peer.untold;
            peer.ways_mut().for_each(|way| is_heard &= way.fail());
            peer.state = State::Lost(loss);
            peer.failed = peer.ways_mut().flat_map(Way::give_up_transfers).collect();
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
        let Self { peers, shared, done, returned, .. } = self;
        let Some(peer) = peer_of(peers, rank) else { return };
        peer.ways_mut().for_each(|way| way.take_back(|posted| shared.over(posted, done, returned)));
    }

    /// Of a lost peer: ends what is left of it if nothing is posted any more.
    #[cold]
    fn settle(&mut self, rank: RankId) {
        let Self { peers, shared, done, returned, to_report, .. } = self;
        let Some(peer) = peer_of(peers, rank) else { return };
        for way in peer.ways_mut() {
            if !way.hears_of_rest(shared) {
                way.take_back(|posted| shared.over(posted, done, returned));
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

    /// Changes 8 bytes of a peer's memory, and brings what was there into `into`; [`Arrival::Read`] of `request` follows.
    /// They are in the peer's memory, aligned to 8 bytes, and registered for writing there.
    pub fn change(
        &mut self,
        of: RankId,
        what: Memory,
        change: Change,
        (into, request): (Memory, Handle),
        regions: &mut impl Regions,
    ) {
        let len = size_of::<u64>() as u64;
        let Some(local) = local(into, len, true, regions) else {
            return self.done.push_back(Arrival::Read(request));
        };
        let kind = Kind::Change(change);
        self.transfer(of, Transfer { kind, local, remote: what, len, request, notice: None });
    }

    fn transfer(&mut self, rank: RankId, transfer: Transfer) {
        let arrival = transfer.arrival();
        let Self { peers, shared, done, to_report, .. } = self;
        let Some(peer) = peer_of(peers, rank) else {
            return done.push_back(arrival);
        };
        if matches!(peer.state, State::Lost(_)) {
            // Its end was no loss as long as nobody wanted anything of it.
            if std::mem::take(&mut peer.ended) {
                to_report.push_back(rank);
            }
            peer.waiting.push_back(Waiting::Transfer(transfer));
            // Of its loss somebody is told by now, or will be when the adapter lets go of what was posted.
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
        if matches!(peer.state, State::Lost(_)) {
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
        self.transfer(to, Transfer { kind: Kind::Write, local, remote: into, len, request, notice });
    }

    fn read(&mut self, read: &Read, regions: &mut impl Regions) {
        let Read { of, from, into, len, request, notice } = *read;
        let Some(local) = local(into, len, true, regions) else {
            return self.done.push_back(Arrival::Read(request));
        };
        self.transfer(of, Transfer { kind: Kind::Read, local, remote: from, len, request, notice });
    }
}
