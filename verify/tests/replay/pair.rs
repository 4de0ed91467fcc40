//! Two ranks that are traced, and what their trace comes to.

use carrousel_rank::{
    Arrived, Call, Collective, Communicator, Context, Direction, Event, Handle, Job, Members, Memory, Mirror,
    Options, Packet, Pattern, Rank, RankId, Read, Receive, Send, Source, Speculation, Work, Write, mpi,
};
use carrousel_trace::{
    CallAnswer, Record, Recorder, Trace, TraceEnd, TraceError, TraceHead, TraceText, VERSION, part_of, sealed,
};
use carrousel_verify::replay::{ReplayReport, check};
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) const WORLD: Communicator = Communicator::WORLD;

/// A directory that is gone when the test is over.
pub(crate) struct Place(pub(crate) PathBuf);

impl Place {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("carrousel-replay-{}-{number}", std::process::id())))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Two ranks, each with its recorder, and what is on its way.
pub(crate) struct Pair {
    pub(crate) ranks: Vec<(Rank<Mirror>, Recorder)>,
    pub(crate) packets: BTreeMap<(u32, u32, Context, Direction), VecDeque<Packet>>,
    pub(crate) done: VecDeque<(usize, Event)>,
}

impl Pair {
    pub(crate) fn new(place: &Place) -> Self {
        let options = Options {
            eager_threshold: 16,
            speculation: Speculation::Always,
            credit_every: 2,
            ..Options::default()
        };
        let rank = |rank: u32| {
            let head = TraceHead {
                carrousel_trace: VERSION,
                rank,
                ranks: 2,
                endpoint: None,
                command: vec!["./pair".into()],
                options,
            };
            let recorder = Recorder::create(&place.0, &head, None).expect("it can be made");
            (Rank::new(RankId(rank), &Job { ranks: 2 }, &options), recorder)
        };
        Self { ranks: (0..2).map(rank).collect(), packets: BTreeMap::new(), done: VecDeque::new() }
    }

    fn perform(&mut self, me: usize, work: Vec<Work>) {
        for work in work {
            let mut post = |to: RankId, context, packet: Packet| {
                let lane = (me as u32, to.0, context, packet.direction());
                self.packets.entry(lane).or_default().push_back(packet);
            };
            match work {
                Work::Send { to, context, packet, .. } => post(to, context, packet),
                Work::Write { context, write: Write { to, notice, request, .. }, .. } => {
                    notice.into_iter().for_each(|packet| post(to, context, packet));
                    self.done.push_back((me, Event::Written(request)));
                }
                Work::Read { context, read: Read { of, notice, request, .. }, .. } => {
                    notice.into_iter().for_each(|packet| post(of, context, packet));
                    self.done.push_back((me, Event::Read(request)));
                }
                _ => {}
            }
        }
        while let Some(request) = self.ranks[me].0.may_announce() {
            self.event(me, Event::Announce(request));
        }
    }

    pub(crate) fn call(&mut self, me: usize, line: u32, call: Call) -> Handle {
        let mut work = Vec::new();
        let (rank, recorder) = &mut self.ranks[me];
        let answer = match rank.call(call, &mut work) {
            Ok(request) => CallAnswer::Request(request),
            Err(error) => CallAnswer::Refused(error.to_string()),
        };
        recorder.record(&Record::Call {
            call,
            answer: answer.clone(),
            file: Some("program.rs".into()),
            line: Some(line),
            ignored: Vec::new(),
        });
        self.perform(me, work);
        if let CallAnswer::Request(request) = answer { request } else { Handle { index: 0, generation: 0 } }
    }

    pub(crate) fn event(&mut self, me: usize, event: Event) {
        let mut work = Vec::new();
        let (rank, recorder) = &mut self.ranks[me];
        recorder.record(&Record::Event(event));
        rank.event(event, &mut work).expect("nobody sends nonsense");
        self.perform(me, work);
    }

    /// Lets all come out that is on its way.
    pub(crate) fn settle(&mut self) {
        loop {
            if let Some((me, event)) = self.done.pop_front() {
                self.event(me, event);
                continue;
            }
            let next = self.packets.iter_mut().find_map(|(lane, queue)| Some((*lane, queue.pop_front()?)));
            let Some(((from, to, context, _), packet)) = next else { return };
            self.event(to as usize, Event::Packet { from: RankId(from), context, packet });
        }
    }

    pub(crate) fn end(&mut self, me: usize, request: Handle) {
        let (rank, recorder) = &mut self.ranks[me];
        let status = rank.release(request).expect("it is open").expect("it is complete");
        recorder.record(&Record::Release { request, status });
    }
}

pub(crate) fn send(to: u32, tag: u32, len: u64) -> Call {
    let memory = Memory { address: 0x1000 + u64::from(tag), key: tag };
    Call::Send(Send {
        to: RankId(to),
        tag: mpi::tag(tag),
        communicator: WORLD,
        len,
        memory,
        synchronous: false,
        data: Some(len),
    })
}

pub(crate) fn receive(from: u32, tag: u32, len: u64) -> Call {
    let memory = Memory { address: 0x2000 + u64::from(tag), key: tag };
    let (from, tag) = (Source::Rank(RankId(from)), mpi::selector(Some(tag)));
    Call::Receive(Receive { from, tag, communicator: WORLD, len, memory })
}

/// A job with messages of all kinds: written into an announced receive, eager before and after its receive, read
/// by its receiver; a cancelled receive, a probe, a mistake, and a barrier of a communicator of its own.
pub(crate) fn trace(place: &Place) {
    let mut pair = Pair::new(place);
    let announced = pair.call(1, 3, receive(0, 0, 64));
    pair.settle();
    let written = pair.call(0, 3, send(1, 0, 64));
    let eager = pair.call(0, 4, send(1, 1, 8));
    let offered = pair.call(0, 5, send(1, 2, 64));
    pair.settle();
    pair.end(0, written);
    pair.end(0, eager);
    pair.end(1, announced);
    let (rank, recorder) = &mut pair.ranks[1];
    let pattern = Pattern { source: Source::Any, tag: mpi::ANY_TAG, context: Context::MESSAGES };
    let Arrived { envelope, data, len } = rank.probe(&pattern).expect("two have come");
    recorder.record(&Record::Probe { pattern, envelope, data, len });
    let small = pair.call(1, 4, receive(0, 1, 8));
    let large = pair.call(1, 5, receive(0, 2, 64));
    pair.settle();
    pair.end(1, large);
    pair.end(1, small);
    pair.end(0, offered);
    pair.call(1, 6, receive(9, 0, 8));
    let nothing = pair.call(1, 6, receive(0, 3, 64));
    pair.settle();
    pair.call(1, 7, Call::Cancel(nothing));
    pair.settle();
    pair.end(1, nothing);
    let own = Communicator::new(1).expect("there are many");
    for (rank, recorder) in &mut pair.ranks {
        let members = Members::new(&[RankId(1), RankId(0)], 2).expect("they are two");
        rank.define(own, members, &mut Vec::new()).expect("it is new");
        recorder.record(&Record::Define { communicator: own, members: vec![1, 0] });
    }
    let entered = [0, 1].map(|me| pair.call(me, 8, Call::Collective(Collective::barrier(own))));
    pair.settle();
    (0..2).for_each(|me| pair.end(me, entered[me]));
    pair.ranks.iter_mut().for_each(|(_, recorder)| recorder.end(TraceEnd::Finalized));
}

pub(crate) fn replayed(place: &Place) -> Result<ReplayReport, TraceError> {
    check(Trace::open(&place.0)?, &|_| ())
}

/// The text of a rank's part.
pub(crate) fn text_of(place: &Place, rank: u32) -> String {
    TraceText::open(&part_of(&place.0, rank)).and_then(TraceText::rest).expect("it is a part")
}

pub(crate) type Parts = [Vec<String>; 2];

/// Without check values: what the model says of an altered trace is asked as if it had been recorded.
pub(crate) fn parts() -> Parts {
    let place = Place::new();
    trace(&place);
    let lines = |rank| {
        let text = text_of(&place, rank);
        let bare = |line: &str| Some(format!("{}}}", line.rsplit_once(",\"crc32\":")?.0));
        text.lines().map(|line| bare(line).expect("every line has a check value")).collect()
    };
    [lines(0), lines(1)]
}

pub(crate) fn replay_of(parts: &Parts) -> Result<ReplayReport, TraceError> {
    replay_of_bytes(&[0, 1].map(|rank: usize| sealed(parts[rank].iter().map(String::as_str)).into_bytes()))
}

/// The report of `check` on these bytes as the two parts of a trace.
pub(crate) fn replay_of_bytes(parts: &[Vec<u8>; 2]) -> Result<ReplayReport, TraceError> {
    let place = Place::new();
    fs::create_dir_all(&place.0).expect("it can be made");
    for (bytes, rank) in parts.iter().zip(0..) {
        fs::write(part_of(&place.0, rank), bytes).expect("it can be written");
    }
    replayed(&place)
}
