//! Ranks whose adapters are not real, all in this process.

use super::FakeAdapter;
use carrousel_transport::{
    Arrival, Context, Direction, Handle, Handler, Head, Header, Keys, Memory, OnlyKeys, Outbound, Payload,
    Protocol, RankId, Read, Transport, Write,
};
use carrousel_transport_verbs::{Out, Settings, Verbs};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The body of every packet that tests send.
const BODY: [u8; 8] = [5; 8];

/// The head of a packet that only its direction and a number tell from others, as far as a transport can tell.
pub(crate) const fn head(direction: Direction, kind: u8) -> Head {
    Head::new(Header::new(Protocol::Messages, direction, kind, Context::MESSAGES), [&BODY, &[]])
}

/// The head of a message, whose data is behind it.
pub(crate) const MESSAGE: Head = head(Direction::ToReceiver, 1);

/// What was reported to a rank, which has no memory for its peers.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) packets: u64,
    /// Of the data that came with them.
    pub(crate) bytes: u64,
    pub(crate) lost: Vec<RankId>,
    /// Completions of writes.
    pub(crate) written: u64,
    memory: OnlyKeys,
}

impl Handler<Out> for Heard {
    type Regions = OnlyKeys;

    fn regions(&mut self) -> &mut OnlyKeys {
        &mut self.memory
    }

    fn arrival(&mut self, arrival: Arrival, data: &(impl Payload + ?Sized), _: &mut Out) {
        match arrival {
            Arrival::Packet { .. } => {
                self.packets += 1;
                self.bytes += (data.len() - MESSAGE.body().len()) as u64;
            }
            Arrival::Lost(rank) => self.lost.push(rank),
            Arrival::Written(_) => self.written += 1,
            Arrival::Read(_) | Arrival::Fetched(..) => {}
        }
    }
}

/// What was reported, in its order, to a rank that has no memory for its peers.
#[derive(Debug, Default)]
pub(crate) struct Reports(pub(crate) Vec<Arrival>, OnlyKeys);

impl Handler<Out> for Reports {
    type Regions = OnlyKeys;

    fn regions(&mut self) -> &mut OnlyKeys {
        &mut self.1
    }

    fn arrival(&mut self, arrival: Arrival, data: &(impl Payload + ?Sized), _: &mut Out) {
        if let Arrival::Packet { .. } = arrival {
            let mut body = [0; 8];
            data.copy_to(0, &mut body);
            assert_eq!(body, BODY, "it is whole");
        }
        self.0.push(arrival);
    }
}

impl Reports {
    /// Waits until so much was reported.
    pub(crate) fn hear(&mut self, end: &mut End, count: usize) {
        let began = Instant::now();
        while self.0.len() < count {
            end.verbs.poll(end.now, self);
            assert!(began.elapsed() < PATIENCE, "there are {:?}", self.0);
        }
    }
}

/// A rank.
pub(crate) struct End {
    pub(crate) verbs: Verbs,
    pub(crate) heard: Heard,
    began: Instant,
    /// The time that it polls with.
    pub(crate) now: Duration,
}

impl End {
    /// Rank `me` of a job of `ranks`, over an adapter.
    pub(crate) fn new(adapter: FakeAdapter, me: u32, ranks: u32, mut settings: Settings) -> Self {
        settings.choice.device = Some(adapter.name());
        let verbs = Verbs::new(RankId(me), ranks, &settings).expect("there is such an adapter");
        Self { verbs, heard: Heard::default(), began: Instant::now(), now: Duration::ZERO }
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, to: u32, data: &[u8]) {
        self.verbs.out().send(RankId(to), &MESSAGE, data);
    }

    /// Posts a write without data to a peer.
    pub(crate) fn write_nothing(&mut self, to: u32) {
        self.write_notice(to, None);
    }

    /// As [`End::write_nothing`], and a packet behind it.
    pub(crate) fn write_notice(&mut self, to: u32, notice: Option<Head>) {
        let nowhere = Memory { address: 0, key: 0 };
        let request = Handle { index: 0, generation: 0 };
        let write = Write { to: RankId(to), from: nowhere, into: nowhere, len: 0, request, notice };
        self.verbs.out().write(&write, &mut self.heard.memory);
    }

    /// Posts a read without data of a peer.
    pub(crate) fn read_nothing(&mut self, of: u32) {
        self.read_notice(of, None);
    }

    /// As [`End::read_nothing`], and a packet behind it.
    pub(crate) fn read_notice(&mut self, of: u32, notice: Option<Head>) {
        let nowhere = Memory { address: 0, key: 0 };
        self.read(of, [nowhere; 2], 0, notice);
    }

    /// Posts a read of `len` bytes of a peer, from one place into the other, and a packet behind it.
    pub(crate) fn read(&mut self, of: u32, [from, into]: [Memory; 2], len: u64, notice: Option<Head>) {
        let request = Handle { index: 1, generation: 0 };
        let read = Read { of: RankId(of), from, into, len, request, notice };
        self.verbs.out().read(&read, &mut OnlyKeys(Some(Keys { local: 1, remote: 1 })));
    }

    /// Takes what has come.
    pub(crate) fn poll(&mut self) -> usize {
        self.verbs.poll(self.now, &mut self.heard)
    }

    /// Reads the clock.
    pub(crate) fn tick(&mut self) {
        self.now = self.began.elapsed();
    }
}

/// Ranks 0 and 1, which have exchanged a message.
pub(crate) fn connected(adapters: [FakeAdapter; 2]) -> [End; 2] {
    let [one, other] = adapters;
    let mut ends = [End::new(one, 0, 2, Settings::default()), End::new(other, 1, 2, Settings::default())];
    let [one, other] = &mut ends;
    meet(one, other, 0, 1);
    ends
}

/// Two ranks connect to each other and exchange a message.
pub(crate) fn meet(one: &mut End, other: &mut End, rank: u32, other_rank: u32) {
    let before = [one.heard.packets, other.heard.packets];
    one.verbs.out().connect(RankId(other_rank), &other.verbs.address());
    other.verbs.out().connect(RankId(rank), &one.verbs.address());
    one.send(other_rank, &[1; 8]);
    other.send(rank, &[1; 8]);
    drive(&mut [one, other], |ends| ends[0].heard.packets > before[0] && ends[1].heard.packets > before[1]);
}

/// Has the ranks take what comes until something is so.
pub(crate) fn drive(ends: &mut [&mut End], mut until: impl FnMut(&mut [&mut End]) -> bool) {
    let began = Instant::now();
    while !until(ends) {
        for end in ends.iter_mut() {
            if end.poll() == 0 {
                thread::yield_now();
            }
        }
        let heard: Vec<_> = ends.iter().map(|end| &end.heard).collect();
        assert!(began.elapsed() < PATIENCE, "what was waited for has not come; there are {heard:?}");
    }
}
