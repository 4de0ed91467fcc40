//! Packets that no honest peer sends: each is an error that names the peer, and changes nothing.

use crate::pair::{LARGE, Pair, SMALL, bytes, from, options, tag};
use crate::under_both;
use carrousel_rank::*;
use carrousel_rendezvous::{Hint, Violation};

under_both!(
    a_write_goes_to_the_first_receive_that_matches,
    a_write_needs_an_announced_receive_that_waits,
    a_write_past_the_end_is_refused,
    an_answer_needs_a_message_that_was_offered,
    a_write_longer_than_the_message_is_not_cleared,
    nothing_is_filled_unasked,
    announcements_stay_within_the_limit,
    a_receive_is_announced_once,
    a_packet_comes_from_a_peer_in_a_communicator,
    what_is_right_in_one_communicator_is_not_in_another,
    nothing_is_announced_in_the_collective_context,
    an_answer_to_a_round_needs_a_message_of_it,
    nobody_answers_for_another_rank,
);

const MEMORY: Memory = Memory { address: 0, key: 0 };
const UNKNOWN: Handle = Handle { index: 9, generation: 3 };

/// Asserts that rank 0 refuses `packet` of rank 1, asks for nothing and changes nothing.
fn refused<P: Protocol>(pair: &mut Pair<P>, packet: Packet, wrong: PacketError) {
    refused_from(pair, RankId(1), Context::MESSAGES, packet, wrong);
}

fn refused_from<P: Protocol>(
    pair: &mut Pair<P>,
    from: RankId,
    context: Context,
    packet: Packet,
    wrong: PacketError,
) {
    pair.told();
    let before = pair.ranks[0].clone();
    let result = pair.event(0, Event::Packet { from, context, packet }, &[]);
    assert_eq!(result, Err(ProtocolError { peer: from, wrong }));
    assert!(pair.ranks[0] == before, "{packet:?} changed the rank");
    assert_eq!(pair.told(), "");
}

/// The packets that say that `receive` has been, or is being, written into.
fn writes(receive: Handle, tag: u32, len: u64) -> [Packet; 2] {
    let (rtr, tag) = (RtrId { receive, index: 0 }, mpi::tag(tag));
    [Packet::Fin { rtr, tag, data: None, len }, Packet::RtrAck { rtr, tag, data: None, len }]
}

fn rtr_packet(receive: Handle, seen: u32, ahead: u16) -> Packet {
    Packet::Rtr(Rtr { tag: tag(5), seen, ahead, receive, len: 64, memory: MEMORY })
}

fn a_write_goes_to_the_first_receive_that_matches<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let first = pair.receive(0, from(1), tag(5), LARGE);
    let second = pair.receive(0, from(1), tag(5), LARGE);
    let other = pair.receive(0, from(1), tag(6), LARGE);
    for packet in writes(second, 5, 8) {
        refused(&mut pair, packet, PacketError::NotFirstMatch(second));
    }
    for packet in writes(other, 5, 8) {
        refused(&mut pair, packet, PacketError::NotFirstMatch(other));
    }
    for packet in writes(first, 7, 8) {
        refused(&mut pair, packet, PacketError::NotFirstMatch(first));
    }
    // The rank is as good as before.
    pair.run();
    for (seed, receive) in [first, second].into_iter().enumerate() {
        pair.send(1, 0, 5, &bytes(LARGE, seed as u8));
        pair.run();
        pair.got(0, receive, 1, 5, &bytes(LARGE, seed as u8));
    }
}

fn a_write_needs_an_announced_receive_that_waits<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let complete = pair.receive(0, from(1), tag(5), LARGE);
    pair.send(1, 0, 5, &bytes(SMALL, 1));
    pair.run();
    let small = pair.receive(0, from(1), tag(5), SMALL);
    let any = pair.receive(0, Source::Any, tag(6), LARGE);
    let send = pair.send(0, 1, 7, &bytes(LARGE, 1));
    for receive in [complete, small, any, send, UNKNOWN] {
        for packet in writes(receive, 5, 8) {
            refused(&mut pair, packet, PacketError::Request(receive));
        }
    }
    // A receive that another one's RTR announced, without its buffer.
    let ahead = pair.receive(0, from(1), tag(8), SMALL);
    pair.receive(0, from(1), tag(8), LARGE);
    for packet in writes(ahead, 8, 8) {
        refused(&mut pair, packet, PacketError::Request(ahead));
    }
}

fn a_write_past_the_end_is_refused<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let receive = pair.receive(0, from(1), tag(5), LARGE);
    for len in [LARGE as u64 + 1, u64::MAX] {
        for packet in writes(receive, 5, len) {
            refused(&mut pair, packet, PacketError::Length(receive));
        }
    }
}

fn answers(send: Handle, len: u64) -> [Packet; 3] {
    let clear = Packet::Cts { send, receive: UNKNOWN, len, memory: MEMORY };
    [Packet::Ats { send }, Packet::RtsAck { send }, clear]
}

fn an_answer_needs_a_message_that_was_offered<P: Protocol>() {
    let mut pair = Pair::<P>::with(3, &options());
    let eager = pair.send(0, 1, 5, &bytes(SMALL, 1));
    let other = pair.send(0, 2, 5, &bytes(LARGE, 1));
    let to_self = pair.send(0, 0, 5, &bytes(LARGE, 1));
    let receive = pair.receive(0, from(1), tag(5), LARGE);
    for send in [eager, other, to_self, receive, UNKNOWN] {
        for packet in answers(send, 8) {
            refused(&mut pair, packet, PacketError::Request(send));
        }
    }
    let send = pair.send(0, 1, 5, &bytes(LARGE, 2));
    assert_eq!(pair.forge(1, 0, Packet::Ats { send }), Ok(()));
    for packet in answers(send, 8) {
        refused(&mut pair, packet, PacketError::Request(send));
    }
}

fn a_write_longer_than_the_message_is_not_cleared<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    let send = pair.send(0, 1, 5, &bytes(LARGE, 1));
    let clear = Packet::Cts { send, receive: UNKNOWN, len: LARGE as u64 + 1, memory: MEMORY };
    refused(&mut pair, clear, PacketError::Length(send));
}

fn nothing_is_filled_unasked<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let announced = pair.receive(0, from(1), tag(5), LARGE);
    pair.send(1, 0, 6, &bytes(LARGE, 1));
    pair.run();
    let reading = pair.receive(0, from(1), tag(6), LARGE);
    for receive in [announced, reading, UNKNOWN] {
        refused(&mut pair, Packet::Atp { receive }, PacketError::Request(receive));
    }
}

fn announcements_stay_within_the_limit<P: Protocol>() {
    let wrong = PacketError::History(Violation::TooManyLines);
    let mut pair = Pair::<P>::with(2, &Options { rtr_limit: 3, ..options() });
    refused(&mut pair, rtr_packet(UNKNOWN, 0, 3), wrong);
    refused(&mut pair, rtr_packet(UNKNOWN, 0, u16::MAX), wrong);
    for index in 0..3 {
        let receive = Handle { index, generation: 0 };
        assert_eq!(pair.forge(1, 0, rtr_packet(receive, 0, 0)), Ok(()));
    }
    refused(&mut pair, rtr_packet(UNKNOWN, 0, 0), wrong);
}

fn a_receive_is_announced_once<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    assert_eq!(pair.forge(1, 0, rtr_packet(UNKNOWN, 0, 0)), Ok(()));
    let wrong = PacketError::History(Violation::AnnouncedTwice { receive: UNKNOWN });
    refused(&mut pair, rtr_packet(UNKNOWN, 0, 0), wrong);
}

/// Under the mirror rules, what has been seen is part of the protocol.
#[test]
fn nothing_is_seen_before_it_is_sent() {
    let too_much = |seen, sent| PacketError::History(Violation::SeenTooMuch { seen, sent });
    let mut pair = Pair::<Mirror>::new();
    for (sent, seen) in [(0, 1), (1, 2), (2, 1 << 31), (3, 1 << 30)] {
        refused(&mut pair, Packet::Ack { seen, taken: 0 }, too_much(seen, sent));
        refused(&mut pair, rtr_packet(UNKNOWN, seen, 0), too_much(seen, sent));
        pair.send(0, 1, 5, &bytes(SMALL, 1));
        assert_eq!(pair.forge(1, 0, Packet::Ack { seen: sent + 1, taken: 0 }), Ok(()));
    }
}

fn some_packets(receive: Handle) -> Vec<Packet> {
    let eager = Packet::Eager { tag: Tag(5), data: None, len: 0 };
    let rts =
        Packet::Rts { tag: Tag(5), data: None, len: 64, send: UNKNOWN, memory: MEMORY, hint: Hint::None };
    let rtr = RtrId { receive, index: 0 };
    let others = [Packet::Cancel { rtr }, Packet::CancelAck { rtr }, Packet::Ack { seen: 0, taken: 0 }];
    let mut packets = vec![eager, rts, rtr_packet(UNKNOWN, 0, 0), Packet::Atp { receive }];
    packets.extend(writes(receive, 5, 8).into_iter().chain(answers(UNKNOWN, 8)).chain(others));
    packets
}

fn a_packet_comes_from_a_peer_in_a_communicator<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let receive = pair.receive(0, from(1), tag(5), LARGE);
    for packet in some_packets(receive) {
        for peer in [2, u32::MAX] {
            refused_from(&mut pair, RankId(peer), Context::MESSAGES, packet, PacketError::Peer);
        }
    }
}

fn what_is_right_in_one_communicator_is_not_in_another<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let receive = pair.receive(0, from(1), tag(5), LARGE);
    let send = pair.send(0, 1, 7, &bytes(LARGE, 1));
    for packet in writes(receive, 5, 8) {
        refused_from(&mut pair, RankId(1), Context(2), packet, PacketError::Request(receive));
    }
    for packet in answers(send, 8) {
        refused_from(&mut pair, RankId(1), Context(2), packet, PacketError::Request(send));
    }
}

fn nothing_is_announced_in_the_collective_context<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let receive = pair.receive(0, from(1), tag(5), LARGE);
    let barrier = pair.barrier(0);
    let rtr = RtrId { receive, index: 0 };
    let mut packets = vec![rtr_packet(UNKNOWN, 0, 0), Packet::Cancel { rtr }, Packet::CancelAck { rtr }];
    packets.extend(writes(receive, 5, 8));
    for packet in packets {
        refused_from(&mut pair, RankId(1), Context::COLLECTIVES, packet, PacketError::Context);
    }
    assert!(!pair.is_complete(0, barrier));
}

fn an_answer_to_a_round_needs_a_message_of_it<P: Protocol>() {
    let mut pair = Pair::<P>::with(3, &options());
    let len = LARGE as u64;
    let call = Collective { kind: Kind::AllToAll, len, ..Collective::barrier(Communicator::WORLD) };
    let (own, _) = pair.collective(0, &call, &bytes(3 * LARGE, 1));
    // Rank 0 offers its first message to rank 1, and waits for one of rank 2.
    let (send, receive) = (1 << 31, 3 << 30);
    let of_round = |bits: u32| Handle { index: own.index | bits, ..own };
    for (peer, request) in [(2, of_round(send)), (1, of_round(receive)), (1, own), (1, UNKNOWN)] {
        for packet in answers(request, 8) {
            refused_from(
                &mut pair,
                RankId(peer),
                Context::COLLECTIVES,
                packet,
                PacketError::Request(request),
            );
        }
        let filled = Packet::Atp { receive: request };
        refused_from(&mut pair, RankId(peer), Context::COLLECTIVES, filled, PacketError::Request(request));
    }
    for packet in answers(of_round(send), 8) {
        refused_from(&mut pair, RankId(1), Context::MESSAGES, packet, PacketError::Request(of_round(send)));
    }
    // What belongs to a collective is nothing that the application could ask about.
    for request in [of_round(send), of_round(receive)] {
        assert_eq!(collective_of(request), Some(own));
        let unknown = UsageError::NoSuchRequest(request);
        assert_eq!(pair.call(0, Call::Cancel(request)), Err(unknown));
        assert_eq!(pair.ranks[0].release(request), Err(unknown));
        assert!(!pair.is_complete(0, request));
    }
    assert_eq!(pair.ranks[0].pending().collect::<Vec<_>>(), [own]);
}

fn nobody_answers_for_another_rank<P: Protocol>() {
    let mut pair = Pair::<P>::with(3, &options()).announce(true);
    let receive = pair.receive(0, from(1), tag(5), LARGE);
    for packet in writes(receive, 5, 8) {
        refused_from(&mut pair, RankId(2), Context::MESSAGES, packet, PacketError::NotFirstMatch(receive));
    }
    pair.call(0, Call::Cancel(receive)).expect("it is a receive");
    let rtr = RtrId { receive, index: 0 };
    assert_eq!(pair.forge(2, 0, Packet::CancelAck { rtr }), Ok(()));
    assert!(!pair.is_complete(0, receive), "rank 1 may be writing");
    assert_eq!(pair.forge(1, 0, Packet::CancelAck { rtr }), Ok(()));
    assert!(pair.is_complete(0, receive));
}
