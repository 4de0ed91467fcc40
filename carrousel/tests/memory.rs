//! The memory of a rank for each peer: little in addition to the ring, and no more for many peers than for few.
//!
//! The ranks of a node are all in this thread. One exchanges a message with each peer, to and fro, in turn. The test
//! counts the bytes that its own calls leave allocated, and divides them by the peers so far.

use allocation_counter::{AllocationInfo, measure};
use carrousel::{Communicator, in_one_thread_over};
use carrousel_transport_shm::{Layout, Settings};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most bytes for a connected peer, in addition to its ring.
const BYTES_MAX: u64 = 8 << 10;
/// The numbers of peers at which the memory is measured.
const PEERS: [u32; 4] = [2, 64, 256, 1024];
/// The fewest words of a ring: the test measures the other memory.
const RING: usize = 16;
/// Small enough for a quarter of a ring, and too large for any: eager, and read by the receiver.
const SIZES: [usize; 2] = [8, 4000];

/// A descriptor for each rank's segment, and one for each process that is watched, both ways.
fn permit_descriptors(count: u64) {
    let limit = getrlimit(Resource::Nofile);
    assert!(limit.maximum.is_none_or(|maximum| maximum >= count), "{count} descriptors are permitted");
    let enough = limit.current.is_none_or(|current| current >= count);
    if !enough {
        setrlimit(Resource::Nofile, Rlimit { current: Some(count), ..limit })
            .expect("it is within the maximum");
    }
}

/// A message of `size` bytes from `from` to `to`. Returns what stays allocated at each.
fn message(ends: &[Communicator], from: usize, to: usize, size: usize) -> [i64; 2] {
    let (mut kept, mut send, mut receive) = ([0; 2], None, None);
    let mut count = |end: usize, counted: AllocationInfo| kept[end] += counted.bytes_current;
    let (sent, got) = (vec![1u8; size], vec![0u8; size]);
    count(0, measure(|| send = Some(ends[from].isend(sent, to as u32, 0).expect("it is there"))));
    count(1, measure(|| receive = Some(ends[to].irecv(got, from as u32, 0).expect("it is there"))));
    let (mut send, mut receive) = (send.expect("it was started"), receive.expect("it was started"));
    let mut buffers = (Vec::new(), Vec::new());
    loop {
        let (mut is_sent, mut is_received) = (false, false);
        count(0, measure(|| is_sent = send.test()));
        count(1, measure(|| is_received = receive.test()));
        if is_sent && is_received {
            break;
        }
    }
    count(0, measure(|| buffers.0 = send.wait().expect("it is there").0));
    count(1, measure(|| buffers.1 = receive.wait().expect("it fits").0));
    assert_eq!(buffers.0, buffers.1);
    kept
}

#[test]
fn a_peer_costs_a_rank_little_memory_however_many_there_are() {
    permit_descriptors(4 * 1024);
    let last = PEERS.into_iter().max().expect("there are some");
    let ranks = last + 1;
    let mut ends = Vec::new();
    let settings = Settings { capacity: RING, ..Settings::default() };
    let made = measure(|| ends = in_one_thread_over(ranks, settings).expect("it can be set up"));
    // Each rank has an entry for each peer, connected or not.
    let place = made.bytes_current as u64 / u64::from(ranks) / u64::from(ranks);
    let segment = Layout::new(ranks as usize, RING).expect("it is right").bytes();
    let beside = segment.div_ceil(ranks as usize) - RING * size_of::<u64>();
    println!("peers  heap, connected  heap, any  segment beside the ring  all, bytes a peer");
    let (mut kept, mut all) = (0, Vec::new());
    for peer in 1..=last {
        for size in SIZES {
            kept += message(&ends, 0, peer as usize, size)[0];
            kept += message(&ends, peer as usize, 0, size)[1];
        }
        if PEERS.contains(&peer) {
            let connected = u64::try_from(kept).expect("connections take memory").div_ceil(u64::from(peer));
            let sum = connected + place + beside as u64;
            println!("{peer:5}  {connected:15}  {place:9}  {beside:23}  {sum:17}");
            all.push(sum);
        }
    }
    assert!(all.iter().all(|bytes| *bytes <= BYTES_MAX), "{all:?} bytes for each of {PEERS:?} peers");
    // A full list doubles, so at a power of two no room is unused.
    assert!(all[3] * 100 <= all[1] * 102, "{all:?} bytes for each of {PEERS:?} peers");
}
