//! A rank allocates nothing in steady state.

use allocation_counter::measure;
use carrousel_rank::*;

const MEMORY: Memory = Memory { address: 0x1000, key: 7 };
const WARM_UP: u32 = 200;
const MESSAGES: u32 = 10_000;

/// Two ranks, and one buffer for what each asks for.
struct CountedEnds<P: Protocol> {
    ranks: [Rank<P>; 2],
    work: [Vec<Work>; 2],
    announcements: u32,
    writes: u32,
}

impl<P: Protocol> CountedEnds<P> {
    fn new() -> Self {
        let options = Options { speculation: Speculation::Always, ..Options::default() };
        let rank = |me| Rank::new(RankId(me), &Job { ranks: 2 }, &options);
        Self { ranks: [rank(0), rank(1)], work: [Vec::new(), Vec::new()], announcements: 0, writes: 0 }
    }

    fn call(&mut self, me: usize, call: Call) -> Handle {
        let request = self.ranks[me].call(call, &mut self.work[me]).expect("the call is right");
        self.settle();
        request
    }

    /// Performs everything at once, announcements included.
    fn settle(&mut self) {
        loop {
            for me in 0..2 {
                while let Some(request) = self.ranks[me].may_announce() {
                    self.announcements += 1;
                    self.ranks[me].event(Event::Announce(request), &mut self.work[me]).expect("it may be");
                }
            }
            let Some(me) = (0..2).find(|me| !self.work[*me].is_empty()) else { return };
            let (mine, yours) = self.work.split_at_mut(1);
            let (work, answers) =
                if me == 0 { (&mut mine[0], &mut yours[0]) } else { (&mut yours[0], &mut mine[0]) };
            let mut later = [None; 8];
            let mut completions = later.iter_mut();
            for work in work.drain(..) {
                let (packet, event) = match work {
                    Work::Send { context, packet, .. } => (Some((context, packet)), None),
                    Work::Write { context, write: Write { notice, request, .. }, .. } => {
                        self.writes += 1;
                        (notice.map(|packet| (context, packet)), Some(Event::Written(request)))
                    }
                    Work::Read { context, read: Read { notice, request, .. }, .. } => {
                        (notice.map(|packet| (context, packet)), Some(Event::Read(request)))
                    }
                    _ => (None, None),
                };
                if let Some((context, packet)) = packet {
                    let event = Event::Packet { from: RankId(me as u32), context, packet };
                    self.ranks[1 - me].event(event, answers).expect("the packet is right");
                }
                if event.is_some() {
                    *completions.next().expect("few completions at once") = event;
                }
            }
            for event in later.into_iter().flatten() {
                self.ranks[me].event(event, &mut self.work[me]).expect("it is awaited");
            }
        }
    }

    /// One collective of both ranks, from the calls to the release of both requests.
    fn collective(&mut self, kind: Kind, len: u64) {
        let element = 8;
        let call = Collective { kind, len, element, ..Collective::barrier(Communicator::WORLD) };
        let requests = [0, 1].map(|me| self.call(me, Call::Collective(call)));
        for (rank, request) in (0..).zip(requests) {
            let status = self.ranks[rank].release(request).expect("it is open").expect("it is complete");
            assert_eq!(status.failure, None);
        }
    }

    /// One message of `len` bytes from rank 0 to rank 1, from the calls to the release of both requests.
    fn exchange(&mut self, len: u64, late: bool) {
        let receive = Receive {
            from: Source::Rank(RankId(0)),
            tag: TagSelector::exact(Tag(5)),
            communicator: Communicator::WORLD,
            len,
            memory: MEMORY,
        };
        let send = Send {
            to: RankId(1),
            tag: Tag(5),
            communicator: Communicator::WORLD,
            len,
            memory: MEMORY,
            synchronous: false,
            data: None,
        };
        let early = (!late).then(|| self.call(1, Call::Receive(receive)));
        let sent = self.call(0, Call::Send(send));
        let received = early.unwrap_or_else(|| self.call(1, Call::Receive(receive)));
        for (rank, request) in [(0, sent), (1, received)] {
            assert!(self.ranks[rank].is_complete(request));
            let status = self.ranks[rank].release(request).expect("it is open").expect("it is complete");
            assert_eq!((status.len, status.failure), (len, None));
        }
    }
}

fn allocates_nothing<P: Protocol>(what: &str, len: u64, late: bool) -> CountedEnds<P> {
    nothing_is_allocated(what, |ends| ends.exchange(len, late))
}

fn nothing_is_allocated<P: Protocol>(
    what: &str,
    mut exchange: impl FnMut(&mut CountedEnds<P>),
) -> CountedEnds<P> {
    let mut ends = CountedEnds::<P>::new();
    (0..WARM_UP).for_each(|_| exchange(&mut ends));
    let counted = measure(|| (0..MESSAGES).for_each(|_| exchange(&mut ends)));
    assert_eq!(counted.count_total, 0, "allocations in {MESSAGES} messages: {what}");
    ends
}

fn collectives_allocate_nothing<P: Protocol>() {
    for kind in [Kind::Barrier, Kind::Broadcast, Kind::AllReduce, Kind::AllToAll] {
        for len in [8, 1 << 20] {
            nothing_is_allocated::<P>(&format!("{kind:?} of {len} bytes"), |ends| ends.collective(kind, len));
        }
    }
}

#[test]
fn messages_allocate_nothing_after_warm_up() {
    let counted = measure(|| drop(CountedEnds::<Mirror>::new()));
    assert!(counted.count_total > 0, "allocations are counted");
    for late in [false, true] {
        let when = if late { "late" } else { "early" };
        allocates_nothing::<Mirror>(&format!("eager, mirror, {when} receive"), 8, late);
        allocates_nothing::<Published>(&format!("eager, published, {when} receive"), 8, late);
        allocates_nothing::<Mirror>(&format!("rendezvous, mirror, {when} receive"), 1 << 20, late);
        allocates_nothing::<Published>(&format!("rendezvous, published, {when} receive"), 1 << 20, late);
    }
    collectives_allocate_nothing::<Mirror>();
    collectives_allocate_nothing::<Published>();
    let ends = allocates_nothing::<Mirror>("announced, mirror", 1 << 20, false);
    assert_eq!((ends.announcements, ends.writes), (WARM_UP + MESSAGES, WARM_UP + MESSAGES));
    let ends = allocates_nothing::<Published>("announced, published", 1 << 20, false);
    assert_eq!((ends.announcements, ends.writes), (WARM_UP + MESSAGES, WARM_UP + MESSAGES));
}
