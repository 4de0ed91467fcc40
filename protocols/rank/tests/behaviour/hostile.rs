//! Whatever a peer, the application and the transport say, in whatever order: a rank does not panic, and
//! what it refuses changes nothing.

use carrousel_rank::*;
use carrousel_rendezvous::Hint;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// One input.
#[derive(Clone, Copy, Debug)]
enum Step {
    Call(Call),
    Event(Event),
    /// Announce what may be announced.
    Announce,
    Release(Handle),
    Claim(Source, TagSelector),
}

const RANKS: u32 = 4;

fn handle() -> impl Strategy<Value = Handle> {
    // Mostly names that are in use.
    // The requests of a collective's rounds are named after it: the upper two bits say which.
    let of_round = select(vec![0, 0, 0, 2_u32 << 30, 3 << 30]);
    (0..5_u32, select(vec![0, 0, 0, 0, 1, 1, 2]), of_round)
        .prop_map(|(index, generation, of_round)| Handle { index: index | of_round, generation })
}

fn tag() -> impl Strategy<Value = Tag> {
    select(vec![0, 1, 2, u64::MAX]).prop_map(Tag)
}

fn selector() -> impl Strategy<Value = TagSelector> {
    (tag(), select(vec![0, 0, 0, 1, 2, u64::MAX])).prop_map(|(tag, ignore)| TagSelector::new(tag, ignore))
}

/// Rank 0 is the one that is tested; the last one does not exist.
fn rank() -> impl Strategy<Value = RankId> {
    select(vec![0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3, RANKS]).prop_map(RankId)
}

fn source() -> impl Strategy<Value = Source> {
    prop::option::weighted(0.8, rank()).prop_map(|rank| rank.map_or(Source::Any, Source::Rank))
}

fn len() -> impl Strategy<Value = u64> {
    select(vec![0, 8, 64, 64, 80, u64::MAX])
}

fn data() -> impl Strategy<Value = Option<u64>> {
    select(vec![None, None, Some(0), Some(u64::MAX)])
}

const MEMORY: Memory = Memory { address: 0, key: 0 };

fn call() -> impl Strategy<Value = Call> {
    let send = (rank(), tag(), len(), any::<bool>(), data()).prop_map(|(to, tag, len, synchronous, data)| {
        Send { to, tag, communicator: Communicator::WORLD, len, memory: MEMORY, synchronous, data }
    });
    let receive = (source(), selector(), len()).prop_map(|(from, tag, len)| Receive {
        from,
        tag,
        communicator: Communicator::WORLD,
        len,
        memory: MEMORY,
    });
    prop_oneof![
        4 => send.prop_map(Call::Send),
        6 => receive.prop_map(Call::Receive),
        3 => collective().prop_map(Call::Collective),
        1 => handle().prop_map(Call::Cancel),
        1 => handle().prop_map(Call::Discard),
        1 => (handle(), len()).prop_map(|(message, len)| {
            Call::ReceiveClaimed(ReceiveClaimed { message, len, memory: MEMORY })
        }),
    ]
}

fn collective() -> impl Strategy<Value = Collective> {
    let communicator = select(vec![0, 0, 0, 1, 2]).prop_map(|index| Communicator::new(index).expect("few"));
    (select(&Kind::ALL), communicator, 0..4_u32, select(vec![0, 8, 16, 64, 4096, u64::MAX])).prop_map(
        |(kind, communicator, root, len)| Collective {
            kind,
            root,
            len,
            element: 8,
            ..Collective::barrier(communicator)
        },
    )
}

fn packet() -> impl Strategy<Value = Packet> {
    let hint = select(vec![Hint::None, Hint::StopRtr, Hint::ResumeRtr, Hint::Unused]);
    let rtr_id = || (handle(), 0..3_u16).prop_map(|(receive, index)| RtrId { receive, index });
    let seen = || select(vec![0, 1, 2, 5, u32::MAX]);
    let ahead = select(vec![0, 0, 0, 1, 2, u16::MAX]);
    let memory = MEMORY;
    let rtr = (selector(), seen(), ahead, handle(), len())
        .prop_map(move |(tag, seen, ahead, receive, len)| Rtr { tag, seen, ahead, receive, len, memory });
    prop_oneof![
        (tag(), data(), len()).prop_map(|(tag, data, len)| Packet::Eager { tag, data, len }),
        (tag(), data(), len(), handle(), hint).prop_map(move |(tag, data, len, send, hint)| Packet::Rts {
            tag,
            data,
            len,
            send,
            memory,
            hint
        }),
        (rtr_id(), tag(), data(), len()).prop_map(|(rtr, tag, data, len)| Packet::Fin {
            rtr,
            tag,
            data,
            len
        }),
        (rtr_id(), tag(), data(), len()).prop_map(|(rtr, tag, data, len)| Packet::RtrAck {
            rtr,
            tag,
            data,
            len
        }),
        handle().prop_map(|receive| Packet::Atp { receive }),
        rtr_id().prop_map(|rtr| Packet::CancelAck { rtr }),
        rtr.prop_map(Packet::Rtr),
        handle().prop_map(|send| Packet::Ats { send }),
        handle().prop_map(|send| Packet::RtsAck { send }),
        (handle(), handle(), len()).prop_map(move |(send, receive, len)| Packet::Cts {
            send,
            receive,
            len,
            memory
        }),
        rtr_id().prop_map(|rtr| Packet::Cancel { rtr }),
        (seen(), 0..400u64).prop_map(|(seen, taken)| Packet::Ack { seen, taken }),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let context = select(vec![0, 0, 0, 0, 0, 1, 1, 1, 2, 3, 5]).prop_map(Context);
    let packet = (rank(), context, packet()).prop_map(|(from, context, packet)| Event::Packet {
        from,
        context,
        packet,
    });
    prop_oneof![
        20 => packet,
        1 => handle().prop_map(Event::Written),
        1 => handle().prop_map(Event::Read),
        1 => handle().prop_map(Event::Announce),
        1 => (1..RANKS).prop_map(|peer| Event::Lost(RankId(peer))),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => call().prop_map(Step::Call),
        8 => event().prop_map(Step::Event),
        3 => Just(Step::Announce),
        3 => handle().prop_map(Step::Release),
        1 => (source(), selector()).prop_map(|(from, tag)| Step::Claim(from, tag)),
    ]
}

fn options() -> impl Strategy<Value = Options> {
    let speculation = select(vec![Speculation::Off, Speculation::Always, Speculation::Adaptive]);
    let transfer = select(vec![Transfer::Read, Transfer::Write]);
    let window = select(vec![0, 200, u64::MAX]);
    (speculation, transfer, select(vec![0, 1, 3, u16::MAX]), 0..3_u16, window).prop_map(
        |(speculation, transfer, rtr_limit, credit_every, eager_window)| Options {
            eager_threshold: 16,
            eager_window,
            speculation,
            transfer,
            rtr_limit,
            credit_every,
        },
    )
}

/// A send that is complete at once leaves the rank as its call and the release of its request would.
fn leaves_nothing_behind<P: Protocol>(rank: &Rank<P>, message: &Send) -> Result<(), TestCaseError> {
    let (mut called, mut sent) = (rank.clone(), rank.clone());
    let (mut asked, mut work) = (Vec::new(), Vec::new());
    let request = called.call(Call::Send(*message), &mut asked);
    match sent.send_eagerly(message, &mut work) {
        Ok(true) => {
            let released = called.release(request.expect("it is right"));
            let status = released.expect("it is open").expect("it is complete");
            prop_assert_eq!((status.len, status.failure), (message.len, None));
            let last = asked.pop();
            prop_assert!(matches!(last, Some(Work::Complete { .. })), "{:?} comes last", last);
            prop_assert_eq!(work, asked);
            prop_assert!(sent == called, "{:?} leaves another state", message);
        }
        Ok(false) => {
            prop_assert!(work.is_empty() && sent == *rank, "{:?} is not sent and changes the rank", message);
            let fails = rank.lost_for(Source::Rank(message.to), message.communicator).is_some();
            prop_assert!(fails || !rank.sends_eagerly(message), "{:?} could be sent", message);
        }
        Err(error) => prop_assert_eq!(request, Err(error)),
    }
    Ok(())
}

/// A receive that is complete at once leaves the rank as its call and the release of its request would.
fn takes_and_leaves_nothing<P: Protocol>(rank: &Rank<P>, receive: &Receive) -> Result<(), TestCaseError> {
    let (mut called, mut taken) = (rank.clone(), rank.clone());
    let (mut asked, mut work) = (Vec::new(), Vec::new());
    let request = called.call(Call::Receive(*receive), &mut asked);
    match taken.receive_kept(receive, &mut work) {
        Ok(Some(status)) => {
            let released = called.release(request.expect("it is right"));
            prop_assert_eq!(released.expect("it is open"), Some(status));
            let last = asked.pop();
            prop_assert!(matches!(last, Some(Work::Complete { .. })), "{:?} comes last", last);
            prop_assert_eq!(work, asked);
            prop_assert!(taken == called, "{:?} leaves another state", receive);
        }
        Ok(None) => {
            prop_assert!(
                work.is_empty() && taken == *rank,
                "{:?} gets nothing and changes the rank",
                receive
            );
            let request = request.expect("it is right");
            let status = called.release(request).expect("it is open");
            let has_message = status.is_some_and(|status| status.message.is_some());
            prop_assert!(
                !has_message
                    || asked.iter().any(|work| matches!(work, Work::Send { packet: Packet::Ats { .. }, .. })),
                "{:?} could be complete",
                receive
            );
        }
        Err(error) => prop_assert_eq!(request, Err(error)),
    }
    Ok(())
}

/// A receive that gets the next message leaves the rank as its call, the event and the release of its request would.
fn takes_the_next_one<P: Protocol>(
    rank: &Rank<P>,
    receive: &Receive,
    envelope: Envelope,
    len: u64,
) -> Result<(), TestCaseError> {
    let (mut called, mut taken) = (rank.clone(), rank.clone());
    let (mut asked, mut work) = (Vec::new(), Vec::new());
    let Some(status) = taken.receive_next(receive, envelope, len, &mut work) else {
        prop_assert!(work.is_empty() && taken == *rank, "{:?} gets nothing and changes the rank", receive);
        return Ok(());
    };
    let request = called.call(Call::Receive(*receive), &mut asked).expect("it is right");
    let packet = Packet::Eager { tag: envelope.tag, data: None, len };
    let event = Event::Packet { from: envelope.source, context: envelope.context, packet };
    called.event(event, &mut asked).expect("it is right");
    prop_assert_eq!(called.release(request).expect("it is open"), Some(status));
    let last = asked.pop();
    prop_assert!(matches!(last, Some(Work::Complete { .. })), "{:?} comes last", last);
    prop_assert_eq!(work, asked);
    prop_assert!(taken == called, "{:?} leaves another state", receive);
    Ok(())
}

fn survives<P: Protocol>(options: &Options, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut rank = Rank::<P>::new(RankId(0), &Job { ranks: RANKS }, options);
    let part = Communicator::new(1).expect("few");
    let members = Members::new(&[RankId(1), RankId(0)], RANKS).expect("they are two");
    rank.define(part, members, &mut Vec::new()).expect("both are there");
    for step in steps {
        let before = rank.clone();
        let mut work = Vec::new();
        if let Step::Call(Call::Send(message)) = *step {
            leaves_nothing_behind(&rank, &message)?;
        }
        if let Step::Call(Call::Receive(receive)) = *step {
            takes_and_leaves_nothing(&rank, &receive)?;
            let source = if let Source::Rank(rank) = receive.from { rank } else { RankId(1) };
            let tag = receive.tag.tag();
            for tag in [tag, Tag(tag.0 ^ 1)] {
                for context in [Context::MESSAGES, Context::COLLECTIVES] {
                    for len in [0, 16, 80] {
                        takes_the_next_one(&rank, &receive, Envelope { source, tag, context }, len)?;
                    }
                }
            }
        }
        let refused = match *step {
            Step::Call(call) => rank.call(call, &mut work).is_err(),
            Step::Event(event) => rank.event(event, &mut work).is_err(),
            Step::Release(request) => rank.release(request).is_err(),
            Step::Claim(from, tag) => rank.claim(from, tag, Communicator::WORLD, &mut work).is_none(),
            Step::Announce => {
                let request = rank.may_announce();
                let result = request.map(|request| rank.event(Event::Announce(request), &mut work));
                prop_assert_eq!(result.is_some(), !work.is_empty(), "what may be announced is announced");
                result.is_some_and(|result| result.is_err())
            }
        };
        if refused {
            prop_assert!(rank == before, "{:?} was refused and changed the rank", step);
            prop_assert!(work.is_empty(), "{:?} was refused and asks for {:?}", step, work);
        }
        // What was asked for concerns requests that are open.
        for work in work {
            if let Work::Complete { request, .. } = work {
                prop_assert_eq!(collective_of(request), None);
                prop_assert!(rank.is_complete(request), "{} is not complete after {:?}", request, step);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_mirror_survives_anything(options in options(), steps in vec(step(), 0..60)) {
        survives::<Mirror>(&options, &steps)?;
    }

    #[test]
    fn a_published_rank_survives_anything(options in options(), steps in vec(step(), 0..60)) {
        survives::<Published>(&options, &steps)?;
    }
}
