//! What holds whatever a peer of the node writes into the memory that it shares with this process; shared by the
//! fuzzer and the replay of its corpus.

use carrousel_transport::{
    Arrival, Atomic, AtomicOp, BODY_MAX, Handle, Handler, Header, Memory, Outbound, Payload, RankId, Read,
    Regions, Transport, Write,
};
use carrousel_transport_shm::{Address, Node, Out, Producer, Segment, Settings};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The time, which means nothing to this transport.
const NOW: Duration = Duration::ZERO;
const PEER: RankId = RankId(1);
/// The memory of this process: for reading with one key, for writing with the other.
const BEGIN: u64 = 0x1000;
const LEN: usize = 512;
const READ: u32 = 1;
const WRITE: u32 = 2;
/// More arrivals than one ring gives at once.
const ONCE_MAX: usize = 64;

/// Panics when a node does not survive `bytes`: steps of a hostile peer, each a byte that says what, one that says
/// how long, and as many bytes. A frame, for `what` below 0xc0: in the lower half of them a packet, whose header are the
/// first four of the bytes, in the upper half a frame of the transport's own, whose tag is in the lower three bits; then, up to 0xf0, a word anywhere in the ring's memory; then an operation that this process posts.
pub(crate) fn holds(bytes: &[u8]) {
    // What a peer says its address is.
    let text = String::from_utf8_lossy(bytes);
    if let Ok(address) = text.parse::<Address>() {
        assert_eq!(address.to_string().parse(), Ok(address), "an address is what its text says");
    }
    // Without direct copies: those ask the system, not this process.
    let settings = Settings { capacity: 256, direct: false };
    let node = |me| Node::new(RankId(me), &[RankId(0), PEER], settings).expect("there is memory");
    let (mut node, peer) = (node(0), node(1));
    node.out().connect(PEER, &peer.address()).expect("it is this process");
    let segment = reached(&node.address());
    let ring = segment.ring(1).expect("it has one");
    let mut frames = Producer::new(ring.clone()).expect("it fits");
    let mut mine = Mine { memory: vec![7; LEN], is_lost: false };
    let mut rest = bytes;
    let mut posted = 0;
    while let [what, len, after @ ..] = rest {
        let (some, after) = after.split_at(usize::from(*len).min(after.len()));
        rest = after;
        match what {
            0..0x60 => {
                let Some((header, rest)) = some.split_first_chunk() else { continue };
                // A full ring takes no more.
                let _ = frames.push(u32::from_le_bytes(*header), &[rest]);
            }
            0x60..0xc0 => {
                let tag = u32::from(what & 7) | u32::from((what - 0x60) >> 3) << 16;
                let _ = frames.push(tag, &[some]);
            }
            0xc0..0xf0 => {
                if let [low, high, word @ ..] = some {
                    let mut value = [0; 8];
                    let len = word.len().min(8);
                    value[..len].copy_from_slice(&word[..len]);
                    let at = usize::from(u16::from_le_bytes([*low, *high])) % ring.len();
                    ring[at].store(u64::from_le_bytes(value), Relaxed);
                }
            }
            _ => {
                let request = Handle { index: posted, generation: 0 };
                posted += 1;
                let theirs = Memory { address: 0x9000, key: 5 };
                let own = |key| Memory { address: BEGIN, key };
                let len = u64::from(*len);
                if *what >= 0xf8 {
                    let (op, fenced) = (AtomicOp::Swap(len), what % 2 == 0);
                    let atomic = Atomic { to: PEER, target: theirs, op, request, fenced };
                    node.out().atomic(&atomic).expect("it has atomics");
                } else if what % 2 == 0 {
                    let read = Read { of: PEER, from: theirs, into: own(WRITE), len, request, notice: None };
                    node.out().read(&read, &mut mine);
                } else {
                    let write = Write { to: PEER, from: own(READ), into: theirs, len, request, notice: None };
                    node.out().write(&write, &mut mine);
                }
            }
        }
        // A loss ends all that was posted.
        assert!(node.poll(NOW, &mut mine) <= ONCE_MAX + 2 * posted as usize, "no poll goes on for ever");
    }
    node.check();
    for _ in 0..4 {
        node.poll(NOW, &mut mine);
    }
}

/// The segment of a process, as a peer finds it.
fn reached(address: &Address) -> Segment {
    let text = address.to_string();
    let mut parts = text.split(':').skip(1);
    let mut number = || parts.next().and_then(|part| part.parse::<i32>().ok()).expect("it is a number");
    let (pid, fd) = (number(), number());
    Segment::open_of(pid as u32, fd).expect("it is this process")
}

/// What is registered, and what was told.
struct Mine {
    memory: Vec<u8>,
    is_lost: bool,
}

impl Mine {
    fn range(&self, memory: Memory, len: u64, key: u32) -> Option<std::ops::Range<usize>> {
        let from = usize::try_from(memory.address.checked_sub(BEGIN)?).ok()?;
        let to = from.checked_add(usize::try_from(len).ok()?)?;
        (memory.key == key && to <= self.memory.len()).then_some(from..to)
    }
}

impl Regions for Mine {
    fn bytes(&self, memory: Memory, len: u64) -> Option<&[u8]> {
        self.range(memory, len, READ).map(|range| &self.memory[range])
    }

    fn bytes_mut(&mut self, memory: Memory, len: u64) -> Option<&mut [u8]> {
        self.range(memory, len, WRITE).map(|range| &mut self.memory[range])
    }
}

impl Handler<Out> for Mine {
    type Regions = Self;

    fn regions(&mut self) -> &mut Self {
        self
    }

    fn arrival(&mut self, arrival: Arrival, payload: &(impl Payload + ?Sized), _: &mut Out) {
        match arrival {
            Arrival::Packet { from, context, packet } => {
                assert_eq!(context, packet.context());
                assert!(from == PEER && !self.is_lost, "nothing is heard of who is lost");
                assert!(!Header::is_transports_own(packet.bits()), "it is a packet");
                let (mut bytes, mut room) = (vec![0; payload.len()], [0; BODY_MAX]);
                payload.copy_to(0, &mut bytes);
                // What the peer changes meanwhile may differ; how much there is may not.
                let first = payload.first(&mut room).len();
                assert!(first == bytes.len() || (BODY_MAX..=bytes.len()).contains(&first), "a body is whole");
                assert_eq!(payload.first_words::<1>().is_some(), bytes.len() >= size_of::<u64>());
            }
            Arrival::Lost(rank) => {
                assert!(rank == PEER && !self.is_lost, "a loss is told once");
                self.is_lost = true;
            }
            Arrival::Written(_) | Arrival::Read(_) | Arrival::Fetched(..) => {}
        }
    }
}
