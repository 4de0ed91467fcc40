//! Peers that are not known ahead: each has ranks of its own for the others, and is heard once it has said who it is.

use super::NOW;
use super::edge_cases::Recorder;
use carrousel_transport::{Arrival, Context, Direction, Head, Header, Outbound, Protocol, RankId, Transport};
use carrousel_transport_shm::{Address, Node, Settings};
use std::sync::{Arc, Mutex};

const RING: Settings = Settings { capacity: 64, direct: false };
const PACKET: Head =
    Head::new(Header::new(Protocol::Messages, Direction::ToSender, 2, Context::MESSAGES), [&[3; 8], &[]]);

/// An open node, and the texts that it knows, by rank.
struct Open {
    node: Node,
    known: Arc<Mutex<Vec<String>>>,
    memory: Recorder,
}

impl Open {
    /// A node for so many peers, which refuses those whose text begins with "stranger".
    fn new(most: u32) -> Self {
        let known = Arc::<Mutex<Vec<String>>>::default();
        let names = Arc::clone(&known);
        let name = move |text: &[u8]| {
            let text = String::from_utf8(text.to_vec()).ok().filter(|text| !text.starts_with("stranger"))?;
            Some(rank_of(&names, &text))
        };
        let mut node = Node::open(most, Box::new(name), RING).expect("there is memory");
        let own = node.address().to_string();
        node.introduce_as(own.as_bytes());
        Self { node, known, memory: Recorder::of(Vec::new()) }
    }

    /// The rank that it has for a peer.
    fn rank_of(&self, peer: &Self) -> RankId {
        rank_of(&self.known, &peer.node.address().to_string())
    }

    fn connect(&mut self, peer: &Self) -> RankId {
        let rank = self.rank_of(peer);
        let address: Address = peer.node.address();
        self.node.out().connect(rank, &address).expect("it is there");
        rank
    }

    fn poll(&mut self) -> Vec<Arrival> {
        self.node.poll(NOW, &mut self.memory);
        std::mem::take(&mut self.memory.arrivals)
    }
}

fn rank_of(known: &Mutex<Vec<String>>, text: &str) -> RankId {
    let mut known = known.lock().expect("no test panics while it has it");
    let at = known.iter().position(|one| one == text).unwrap_or_else(|| {
        known.push(text.to_owned());
        known.len() - 1
    });
    RankId(at as u32)
}

fn packet(from: RankId) -> Arrival {
    Arrival::Packet { from, context: Context::MESSAGES, packet: PACKET.header() }
}

#[test]
fn a_peer_is_heard_that_nobody_expected() {
    let (mut server, mut clients) = (Open::new(4), [Open::new(4), Open::new(4), Open::new(4)]);
    for client in &mut clients {
        let to = client.connect(&server);
        assert_eq!(to, RankId(0), "it knows no other");
        client.node.out().send(to, &PACKET, &[]);
    }
    let arrivals = server.poll();
    assert_eq!(arrivals, [0, 1, 2].map(|rank| packet(RankId(rank))));
    // What it has named it can answer.
    let last = &mut clients[2];
    let rank = server.connect(last);
    assert_eq!(rank, RankId(2));
    server.node.out().send(rank, &PACKET, &[]);
    assert_eq!(last.poll(), [packet(RankId(0))]);
}

#[test]
fn a_peer_that_is_named_before_keeps_its_name() {
    let (mut server, mut early, mut late) = (Open::new(4), Open::new(4), Open::new(4));
    let expected = server.rank_of(&late);
    let (to, also) = (early.connect(&server), late.connect(&server));
    early.node.out().send(to, &PACKET, &[]);
    late.node.out().send(also, &PACKET, &[]);
    assert_eq!(expected, RankId(0));
    assert_eq!(server.poll(), [packet(RankId(1)), packet(RankId(0))]);
}

#[test]
fn a_stranger_is_not_heard() {
    let (mut server, mut stranger, mut friend) = (Open::new(4), Open::new(4), Open::new(4));
    stranger.node.introduce_as(b"stranger");
    for client in [&mut stranger, &mut friend] {
        let to = client.connect(&server);
        client.node.out().send(to, &PACKET, &[]);
    }
    assert_eq!(server.poll(), [packet(RankId(0))]);
    assert_eq!(*server.known.lock().expect("nobody panics"), [friend.node.address().to_string()]);
}

#[test]
fn two_rings_of_one_name_are_one_peer() {
    let (mut server, mut one, mut other) = (Open::new(4), Open::new(4), Open::new(4));
    other.node.introduce_as(one.node.address().to_string().as_bytes());
    for client in [&mut one, &mut other] {
        let to = client.connect(&server);
        client.node.out().send(to, &PACKET, &[]);
    }
    assert_eq!(server.poll(), [packet(RankId(0))], "the first is heard, the impostor is not");
    assert_eq!(server.poll(), []);
}

#[test]
fn more_peers_than_there_is_room_for_are_refused() {
    let (server, mut clients) = (Open::new(2), [Open::new(2), Open::new(2), Open::new(2)]);
    let mut connect = |at: usize| {
        let client = &mut clients[at];
        let rank = client.rank_of(&server);
        client.node.out().connect(rank, &server.node.address())
    };
    assert_eq!((connect(0), connect(1)), (Ok(()), Ok(())));
    let error = connect(2).expect_err("both rings are taken");
    assert!(error.to_string().contains("has 2"), "{error}");
}
