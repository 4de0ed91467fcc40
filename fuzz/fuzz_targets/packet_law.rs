//! What holds for any bytes that come from a peer; shared by the fuzzer and the replay of its corpus.

use carrousel_rank::wire::{decode, encode};
use carrousel_rank::{
    Call, Collective, Communicator, Event, Job, Kind, Memory, Mirror, Options, Protocol, Published, Rank,
    RankId, Read, Receive, Send, Source, Speculation, Tag, TagSelector, Work, Write,
};

const MEMORY: Memory = Memory { address: 0x1000, key: 7 };

/// Panics when a rank does not survive `bytes`: frames of a peer, each behind a byte that says how long it is.
/// A frame of length 0 has the rank call instead.
pub(crate) fn holds(bytes: &[u8]) {
    for transfer in [carrousel_rank::Transfer::Read, carrousel_rank::Transfer::Write] {
        let options = Options {
            eager_threshold: 16,
            eager_window: 200,
            speculation: Speculation::Always,
            transfer,
            rtr_limit: 4,
            credit_every: 2,
        };
        feed::<Mirror>(bytes, &options);
        feed::<Published>(bytes, &options);
    }
}

fn feed<P: Protocol>(bytes: &[u8], options: &Options) {
    let mut rank = Rank::<P>::new(RankId(0), &Job { ranks: 3 }, options);
    let mut work: Vec<Work> = Vec::new();
    let mut calls = 0;
    let mut rest = bytes;
    while let [len, after @ ..] = rest {
        let (frame, after) = after.split_at(usize::from(*len).min(after.len()));
        rest = after;
        if frame.is_empty() {
            call(&mut rank, calls, &mut work);
            calls += 1;
        } else if let Ok(frame) = decode(frame) {
            let again = [encode(frame.context, &frame.packet).as_bytes(), frame.data].concat();
            assert_eq!(decode(&again), Ok(frame), "a packet is what its bytes say");
            let before = rank.clone();
            let event = Event::Packet { from: RankId(1), context: frame.context, packet: frame.packet };
            if rank.event(event, &mut work).is_err() {
                assert!(rank == before && work.is_empty(), "what is refused changes nothing");
            }
        }
        while let Some(receive) = rank.may_announce() {
            rank.event(Event::Announce(receive), &mut work).expect("an announcement is never wrong");
        }
        perform(&mut rank, &mut work);
    }
}

/// The n-th of some calls, over and over.
fn call<P: Protocol>(rank: &mut Rank<P>, n: u32, work: &mut Vec<Work>) {
    let len = if n.is_multiple_of(3) { 8 } else { 64 };
    let call = match n % 7 {
        0 | 1 => Call::Receive(Receive {
            from: Source::Rank(RankId(1)),
            tag: TagSelector::exact(Tag(u64::from(n % 2))),
            communicator: Communicator::WORLD,
            len,
            memory: MEMORY,
        }),
        2 => Call::Receive(Receive {
            from: Source::Any,
            tag: TagSelector::new(Tag(0), 0b10),
            communicator: Communicator::WORLD,
            len,
            memory: MEMORY,
        }),
        3 => Call::Send(Send {
            to: RankId(1),
            tag: Tag(u64::from(n % 2)),
            communicator: Communicator::WORLD,
            len,
            memory: MEMORY,
            synchronous: false,
            data: n.is_multiple_of(2).then_some(u64::from(n)),
        }),
        4 => Call::Collective(Collective::barrier(Communicator::WORLD)),
        5 => Call::Collective(Collective {
            kind: Kind::AllReduce,
            len: 4096,
            element: 8,
            ..Collective::barrier(Communicator::WORLD)
        }),
        _ => Call::Collective(Collective {
            kind: Kind::Gather,
            len,
            ..Collective::barrier(Communicator::WORLD)
        }),
    };
    rank.call(call, work).expect("the call is right");
}

/// Transfers of the rank's own end well; requests that are over are released.
fn perform<P: Protocol>(rank: &mut Rank<P>, work: &mut Vec<Work>) {
    while !work.is_empty() {
        for work in std::mem::take(work) {
            let mut next = Vec::new();
            match work {
                Work::Write { write: Write { request, .. }, .. } => {
                    rank.event(Event::Written(request), &mut next)
                }
                Work::Read { read: Read { request, .. }, .. } => rank.event(Event::Read(request), &mut next),
                Work::Complete { request, .. } => {
                    let status = rank.release(request).expect("it is open");
                    assert!(status.is_some(), "what is complete can be released");
                    Ok(())
                }
                _ => Ok(()),
            }
            .expect("transfers of its own are its own");
            perform(rank, &mut next);
        }
    }
}
