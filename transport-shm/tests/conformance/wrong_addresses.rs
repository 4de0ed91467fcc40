//! Addresses at which another process than the peer is found, or none, and peers that have never been connected.

use super::NOW;
use super::edge_cases::{RANKS, Recorder};
use super::processes::ChildRank;
use carrousel_transport::{Arrival, Context, Direction, Head, Header, Outbound, Protocol, Transport};
use carrousel_transport_shm::{Address, ConnectError, Node, Settings};

const RING: Settings = Settings { capacity: 64, direct: false };

fn nodes() -> [Node; 2] {
    RANKS.map(|rank| Node::new(rank, &RANKS, RING).expect("there is memory"))
}

/// An address with one part replaced.
fn with(address: Address, part: usize, other: impl ToString) -> Address {
    let text = address.to_string();
    let mut parts: Vec<String> = text.split(':').map(str::to_owned).collect();
    parts[part] = other.to_string();
    parts.join(":").parse().expect("it is an address")
}

/// The positions of the parts of an address.
mod part {
    pub(super) const PID: usize = 1;
    pub(super) const FD: usize = 2;
    pub(super) const NONCE: usize = 4;
    pub(super) const BEGAN: usize = 5;
    pub(super) const NAMESPACE: usize = 6;
}

#[test]
fn a_peer_of_another_pid_namespace_is_refused_by_name() {
    let [mut node, peer] = nodes();
    let address = with(peer.address(), part::NAMESPACE, 1);
    for error in [node.out().connect(RANKS[1], &address), node.out().watch(RANKS[1], &address)] {
        let error = error.expect_err("its number means another process here");
        assert!(matches!(error, ConnectError::OtherPidNamespace { theirs: 1, .. }), "{error}");
        assert!(error.to_string().contains("--pid=host"), "it names a remedy: {error}");
    }
    // Where the namespace is not known, the segment tells.
    let unknown = with(peer.address(), part::NAMESPACE, 0);
    assert_eq!(node.out().connect(RANKS[1], &unknown), Ok(()));
}

#[test]
fn the_segment_of_another_process_is_refused() {
    let [mut node, peer] = nodes();
    let address = peer.address();
    // Its own segment, which is found where every process has the same numbers.
    let own =
        with(address, part::FD, node.address().to_string().split(':').nth(part::FD).expect("it has one"));
    for address in
        [own, with(address, part::NONCE, 1), with(address, part::FD, 1), with(address, part::FD, 9999)]
    {
        // A rank that only watches gets the error, too: the end of another process is never the peer's.
        for error in [node.out().connect(RANKS[1], &address), node.out().watch(RANKS[1], &address)] {
            let error = error.expect_err("it is another one");
            assert!(matches!(error, ConnectError::SegmentNotFound { .. }), "{error}");
        }
        assert!(!node.out().is_watched(RANKS[1]));
    }
    assert_eq!(node.out().connect(RANKS[1], &address), Ok(()), "a refused connection leaves nothing behind");
}

#[test]
fn a_number_that_is_another_process_s_by_now_is_a_peer_that_has_ended() {
    let [mut node, peer] = nodes();
    let address = with(with(peer.address(), part::BEGAN, 1), part::NONCE, 1);
    assert_eq!(node.out().connect(RANKS[1], &address), Err(ConnectError::ProcessEnded(RANKS[1])));
    let nobody = with(peer.address(), part::PID, i32::MAX);
    assert_eq!(node.out().connect(RANKS[1], &nobody), Err(ConnectError::ProcessEnded(RANKS[1])));
}

#[test]
fn rings_of_another_size_are_refused() {
    let [mut node, _] = nodes();
    let settings = Settings { capacity: 128, ..RING };
    let peer = Node::new(RANKS[1], &RANKS, settings).expect("there is memory");
    let error = node.out().connect(RANKS[1], &peer.address()).expect_err("it has other options");
    assert!(matches!(error, ConnectError::LayoutMismatch { .. }), "{error}");
    assert!(error.to_string().contains("the same options"), "{error}");
}

#[test]
fn the_end_of_a_peer_that_was_never_connected_is_a_loss() {
    let mut node = Node::new(RANKS[0], &RANKS, RING).expect("there is memory");
    let mut peer = ChildRank::start(WAIT);
    let address = peer.hear().parse().expect("an address");
    let mut recorder = Recorder::of(Vec::new());
    node.out().watch(RANKS[1], &address).expect("it is there");
    let mut look = |node: &mut Node| {
        node.check();
        node.poll(NOW, &mut recorder);
        recorder.arrivals.clone()
    };
    assert_eq!(look(&mut node), []);
    assert!(node.out().is_watched(RANKS[1]) && !node.out().is_connected(RANKS[1]));
    peer.kill();
    // A zombie has ended: peers do not depend on whether its parent waits for it.
    while look(&mut node).is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(look(&mut node), [Arrival::Lost(RANKS[1])], "once");
}

/// The peer connects, sends, and ends; the receiver, which has never connected to it, gets the packet first.
#[test]
fn packets_of_a_watched_peer_are_taken_before_its_end_is_reported() {
    let mut node = Node::new(RANKS[0], &RANKS, RING).expect("there is memory");
    let mut peer = ChildRank::start(&format!("{SEND}{}", node.address()));
    let address = peer.hear().parse().expect("an address");
    node.out().watch(RANKS[1], &address).expect("it is there");
    peer.tell("end");
    peer.end();
    let mut recorder = Recorder::of(Vec::new());
    for _ in 0..4 {
        node.check();
        node.poll(NOW, &mut recorder);
    }
    let packet = Arrival::Packet { from: RANKS[1], context: Context::MESSAGES, packet: ATS.header() };
    assert_eq!(recorder.arrivals, [packet, Arrival::Lost(RANKS[1])]);
}

/// A packet without data.
const ATS: Head =
    Head::new(Header::new(Protocol::Messages, Direction::ToSender, 2, Context::MESSAGES), [&[3; 8], &[]]);

/// The task of a process that sends a packet and ends, followed by an address.
pub(super) const SEND: &str = "send ";

/// The task of a process that does nothing.
pub(super) const WAIT: &str = "wait";

/// The process with the task [`WAIT`].
pub(super) fn wait() {
    let node = Node::new(RANKS[1], &RANKS, RING).expect("there is memory");
    super::processes::say(node.address().to_string());
    std::io::stdin().read_line(&mut String::new()).expect("the parent is there");
}

/// The process with the task [`SEND`].
pub(super) fn send(address: &str) {
    let mut node = Node::new(RANKS[1], &RANKS, RING).expect("there is memory");
    node.out().connect(RANKS[0], &address.parse().expect("an address")).expect("it is there");
    node.out().send(RANKS[0], &ATS, &[]);
    super::processes::say(node.address().to_string());
    std::io::stdin().read_line(&mut String::new()).expect("the parent is there");
}
