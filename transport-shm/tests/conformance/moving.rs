//! Pairs of ranks begin with a small ring, and move to a large one when they need it.

use super::NOW;
use super::edge_cases::Recorder;
use super::hostile::segment;
use carrousel_transport::{Context, Direction, Head, Header, Outbound, Protocol, RankId, Transport};
use carrousel_transport_shm::{Address, Node, Settings};
use std::os::fd::AsFd;

const COUNT: u32 = 200;
const BYTES: u64 = 64 << 10;
/// Memory is allocated in pages, and a ring may begin in the middle of one.
const SMALL: u64 = 8 << 10;
const ATS: Head =
    Head::new(Header::new(Protocol::Messages, Direction::ToSender, 2, Context::MESSAGES), [&[3; 8], &[]]);

/// Rank 0, and some of the many that may connect to it, which have.
fn nodes<const PEERS: usize>() -> (Node, [Node; PEERS]) {
    let ranks: Vec<_> = (0..COUNT).map(RankId).collect();
    let settings = Settings { capacity: BYTES as usize / 8, direct: false };
    let node = |rank: usize| Node::new(ranks[rank], &ranks, settings).expect("there is memory");
    let target = node(0);
    let empty = taken(&target.address());
    assert!(empty <= SMALL, "a header is all: {empty} bytes");
    let peers = std::array::from_fn(|at| {
        let mut peer = node(1 + at);
        peer.out().connect(RankId(0), &target.address()).expect("it is there");
        peer
    });
    (target, peers)
}

/// Bytes of memory that are allocated for the segment at an address.
fn taken(address: &Address) -> u64 {
    let stat = rustix::fs::fstat(segment(&address.to_string()).as_fd());
    stat.expect("it is there").st_blocks as u64 * 512
}

/// Polls until nothing arrives, and returns how many arrivals there were.
fn poll(node: &mut Node) -> usize {
    let mut recorder = Recorder::of(Vec::new());
    while node.poll(NOW, &mut recorder) > 0 {}
    recorder.arrivals.len()
}

#[test]
fn a_pair_that_exchanges_little_takes_little() {
    let (mut target, mut peers) = nodes::<3>();
    for _ in 0..1000 {
        for peer in &mut peers {
            peer.out().send(RankId(0), &ATS, &[7; 8]);
        }
        assert_eq!(poll(&mut target), 3);
    }
    let (most, taken) = (SMALL * 4, taken(&target.address()));
    assert!(taken <= most, "{taken} bytes for three small rings and a header: more than {most}");
}

#[test]
fn a_message_that_is_too_large_moves_its_pair_alone() {
    let (mut target, mut peers) = nodes::<2>();
    peers[0].out().send(RankId(0), &ATS, &[7; 2000]);
    peers[0].out().send(RankId(0), &ATS, &[7; 8]);
    peers[1].out().send(RankId(0), &ATS, &[7; 8]);
    assert_eq!(poll(&mut target), 3);
    let (range, taken) = (BYTES..=BYTES + 4 * SMALL, taken(&target.address()));
    assert!(
        range.contains(&taken),
        "{taken} bytes for a large ring and two small ones, instead of {range:?}"
    );
}

#[test]
fn messages_that_are_not_taken_move_their_pair() {
    let (mut target, [mut peer]) = nodes();
    let small = taken(&target.address());
    (0..500).for_each(|_| peer.out().send(RankId(0), &ATS, &[7; 8]));
    assert!(!peer.out().is_waiting(), "the large ring has room for all");
    assert!(taken(&target.address()) >= small + BYTES);
    assert_eq!(poll(&mut target), 500);
}

/// Positions of messages go on where a pair moves.
#[test]
fn what_has_arrived_is_known_where_a_pair_moves() {
    let (mut target, [mut peer]) = nodes();
    peer.out().send(RankId(0), &ATS, &[7; 8]);
    poll(&mut target);
    for data in [&[7; 8][..], &[7; 2000], &[7; 8]] {
        peer.out().send(RankId(0), &ATS, data);
        let arrived = target.arrived();
        assert_eq!(target.not_taken(&arrived).count(), 1, "{} bytes", data.len());
        poll(&mut target);
        assert_eq!(target.not_taken(&arrived).count(), 0, "{} bytes", data.len());
    }
}
