//! Bytes of a peer that are no packet: the transport hands them over, the endpoint takes them apart, and gives the peer up.
#![allow(unsafe_code, reason = "the endpoint's memory is lent by pointer")]

use carrousel_engine::{CallContext, Endpoint, Error, LocalJob};
use carrousel_rank::wire::{WireError, encode};
use carrousel_rank::{Communicator, Context, Direction, Handle, Packet, RankId, RtrId, Source, Tag, mpi};
use carrousel_transport::{Head, Header, Outbound, Protocol, Transport};
use carrousel_transport_shm::{Node, Settings};

const WORLD: CallContext = CallContext { communicator: Communicator::WORLD, site: None };
const ME: RankId = RankId(0);
const PEER: RankId = RankId(1);

/// A rank, and its peer, of which there is only the transport: it sends what no protocol does.
fn ends() -> (Endpoint, Node) {
    let settings = Settings::default();
    let endpoint = LocalJob::new(2).shm(ME.0, settings).expect("there is memory");
    let mut peer = Node::new(PEER, &[ME, PEER], settings).expect("there is memory");
    peer.out().connect(ME, &endpoint.address().parse().expect("it is an address")).expect("it is there");
    (endpoint, peer)
}

/// What a wait for a message of the peer ends with.
fn wait(endpoint: &mut Endpoint) -> Error {
    let found = endpoint.wait_for_message(WORLD.caller(), Source::Rank(PEER), mpi::selector(Some(7)));
    *found.expect_err("there is no such message")
}

/// A head with a header of any bits.
fn head(bits: u32, body: &[u8]) -> Head {
    Head::new(Header::from_bits(bits), [body, &[]])
}

#[test]
fn bytes_that_are_no_packet_are_the_end_of_the_connection() {
    let rtr = RtrId { receive: Handle { index: 1, generation: 0 }, index: 0 };
    let good = encode(Context::MESSAGES, &Packet::CancelAck { rtr });
    let bits = good.header().bits();
    let eager = encode(Context::MESSAGES, &Packet::Eager { tag: Tag(7), data: None, len: 0 });
    let beside = encode(Context::MESSAGES, &Packet::Eager { tag: Tag(7), data: Some(9), len: 0 });
    let unknown = Header::new(Protocol::Messages, Direction::ToSender, 60, Context::MESSAGES).bits();
    let cases: [(Head, &[u8], &str); 9] = [
        (head(8, &[0; 8]), &[], "it has version 1 of the format, not 4"),
        (head(u32::MAX, &[]), &[], "it has version 31 of the format, not 4"),
        (head(bits | 3, good.body()), &[], "there is no protocol 3"),
        (head(unknown, &[0; 8]), &[], "there is no packet of kind 60 to the sender"),
        (head(bits, &good.body()[1..]), &[], "it ends after 15 bytes of 16"),
        (head(eager.header().bits(), &[0; 7]), &[], "it ends after 11 bytes of 12"),
        (head(beside.header().bits(), &[0; 8]), &[], "it ends after 12 bytes of 20"),
        (good, &[1], "it has 1 bytes of data, and its kind has none"),
        (head(bits, &[1; 12]), &[], "bytes that mean nothing are not zero"),
    ];
    for (head, data, why) in cases {
        let (mut endpoint, mut peer) = ends();
        peer.out().send(ME, &head, data);
        // Nothing behind it is taken.
        peer.out().send(ME, &eager, &[]);
        let found = wait(&mut endpoint);
        let told = format!("rank 1 sent bytes that are no packet: {why}");
        assert_eq!(found.to_string(), told);
        let Error::Malformed { rank: 1, why } = found else { panic!("{found:?}") };
        assert!(!matches!(why, WireError::Mask { .. } | WireError::Hint(_)));
        assert!(matches!(wait(&mut endpoint), Error::PeerLost { rank: 1, .. }), "a reason is told once");
    }
}

#[test]
fn an_eager_of_either_encoding_arrives() {
    let (mut endpoint, mut peer) = ends();
    for (data, bytes) in [(None, &b"abc"[..]), (Some(9), b"defgh"), (None, b"")] {
        let packet = Packet::Eager { tag: Tag(7), data, len: bytes.len() as u64 };
        peer.out().send(ME, &encode(Context::MESSAGES, &packet), bytes);
        let (from, tag) = (Source::Rank(PEER), mpi::selector(Some(7)));
        let mut got = [0; 8];
        // SAFETY: the bytes are there, and not used, until the request has ended.
        let request = unsafe { endpoint.receive(&raw mut got, WORLD.caller(), from, tag) };
        let request = request.expect("there is such a rank");
        let status = endpoint.wait(request, WORLD.caller(), |status| *status).expect("it has come");
        assert_eq!((status.len, status.data), (bytes.len() as u64, data));
        assert_eq!(&got[..bytes.len()], bytes);
    }
}
