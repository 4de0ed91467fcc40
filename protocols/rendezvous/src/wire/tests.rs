use super::*;
use alloc::vec;
use alloc::vec::Vec;
use carrousel_wire::VERSION;
use proptest::prelude::*;

fn handle() -> impl Strategy<Value = Handle> {
    any::<(u32, u32)>().prop_map(|(index, generation)| Handle { index, generation })
}

fn memory() -> impl Strategy<Value = Memory> {
    any::<(u64, u32)>().prop_map(|(address, key)| Memory { address, key })
}

fn rtr_id() -> impl Strategy<Value = RtrId> {
    (handle(), any::<u16>()).prop_map(|(receive, index)| RtrId { receive, index })
}

fn a_tag() -> impl Strategy<Value = Tag> {
    any::<u64>().prop_map(Tag)
}

fn rtr() -> impl Strategy<Value = Rtr> {
    let ignore = prop_oneof![Just(0), any::<u64>()];
    let tag = (a_tag(), ignore).prop_map(|(tag, ignore)| TagSelector::new(tag, ignore));
    (tag, any::<(u32, u16, u64)>(), handle(), memory()).prop_map(|(tag, rest, receive, memory)| {
        let (seen, ahead, len) = rest;
        Rtr { tag, seen, ahead, receive, len, memory }
    })
}

fn a_packet() -> impl Strategy<Value = Packet> {
    let hint = prop::sample::select(&[Hint::None, Hint::StopRtr, Hint::ResumeRtr, Hint::Unused][..]);
    let written = || (rtr_id(), a_tag(), any::<Option<u64>>(), any::<u64>());
    prop_oneof![
        (a_tag(), any::<Option<u64>>(), 0..100_u64).prop_map(|(tag, data, len)| Packet::Eager {
            tag,
            data,
            len
        }),
        (a_tag(), any::<Option<u64>>(), any::<u64>(), handle(), memory(), hint).prop_map(
            |(tag, data, len, send, memory, hint)| Packet::Rts { tag, data, len, send, memory, hint }
        ),
        written().prop_map(|(rtr, tag, data, len)| Packet::Fin { rtr, tag, data, len }),
        written().prop_map(|(rtr, tag, data, len)| Packet::RtrAck { rtr, tag, data, len }),
        handle().prop_map(|receive| Packet::Atp { receive }),
        rtr_id().prop_map(|rtr| Packet::CancelAck { rtr }),
        rtr().prop_map(Packet::Rtr),
        handle().prop_map(|send| Packet::Ats { send }),
        handle().prop_map(|send| Packet::RtsAck { send }),
        (handle(), handle(), any::<u64>(), memory()).prop_map(|(send, receive, len, memory)| Packet::Cts {
            send,
            receive,
            len,
            memory
        }),
        rtr_id().prop_map(|rtr| Packet::Cancel { rtr }),
        (any::<u32>(), any::<u64>()).prop_map(|(seen, taken)| Packet::Ack { seen, taken }),
    ]
}

fn kinds() -> impl Strategy<Value = Kind> {
    let with_word = prop::sample::select(&[Kind::EAGER, Kind::RTS, Kind::FIN, Kind::RTR_ACK, Kind::RTR][..]);
    let direction = prop::sample::select(&[Direction::ToReceiver, Direction::ToSender][..]);
    prop_oneof![
        12 => (direction, 1..7_u8).prop_map(|(direction, kind)| Kind(direction, kind)),
        5 => with_word.prop_map(|Kind(direction, kind)| Kind(direction, kind | Kind::WITH_WORD)),
    ]
}

fn frame(context: Context, packet: &Packet) -> Vec<u8> {
    let data = if let Packet::Eager { len, .. } = packet { *len as usize } else { 0 };
    let head = encode(context, packet);
    head.as_bytes().iter().copied().chain((0..data).map(|at| at as u8)).collect()
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(context in any::<u16>(), packet in a_packet()) {
        let bytes = frame(Context(context), &packet);
        let frame = decode(&bytes);
        prop_assert_eq!(frame.map(|frame| (frame.context, frame.packet)), Ok((Context(context), packet)));
    }

    #[test]
    fn a_frame_has_its_length(packet in a_packet(), cut in any::<prop::sample::Index>()) {
        let mut bytes = frame(Context::MESSAGES, &packet);
        let head = encode(Context::MESSAGES, &packet).as_bytes().len();
        let short = decode(&bytes[..cut.index(head)]);
        prop_assert!(matches!(short, Err(WireError::Short { .. })), "{short:?}");
        bytes.push(0);
        let long = decode(&bytes).map(|frame| frame.packet);
        match packet {
            Packet::Eager { tag, data, len } => {
                prop_assert_eq!(long, Ok(Packet::Eager { tag, data, len: len + 1 }));
            }
            _ => prop_assert_eq!(long, Err(WireError::Data { got: 1 })),
        }
    }

    #[test]
    fn a_packet_travels_in_its_direction(context in any::<u16>(), packet in a_packet()) {
        let header = encode(Context(context), &packet).header();
        prop_assert_eq!(header.direction(), packet.direction());
        prop_assert_eq!(header.context(), Context(context));
    }

    #[test]
    fn most_eagers_are_known_by_their_header(context in any::<u16>(), packet in a_packet()) {
        let head = encode(Context(context), &packet);
        let Packet::Eager { tag, data: None, .. } = packet else {
            prop_assert!(!is_eager(head.header()));
            let beside = matches!(packet, Packet::Eager { data: Some(_), .. });
            prop_assert_eq!(is_eager_beside(head.header()), beside);
            prop_assert!(!beside || head.header() == eager_beside(Context(context)));
            return Ok(());
        };
        prop_assert_eq!(head.header(), eager(Context(context)));
        prop_assert!(is_eager(head.header()) && !is_eager_beside(head.header()));
        prop_assert_eq!(head.body(), tag.0.to_le_bytes());
    }

    #[test]
    fn a_packet_has_one_encoding(kind in kinds(), bytes in prop::collection::vec(any::<u8>(), 100)) {
        // Bytes of the kind's head, and where in it is what means nothing.
        let own = Kind(kind.0, kind.1 & !Kind::WITH_WORD);
        let (body, unused) = match own {
            Kind::EAGER => (12, 0..0),
            Kind::RTS => (44, 41..44),
            Kind::FIN | Kind::RTR_ACK => (32, 14..16),
            Kind::RTR => (48, 18..20),
            Kind::CTS => (40, 0..0),
            Kind::CANCEL | Kind::CANCEL_ACK => (16, 14..16),
            Kind::ACK => (16, 0..0),
            _ => (12, 0..0),
        };
        let mut bytes = bytes;
        let len = body + if kind == own { 0 } else { 8 };
        let data = if own == Kind::EAGER { 5 } else { 0 };
        bytes.truncate(len + data);
        let context = Context(u16::from_le_bytes([bytes[2], bytes[3]]));
        bytes[..4].copy_from_slice(&Header::new(Protocol::Messages, kind.0, kind.1, context).to_bytes());
        unused.for_each(|at| bytes[at] = 0);
        match own {
            Kind::RTS => bytes[40] %= 4,
            // Of a byte at least one bit is ignored, which the tag must not have.
            Kind::RTR if kind != own => {
                bytes[48] |= 1;
                (0..8).for_each(|at| bytes[4 + at] &= !bytes[48 + at]);
            }
            _ => {}
        }
        let decoded = decode(&bytes);
        prop_assert!(decoded.is_ok(), "{decoded:?}");
        if let Ok(decoded) = decoded {
            let head = encode(decoded.context, &decoded.packet);
            prop_assert_eq!([head.as_bytes(), decoded.data].concat(), bytes);
        }
    }
}

#[test]
fn what_is_no_frame_is_told() {
    const FIRST: u8 = VERSION << 3;
    const BACK: u8 = 0x80;
    let done = Packet::Ats { send: Handle { index: 3, generation: 1 } };
    let good = frame(Context::MESSAGES, &done);
    assert_eq!(good, [FIRST, BACK | 2, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0]);
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        decode(&bytes).map(|frame| frame.packet)
    };
    let kind = |direction, kind| Err(WireError::Kind { kind, direction });
    assert_eq!(with(0, 3), Err(WireError::Header(HeaderError::Version(0))));
    assert_eq!(with(0, FIRST | 1), Err(WireError::Header(HeaderError::Protocol(1))));
    assert_eq!(with(1, BACK), kind(Direction::ToSender, 0));
    assert_eq!(with(1, BACK | 7), kind(Direction::ToSender, 7));
    assert_eq!(with(1, 7), kind(Direction::ToReceiver, 7));
    assert_eq!(with(1, BACK | Kind::WITH_WORD | 2), kind(Direction::ToSender, Kind::WITH_WORD | 2));
    assert_eq!(decode(&good[..3]), Err(WireError::Short { got: 3, needed: 4 }));
    assert_eq!(decode(&good[..11]), Err(WireError::Short { got: 11, needed: 12 }));
    let mut masked = [0; 56];
    (masked[0], masked[1], masked[4]) = (FIRST, BACK | Kind::WITH_WORD | 1, 3);
    assert_eq!(decode(&masked), Err(WireError::Mask { tag: 3, ignore: 0 }));
    masked[48] = 2;
    assert_eq!(decode(&masked), Err(WireError::Mask { tag: 3, ignore: 2 }));
    masked[48] = 4;
    assert!(decode(&masked).is_ok());
    assert_eq!(decode(&masked[..55]), Err(WireError::Short { got: 55, needed: 56 }));
    let cancel = [FIRST, BACK | 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
    assert_eq!(decode(&cancel), Err(WireError::Unused));
    let mut rts = [0; 44];
    (rts[0], rts[1], rts[40]) = (FIRST, 2, 4);
    assert_eq!(decode(&rts), Err(WireError::Hint(4)));
    let unknown = WireError::Kind { kind: 7, direction: Direction::ToSender };
    assert_eq!(alloc::format!("{unknown}"), "there is no packet of kind 7 to the sender");
}

#[test]
fn heads_are_small() {
    let sizes = [size_of::<EagerBody>(), size_of::<RtsBody>(), size_of::<RtrBody>(), size_of::<CtsBody>()];
    assert_eq!(sizes.map(|body| Header::LEN + body), [12, 44, 48, 40]);
}
