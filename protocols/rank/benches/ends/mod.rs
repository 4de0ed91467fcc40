//! Two ranks whose packets are delivered at once.

use carrousel_rank::*;
use std::hint::black_box;

const MEMORY: Memory = Memory { address: 0x1000, key: 7 };

pub(crate) struct Ends<P: Protocol> {
    sender: Rank<P>,
    receiver: Rank<P>,
    asked: Vec<Work>,
    answered: Vec<Work>,
}

impl<P: Protocol> Ends<P> {
    pub(crate) fn new() -> Self {
        let options = Options { speculation: Speculation::Always, ..Options::default() };
        let rank = |me| Rank::new(RankId(me), &Job { ranks: 2 }, &options);
        let (asked, answered) = (Vec::with_capacity(16), Vec::with_capacity(16));
        Self { sender: rank(0), receiver: rank(1), asked, answered }
    }

    /// Posts receives that no message of [`Self::exchange`] matches.
    pub(crate) fn post_others(&mut self, receives: u32) {
        for tag in 0..receives {
            self.receive(8, 1000 + tag);
        }
        self.answered.clear();
    }

    fn receive(&mut self, len: u64, tag: u32) -> Handle {
        let tag = mpi::selector(Some(tag));
        let receive = Receive {
            from: Source::Rank(RankId(0)),
            tag,
            communicator: Communicator::WORLD,
            len,
            memory: MEMORY,
        };
        self.receiver.call(black_box(Call::Receive(receive)), &mut self.answered).expect("it is right")
    }

    /// One message to a posted receive, from the calls to the release of both requests.
    #[inline(never)]
    pub(crate) fn exchange(&mut self, len: u64, tag: u32) {
        let receive = self.receive(len, tag);
        self.exchange_with(receive, len, tag);
    }

    /// The same but for the posting of the receive.
    #[inline(never)]
    fn exchange_with(&mut self, receive: Handle, len: u64, tag: u32) {
        let Self { sender, receiver, asked, answered } = self;
        while let Some(request) = receiver.may_announce() {
            receiver.event(Event::Announce(request), answered).expect("it may be");
        }
        deliver(receiver, sender, RankId(1), answered, asked);
        let send = Send {
            to: RankId(1),
            tag: mpi::tag(tag),
            communicator: Communicator::WORLD,
            len,
            memory: MEMORY,
            synchronous: false,
            data: None,
        };
        let send = sender.call(black_box(Call::Send(send)), asked).expect("it is right");
        // In both directions, until both are silent.
        while !asked.is_empty() || !answered.is_empty() {
            deliver(sender, receiver, RankId(0), asked, answered);
            deliver(receiver, sender, RankId(1), answered, asked);
        }
        assert!(sender.is_complete(send) && receiver.is_complete(receive));
        black_box(sender.release(send)).expect("it is open");
        black_box(receiver.release(receive)).expect("it is open");
    }
}

/// Performs what `rank`, which is `me`, asks for.
fn deliver<P: Protocol>(
    rank: &mut Rank<P>,
    peer: &mut Rank<P>,
    me: RankId,
    work: &mut Vec<Work>,
    answers: &mut Vec<Work>,
) {
    let mut completed = None;
    for work in work.drain(..) {
        let packet = match work {
            Work::Send { packet, .. } => Some(packet),
            Work::Write { write: Write { notice, request, .. }, .. } => {
                completed = Some(Event::Written(request));
                notice
            }
            Work::Read { read: Read { notice, request, .. }, .. } => {
                completed = Some(Event::Read(request));
                notice
            }
            _ => None,
        };
        if let Some(packet) = packet {
            let event = Event::Packet { from: me, context: Context::MESSAGES, packet };
            peer.event(black_box(event), answers).expect("it is right");
        }
    }
    if let Some(event) = completed {
        rank.event(event, work).expect("it is awaited");
    }
}
