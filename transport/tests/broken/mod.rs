//! A transport within one thread that keeps the contract, or breaks it in one way.

use carrousel_transport::conformance::{Event, Plan, Player, RankMemory};
use carrousel_transport::*;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

/// The way in which the contract is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// A packet that was sent later comes sooner.
    Overtake,
    /// The packet behind a write comes sooner.
    NoticeFirst,
    LosePacket,
    RepeatPacket,
    ChangeData,
    /// Half of a write's data is not there.
    Tear,
    LoseWrite,
    /// Two writes into the same slot change places.
    SwapWrites,
    /// A write has one byte too many.
    WriteTooFar,
    /// A read is served before the writes that were posted before it.
    ReadFirst,
    /// A read is complete before its data is there.
    ReadTooSoon,
    /// The notice of a read comes before the data is taken.
    ReleaseTooSoon,
    /// The notice of a read comes before a packet that was posted before the read.
    NoticeOvertakes,
    LoseNotice,
    /// A write is complete before its source has been read.
    ReuseTooSoon,
    /// Data behind a packet is copied after the call, when it may have changed.
    KeepNoCopy,
    LoseCompletion,
    RepeatCompletion,
    SwapCompletions,
    InventPacket,
    LoseLivingPeer,
    ReportLossTwice,
    ReportNoLoss,
    DeliverAfterLoss,
    CompleteNothingOnLoss,
    /// An atomic is served after some that were posted behind it.
    DelayAtomic,
    /// An atomic is served before the writes that were posted before it.
    AtomicFirst,
    /// An atomic does not wait for what it is to wait for.
    IgnoreFence,
    /// An atomic finds the word as it is, and changes it later: another one may come between.
    Divide,
    /// An atomic changes nothing.
    LoseAtomic,
    /// An atomic has its effect twice.
    RepeatAtomic,
    /// An atomic tells the value that it has left.
    FetchAfter,
    /// A compare-and-swap replaces whatever it finds.
    SwapAlways,
}

#[derive(Clone, Debug)]
enum Item {
    Packet(Head, Vec<u8>),
    Write(Memory, Vec<u8>, Handle),
    ReadRequest(Read),
    Atomic(Atomic),
    /// The second half of an atomic that was divided.
    Store(Memory, u64),
}

/// A completion, and the data of a read with its destination.
type QueuedCompletion = (Arrival, Option<(Memory, Vec<u8>)>);

/// The state that all ends share.
#[derive(Debug, Default)]
pub(crate) struct Net {
    /// By receiver and sender.
    items: Vec<Vec<VecDeque<Item>>>,
    /// By rank: completions, with the data of reads.
    done: Vec<VecDeque<QueuedCompletion>>,
    /// By rank: the peer and the completion of each operation that is posted and not complete.
    outstanding: Vec<Vec<(usize, Arrival)>>,
    dead: Option<usize>,
    /// By rank: whether the loss has been reported to it.
    reported: Vec<bool>,
}

pub(crate) struct Out {
    me: usize,
    net: Rc<RefCell<Net>>,
}

impl Out {
    fn push(&self, to: RankId, item: Item) {
        let mut net = self.net.borrow_mut();
        if net.dead != Some(to.0 as usize) {
            net.items[to.0 as usize][self.me].push_back(item);
        }
    }

    fn expect(&self, peer: RankId, completion: Arrival) -> bool {
        let mut net = self.net.borrow_mut();
        let dead = net.dead == Some(peer.0 as usize);
        if dead && net.reported[self.me] {
            net.done[self.me].push_back((completion, None));
        } else {
            net.outstanding[self.me].push((peer.0 as usize, completion));
        }
        !dead
    }
}

impl Outbound for Out {
    fn send(&mut self, to: RankId, head: &Head, data: &[u8]) {
        self.push(to, Item::Packet(*head, data.to_vec()));
    }

    fn write(&mut self, write: &Write, regions: &mut impl Regions) {
        if self.expect(write.to, Arrival::Written(write.request)) {
            let data = regions.bytes(write.from, write.len).expect("it is registered").to_vec();
            self.push(write.to, Item::Write(write.into, data, write.request));
            if let Some(head) = write.notice {
                self.push(write.to, Item::Packet(head, Vec::new()));
            }
        }
    }

    fn read(&mut self, read: &Read, _: &mut impl Regions) {
        if self.expect(read.of, Arrival::Read(read.request)) {
            self.push(read.of, Item::ReadRequest(*read));
        }
    }

    fn atomic(&mut self, atomic: &Atomic) -> Result<(), AtomicsUnsupportedError> {
        if self.expect(atomic.to, Arrival::Fetched(atomic.request, 0)) {
            self.push(atomic.to, Item::Atomic(*atomic));
        }
        Ok(())
    }
}

pub(crate) struct BrokenTransport {
    out: Out,
    fault: Fault,
    /// Opportunities that are let pass before the fault.
    pass: usize,
    /// Reads whose data is taken when their notice has been delivered, which is too late.
    late: VecDeque<(usize, Read)>,
    /// The atomic that is delayed, and the completions of those that have passed it.
    delayed: Option<(usize, Atomic)>,
    withheld: Vec<Arrival>,
}

impl BrokenTransport {
    /// Whether the fault is this one, and now.
    fn breaks(&mut self, fault: Fault) -> bool {
        if self.fault != fault {
            return false;
        }
        self.pass = self.pass.wrapping_sub(1);
        self.pass == usize::MAX
    }

    fn is_overtaken(&mut self, queue: &mut VecDeque<Item>) -> bool {
        match (queue.front(), queue.get(1)) {
            (Some(Item::Packet(first, _)), Some(Item::Packet(second, _))) => {
                first.direction() == second.direction() && self.breaks(Fault::Overtake)
            }
            (Some(Item::Write(..)), Some(Item::Packet(..))) => self.breaks(Fault::NoticeFirst),
            (Some(Item::Write(one, ..)), Some(Item::Write(two, ..))) if one == two => {
                if self.breaks(Fault::SwapWrites) {
                    // Their completions keep their order.
                    let [first, second] = &mut queue.make_contiguous()[..2] else { return false };
                    if let (Item::Write(_, one, _), Item::Write(_, two, _)) = (first, second) {
                        std::mem::swap(one, two);
                    }
                }
                false
            }
            (Some(Item::Packet(head, _)), Some(Item::ReadRequest(read)))
                if head.direction() == Direction::ToSender && read.notice.is_some() =>
            {
                if self.breaks(Fault::NoticeOvertakes) {
                    let Some(Item::ReadRequest(read)) = queue.get_mut(1) else { return false };
                    let notice = read.notice.take();
                    queue.extend(notice.map(|head| Item::Packet(head, Vec::new())));
                    let last = queue.len() - 1;
                    queue.swap(0, last);
                }
                false
            }
            (Some(Item::Write(into, ..)), Some(Item::ReadRequest(read))) if *into == read.from => {
                self.breaks(Fault::ReadFirst)
            }
            (Some(Item::Write(into, ..)), Some(Item::Atomic(atomic))) if *into == atomic.target => {
                self.breaks(Fault::AtomicFirst)
            }
            (Some(Item::ReadRequest(read)), Some(Item::Atomic(atomic)))
                if read.from == atomic.target && atomic.fenced =>
            {
                self.breaks(Fault::IgnoreFence)
            }
            _ => false,
        }
    }

    fn complete(&mut self, from: usize, arrival: Arrival, data: Option<(Memory, Vec<u8>)>) {
        let (lose, repeat) = (self.breaks(Fault::LoseCompletion), self.breaks(Fault::RepeatCompletion));
        let swap = {
            let same =
                |last: &(Arrival, _)| core::mem::discriminant(&last.0) == core::mem::discriminant(&arrival);
            let is_same = self.out.net.borrow().done[from].back().is_some_and(same);
            is_same && self.breaks(Fault::SwapCompletions)
        };
        let mut net = self.out.net.borrow_mut();
        if lose {
            return;
        }
        let is_other = |expected: &Arrival| match (*expected, arrival) {
            (Arrival::Fetched(expected, _), Arrival::Fetched(request, _)) => expected != request,
            _ => *expected != arrival,
        };
        net.outstanding[from].retain(|(_, expected)| is_other(expected));
        let copies = if repeat { 2 } else { 1 };
        for _ in 0..copies {
            if swap {
                let at = net.done[from].len() - 1;
                net.done[from].insert(at, (arrival, data.clone()));
            } else {
                net.done[from].push_back((arrival, data.clone()));
            }
        }
    }

    /// Takes the data of a read.
    fn answer(&mut self, from: usize, read: &Read, handler: &mut impl Handler<Out>) {
        let data = handler.regions().bytes(read.from, read.len).expect("it is registered").to_vec();
        self.complete(from, Arrival::Read(read.request), Some((read.into, data)));
    }

    /// Takes an atomic. One that comes too late, after those behind it, is served by the next poll; their completions keep
    /// their order.
    fn atomic(&mut self, from: usize, atomic: &Atomic, handler: &mut impl Handler<Out>) {
        let is_first = self.delayed.is_none();
        if is_first && self.breaks(Fault::DelayAtomic) {
            self.delayed = Some((from, *atomic));
            return;
        }
        let found = self.change(from, atomic, handler);
        let fetched = Arrival::Fetched(atomic.request, found);
        match self.delayed {
            Some((delayed, _)) if delayed == from => self.withheld.push(fetched),
            _ => self.complete(from, fetched, None),
        }
    }

    fn delayed_atomic(&mut self, handler: &mut impl Handler<Out>) {
        let Some((from, atomic)) = self.delayed.take() else { return };
        let found = self.change(from, &atomic, handler);
        self.complete(from, Arrival::Fetched(atomic.request, found), None);
        for fetched in std::mem::take(&mut self.withheld) {
            self.complete(from, fetched, None);
        }
    }

    /// Changes the word of an atomic, and returns what it tells.
    fn change(&mut self, from: usize, atomic: &Atomic, handler: &mut impl Handler<Out>) -> u64 {
        let found = load(handler, atomic.target);
        let left = match atomic.op {
            AtomicOp::CompareSwap { expected, new }
                if found != expected && self.breaks(Fault::SwapAlways) =>
            {
                new
            }
            op => op.apply(found),
        };
        if left != found && self.breaks(Fault::LoseAtomic) {
            return found;
        }
        if left != found && self.breaks(Fault::Divide) {
            let store = Item::Store(atomic.target, left);
            self.out.net.borrow_mut().items[self.out.me][from].push_back(store);
            return found;
        }
        let again = left != found && self.breaks(Fault::RepeatAtomic);
        store(handler, atomic.target, if again { atomic.op.apply(left) } else { left });
        if left != found && self.breaks(Fault::FetchAfter) { left } else { found }
    }

    fn take(&mut self, from: usize, item: Item, handler: &mut impl Handler<Out>) {
        let sender = RankId(from as u32);
        match item {
            Item::Packet(head, mut data) => {
                if self.breaks(Fault::LosePacket) {
                    return;
                }
                if !data.is_empty() && self.breaks(Fault::ChangeData) {
                    data[0] ^= 1;
                }
                if !data.is_empty() && self.breaks(Fault::KeepNoCopy) {
                    data.fill(0x5c);
                }
                let arrival =
                    Arrival::Packet { from: sender, context: head.header().context(), packet: head.header() };
                let payload = [head.body(), &data].concat();
                if self.breaks(Fault::InventPacket) {
                    handler.arrival(arrival, &[7_u8; 8][..], &mut self.out);
                }
                if self.breaks(Fault::LoseLivingPeer) {
                    handler.arrival(Arrival::Lost(sender), &[] as &[u8], &mut self.out);
                }
                handler.arrival(arrival, &payload[..], &mut self.out);
                if self.breaks(Fault::RepeatPacket) {
                    handler.arrival(arrival, &payload[..], &mut self.out);
                }
                let is_notice = |(of, read): &mut (usize, Read)| *of == from && read.notice == Some(head);
                if let Some((of, read)) = self.late.pop_front_if(is_notice) {
                    self.answer(of, &read, handler);
                }
                while let Some((of, read)) = self.late.pop_front_if(|(_, read)| read.notice.is_none()) {
                    self.answer(of, &read, handler);
                }
            }
            Item::Write(into, mut data, request) => {
                if data.len() > 1 && self.breaks(Fault::Tear) {
                    data.truncate(data.len() / 2);
                }
                if !data.is_empty() && self.breaks(Fault::LoseWrite) {
                    data.clear();
                }
                if !data.is_empty() && self.breaks(Fault::ReuseTooSoon) {
                    data.fill(0x5c);
                }
                if self.breaks(Fault::WriteTooFar) {
                    data.push(0);
                }
                let bytes = handler.regions().bytes_mut(into, data.len() as u64);
                bytes.expect("it is registered").copy_from_slice(&data);
                self.complete(from, Arrival::Written(request), None);
            }
            Item::Atomic(atomic) => self.atomic(from, &atomic, handler),
            Item::Store(target, value) => store(handler, target, value),
            Item::ReadRequest(read) => {
                // The reader does nothing for the notice.
                let lost = read.notice.is_some() && self.breaks(Fault::LoseNotice);
                if let Some(head) = read.notice.filter(|_| !lost) {
                    let notice = Item::Packet(head, Vec::new());
                    self.out.net.borrow_mut().items[self.out.me][from].push_back(notice);
                }
                if self.fault == Fault::ReleaseTooSoon {
                    self.late.push_back((from, read));
                } else {
                    self.answer(from, &read, handler);
                }
            }
        }
    }
}

fn load(handler: &mut impl Handler<Out>, word: Memory) -> u64 {
    let bytes = handler.regions().bytes(word, Atomic::LEN).expect("it is registered");
    u64::from_ne_bytes(bytes.try_into().expect("a word has 8 bytes"))
}

fn store(handler: &mut impl Handler<Out>, word: Memory, value: u64) {
    let bytes = handler.regions().bytes_mut(word, Atomic::LEN).expect("it is registered");
    bytes.copy_from_slice(&value.to_ne_bytes());
}

impl Transport for BrokenTransport {
    type Out = Out;

    fn out(&mut self) -> &mut Out {
        &mut self.out
    }

    fn next_poll(&self) -> Option<Duration> {
        None
    }

    fn poll(&mut self, _: Duration, handler: &mut impl Handler<Out>) -> usize {
        let me = self.out.me;
        let mut count = 0;
        let dead = self.out.net.borrow().dead;
        if let Some(dead) =
            dead.filter(|_| !std::mem::replace(&mut self.out.net.borrow_mut().reported[me], true))
        {
            let all = std::mem::take(&mut self.out.net.borrow_mut().outstanding[me]);
            let (of_dead, others) = all.into_iter().partition(|(peer, _)| *peer == dead);
            self.out.net.borrow_mut().outstanding[me] = others;
            let of_dead: Vec<(usize, Arrival)> = of_dead;
            if !self.breaks(Fault::CompleteNothingOnLoss) {
                for (_, completion) in of_dead {
                    self.out.net.borrow_mut().done[me].push_back((completion, None));
                }
            }
            let lost = Arrival::Lost(RankId(dead as u32));
            if !self.breaks(Fault::ReportNoLoss) {
                handler.arrival(lost, &[] as &[u8], &mut self.out);
            }
            if self.breaks(Fault::ReportLossTwice) {
                handler.arrival(lost, &[] as &[u8], &mut self.out);
            }
            if self.fault != Fault::DeliverAfterLoss {
                self.out.net.borrow_mut().items[me][dead].clear();
            }
        }
        self.delayed_atomic(handler);
        let ranks = self.out.net.borrow().items.len();
        for from in 0..ranks {
            // A few at a time, so that there are items to swap.
            for _ in 0..3 {
                let mut queue = std::mem::take(&mut self.out.net.borrow_mut().items[me][from]);
                if self.is_overtaken(&mut queue) {
                    queue.swap(0, 1);
                }
                let item = queue.pop_front();
                self.out.net.borrow_mut().items[me][from] = queue;
                let Some(item) = item else { break };
                self.take(from, item, handler);
                count += 1;
            }
        }
        loop {
            let completion = self.out.net.borrow_mut().done[me].pop_front();
            let Some((arrival, data)) = completion else { break };
            count += 1;
            let soon = data.as_ref().is_some_and(|(_, data)| !data.is_empty());
            if soon && self.breaks(Fault::ReadTooSoon) {
                handler.arrival(arrival, &[] as &[u8], &mut self.out);
                continue;
            }
            if let Some((into, data)) = data {
                let bytes = handler.regions().bytes_mut(into, data.len() as u64);
                bytes.expect("it is registered").copy_from_slice(&data);
            }
            handler.arrival(arrival, &[] as &[u8], &mut self.out);
        }
        count
    }
}

/// Runs a plan over this transport, with the fault at the opportunity `pass`; the rank `dies` dies at some time.
pub(crate) fn run(plan: &Plan, fault: Fault, pass: usize, dies: Option<usize>) -> Vec<Option<Vec<Event>>> {
    let ranks = plan.steps.len();
    let net = Net {
        items: vec![vec![VecDeque::new(); ranks]; ranks],
        done: vec![VecDeque::new(); ranks],
        outstanding: vec![Vec::new(); ranks],
        dead: None,
        reported: vec![false; ranks],
    };
    let net = Rc::new(RefCell::new(net));
    let memories: Vec<RankMemory> = (0..ranks as u32).map(|me| RankMemory::new(plan, me)).collect();
    let names: Vec<Memory> = memories.iter().map(RankMemory::memory).collect();
    let mut players: Vec<_> =
        (0..).zip(memories).map(|(me, memory)| Some(Player::new(plan, me, memory, &names))).collect();
    let mut ends: Vec<_> = (0..ranks)
        .map(|me| BrokenTransport {
            out: Out { me, net: Rc::clone(&net) },
            fault,
            pass,
            late: VecDeque::new(),
            delayed: None,
            withheld: Vec::new(),
        })
        .collect();
    // Bounded: a fault may keep a plan from its end.
    for round in 0..2000 {
        if let Some(dead) = dies.filter(|_| round == 20) {
            players[dead] = None;
            net.borrow_mut().dead = Some(dead);
        }
        for (player, end) in players.iter_mut().zip(&mut ends) {
            if let Some(player) = player {
                player.drive(Duration::ZERO, end);
            }
        }
    }
    players.into_iter().map(|player| player.map(Player::finish)).collect()
}
