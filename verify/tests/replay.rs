//! A replay follows what a job really did, and finds every place in which a trace says something else.
//!
//! The job is two ranks and queues between them that this file makes itself, so that the trace is the same in every
//! run. Jobs of real processes are traced and replayed by the tests of the command.

use carrousel_rank::{
    Call, Collective, Communicator, Context, Event, Handle, Job, Lane, Memory, Mirror, Options, Packet,
    Pattern, Rank, RankId, Receive, Send, Source, Speculation, Tag, TagSelector, Work,
};
use carrousel_trace::{Answer, End, Head, Record, Recorder, Trace, TraceError, VERSION, part_of, sealed};
use carrousel_verify::replay::{Report, Verdict, check};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

const WORLD: Communicator = Communicator::WORLD;

/// A directory that is gone when the test is over.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
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
struct Pair {
    ranks: Vec<(Rank<Mirror>, Recorder)>,
    packets: BTreeMap<(u32, u32, Context, Lane), VecDeque<Packet>>,
    done: VecDeque<(usize, Event)>,
}

impl Pair {
    fn new(place: &Place) -> Self {
        let options = Options {
            eager_threshold: 16,
            speculation: Speculation::Always,
            credit_every: 2,
            ..Options::default()
        };
        let rank = |rank: u32| {
            let head =
                Head { carrousel_trace: VERSION, rank, ranks: 2, command: vec!["./pair".into()], options };
            let recorder = Recorder::create(&place.0, &head).expect("it can be made");
            (Rank::new(RankId(rank), &Job { ranks: 2 }, &options), recorder)
        };
        Self { ranks: (0..2).map(rank).collect(), packets: BTreeMap::new(), done: VecDeque::new() }
    }

    fn perform(&mut self, me: usize, work: Vec<Work>) {
        for work in work {
            let mut post = |to: RankId, context, packet: Packet| {
                let lane = (me as u32, to.0, context, packet.lane());
                self.packets.entry(lane).or_default().push_back(packet);
            };
            match work {
                Work::Send { to, context, packet, .. } => post(to, context, packet),
                Work::Write { to, context, notice, request, .. } => {
                    notice.into_iter().for_each(|packet| post(to, context, packet));
                    self.done.push_back((me, Event::Written(request)));
                }
                Work::Read { of, context, notice, request, .. } => {
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

    fn call(&mut self, me: usize, line: u32, call: Call) -> Handle {
        let mut work = Vec::new();
        let (rank, recorder) = &mut self.ranks[me];
        let answer = match rank.call(call, &mut work) {
            Ok(request) => Answer::Request(request),
            Err(error) => Answer::Refused(error.to_string()),
        };
        recorder.record(&Record::Call {
            call,
            answer: answer.clone(),
            file: Some("program.rs".into()),
            line: Some(line),
            ignored: Vec::new(),
        });
        self.perform(me, work);
        if let Answer::Request(request) = answer { request } else { Handle { index: 0, generation: 0 } }
    }

    fn event(&mut self, me: usize, event: Event) {
        let mut work = Vec::new();
        let (rank, recorder) = &mut self.ranks[me];
        recorder.record(&Record::Event(event));
        rank.event(event, &mut work).expect("nobody sends nonsense");
        self.perform(me, work);
    }

    /// Lets all come out that is on its way.
    fn settle(&mut self) {
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

    fn end(&mut self, me: usize, request: Handle) {
        let (rank, recorder) = &mut self.ranks[me];
        let status = rank.release(request).expect("it is open").expect("it is complete");
        recorder.record(&Record::Release { request, status });
    }
}

fn send(to: u32, tag: u32, len: u64) -> Call {
    let memory = Memory { address: 0x1000 + u64::from(tag), key: tag };
    Call::Send(Send { to: RankId(to), tag: Tag(tag), communicator: WORLD, len, memory, synchronous: false })
}

fn receive(from: u32, tag: u32, len: u64) -> Call {
    let memory = Memory { address: 0x2000 + u64::from(tag), key: tag };
    let (from, tag) = (Source::Rank(RankId(from)), TagSelector::Tag(Tag(tag)));
    Call::Receive(Receive { from, tag, communicator: WORLD, len, memory })
}

/// A job with messages of all kinds: written into an announced receive, eager before and after its receive, read
/// by its receiver; a cancelled receive, a probe, a mistake, and a barrier of a communicator of its own.
fn trace(place: &Place) {
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
    let pattern = Pattern { source: Source::Any, tag: TagSelector::Any, context: Context::MESSAGES };
    let (envelope, len) = rank.probe(&pattern).expect("two have come");
    recorder.record(&Record::Probe { pattern, envelope, len });
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
        rank.define(own, &[RankId(1), RankId(0)], &mut Vec::new()).expect("it is new");
        recorder.record(&Record::Define { communicator: own, members: vec![1, 0] });
    }
    let entered = [0, 1].map(|me| pair.call(me, 8, Call::Collective(Collective::barrier(own))));
    pair.settle();
    (0..2).for_each(|me| pair.end(me, entered[me]));
    pair.ranks.iter_mut().for_each(|(_, recorder)| recorder.end(End::Finalized));
}

fn replayed(place: &Place) -> Result<Report, TraceError> {
    check(Trace::open(&place.0)?, &|_| ())
}

type Parts = [Vec<String>; 2];

/// Without check values: what the model says of an altered trace is asked as if it had been recorded.
fn parts() -> Parts {
    let place = Place::new();
    trace(&place);
    let lines = |rank| {
        let text = fs::read_to_string(part_of(&place.0, rank)).expect("it is there");
        let bare = |line: &str| Some(format!("{}}}", line.rsplit_once(",\"crc32\":")?.0));
        text.lines().map(|line| bare(line).expect("every line has a check value")).collect()
    };
    [lines(0), lines(1)]
}

fn replay_of(parts: &Parts) -> Result<Report, TraceError> {
    replay_of_bytes(&[0, 1].map(|rank: usize| sealed(parts[rank].iter().map(String::as_str)).into_bytes()))
}

/// What `check` says of these bytes as the two parts of a trace.
fn replay_of_bytes(parts: &[Vec<u8>; 2]) -> Result<Report, TraceError> {
    let place = Place::new();
    fs::create_dir_all(&place.0).expect("it can be made");
    for (bytes, rank) in parts.iter().zip(0..) {
        fs::write(part_of(&place.0, rank), bytes).expect("it can be written");
    }
    replayed(&place)
}

/// The position of the only line that has this text.
#[track_caller]
fn at(lines: &[String], text: &str) -> usize {
    let found: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains(text)).collect();
    assert_eq!(found.len(), 1, "{text:?} is in {found:?} of {lines:#?}");
    found[0]
}

/// Whichever of the two has the lower number: the parts are gone through in that order.
#[test]
fn what_a_lost_peer_has_sent_cannot_be_received() {
    for (me, lost) in [(0, 1), (1, 0)] {
        let place = Place::new();
        let mut pair = Pair::new(&place);
        pair.call(lost, 3, send(me as u32, 5, 8));
        pair.event(me, Event::Lost(RankId(lost as u32)));
        pair.ranks[me].1.end(End::Finalized);
        pair.ranks[lost].1.end(End::Left);
        let report = replayed(&place).expect("it is a trace");
        assert!(report.misuses.is_empty(), "rank {lost} is lost: {:?}", report.misuses);
    }
}

#[test]
fn what_has_happened_is_allowed() {
    let place = Place::new();
    trace(&place);
    let report = replayed(&place).expect("it is a trace");
    assert_eq!((report.verdict, &report.departure, &report.gaps[..]), (Verdict::Allowed, &None, &[][..]));
    assert_eq!((report.calls, report.ranks), (13, 2));
    // The trace has what it should have.
    let text = parts().concat().concat();
    for kind in [
        "\"fin\"",
        "\"eager\"",
        "\"rts\"",
        "\"done\"",
        "\"rtr\"",
        "\"cancel\"",
        "\"cancel_ack\"",
        "\"seen\"",
        "\"written\"",
        "\"read\"",
        "\"announce\"",
        "\"probe\"",
        "\"define\"",
        "\"refused\"",
        "\"context\":3",
    ] {
        assert!(text.contains(kind), "{kind} is not in it");
    }
}

/// One thing that is not as it was.
struct Ablation {
    name: &'static str,
    rank: usize,
    change: fn(&mut Vec<String>),
}

fn replace(lines: &mut [String], line: &str, from: &str, to: &str) {
    let at = at(lines, line);
    assert!(lines[at].contains(from), "{from:?} is not in {:?}", lines[at]);
    lines[at] = lines[at].replace(from, to);
}

fn shift(lines: &mut Vec<String>, line: &str, before: &str) {
    let line = lines.remove(at(lines, line));
    lines.insert(at(lines, before), line);
}

fn add(lines: &mut Vec<String>, line: &str, behind: &str) {
    lines.insert(at(lines, behind) + 1, line.to_owned());
}

const ABLATIONS: [Ablation; 21] = [
    Ablation {
        name: "an event is missing",
        rank: 1,
        change: |lines| drop(lines.remove(at(lines, "\"fin\""))),
    },
    Ablation {
        name: "the last packet of a lane is missing",
        rank: 0,
        change: |lines| drop(lines.remove(at(lines, "\"done\""))),
    },
    Ablation {
        name: "a completion is missing",
        rank: 0,
        change: |lines| drop(lines.remove(at(lines, "\"written\""))),
    },
    Ablation {
        name: "two packets of a lane have changed places",
        rank: 1,
        change: |lines| {
            let (fin, eager) = (at(lines, "\"fin\""), at(lines, "\"eager\":{\"tag\":1"));
            lines.swap(fin, eager);
        },
    },
    Ablation {
        name: "a packet is changed",
        rank: 1,
        change: |lines| replace(lines, "\"eager\":{\"tag\":1", "\"len\":8", "\"len\":9"),
    },
    Ablation {
        name: "a packet is changed in what is seldom told",
        rank: 1,
        change: |lines| replace(lines, "\"rts\"", "\"address\":4098", "\"address\":4099"),
    },
    Ablation {
        name: "a packet comes twice",
        rank: 0,
        change: |lines| {
            let done = lines[at(lines, "\"done\"")].clone();
            add(lines, &done, "\"done\"");
        },
    },
    Ablation {
        name: "a packet was never sent",
        rank: 1,
        change: |lines| {
            let packet = "{\"event\":{\"packet\":{\"from\":0,\"context\":3,\"packet\":{\"eager\":{\"tag\":7,\"len\":0}}}}}";
            add(lines, packet, "\"generation\":3},\"status\"");
        },
    },
    Ablation {
        name: "a packet comes from nobody",
        rank: 1,
        change: |lines| replace(lines, "\"fin\"", "\"from\":0", "\"from\":2"),
    },
    Ablation {
        name: "a completion comes before its write",
        rank: 0,
        change: |lines| shift(lines, "\"written\"", "\"send\":{\"to\":1,\"tag\":0"),
    },
    Ablation {
        name: "a completion is another request's",
        rank: 0,
        change: |lines| replace(lines, "\"written\"", "\"index\":0", "\"index\":2"),
    },
    Ablation {
        name: "a status is altered",
        rank: 1,
        change: |lines| replace(lines, "\"message\":[0,0]", "\"len\":64", "\"len\":63"),
    },
    Ablation {
        name: "a request ends before its data has come",
        rank: 1,
        change: |lines| shift(lines, "\"message\":[0,2]", "{\"read\":"),
    },
    Ablation {
        name: "a request ends twice",
        rank: 1,
        change: |lines| {
            let end = lines[at(lines, "\"message\":[0,2]")].clone();
            add(lines, &end, "\"message\":[0,2]");
        },
    },
    Ablation {
        name: "a request has another name",
        rank: 0,
        change: |lines| replace(lines, "\"line\":4", "\"request\":{\"index\":1", "\"request\":{\"index\":2"),
    },
    Ablation {
        name: "a mistake is not found",
        rank: 1,
        change: |lines| {
            let refused = at(lines, "\"refused\"");
            let (front, _) = lines[refused].split_once("\"answer\"").expect("it is a call");
            lines[refused] =
                format!("{front}\"answer\":{{\"request\":{{\"index\":0,\"generation\":1}}}},\"line\":6}}}}");
        },
    },
    Ablation {
        name: "a receive is announced that may not be",
        rank: 1,
        change: |lines| {
            add(lines, "{\"event\":{\"announce\":{\"index\":0,\"generation\":0}}}", "\"fin\"");
        },
    },
    Ablation {
        name: "a probe has found another message",
        rank: 1,
        change: |lines| replace(lines, "\"probe\"", "\"len\":8", "\"len\":64"),
    },
    Ablation {
        name: "a communicator is defined twice",
        rank: 0,
        change: |lines| {
            let define = lines[at(lines, "\"define\"")].clone();
            add(lines, &define, "\"define\"");
        },
    },
    Ablation {
        name: "a lost peer sends",
        rank: 1,
        change: |lines| add(lines, "{\"event\":{\"lost\":0}}", "\"fin\""),
    },
    Ablation {
        name: "a call that may be a rendezvous ignores what has arrived",
        rank: 0,
        change: |lines| replace(lines, "\"line\":5", "\"line\":5", "\"line\":5,\"ignored\":[1]"),
    },
];

/// Only calls that may be a rendezvous come behind all that has arrived.
#[test]
fn a_call_that_stays_eager_may_ignore_what_has_arrived() {
    let mut parts = parts();
    replace(&mut parts[0], "\"line\":4", "\"line\":4", "\"line\":4,\"ignored\":[1]");
    assert_eq!(replay_of(&parts).expect("it is a trace").verdict, Verdict::Allowed);
}

#[test]
fn every_change_is_found_and_told() {
    let mut told = String::new();
    for Ablation { name, rank, change } in &ABLATIONS {
        let mut parts = parts();
        change(&mut parts[*rank]);
        let report = replay_of(&parts).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(report.verdict, Verdict::Departed, "{name}");
        let departure = report.departure.expect("it has departed");
        let line = departure.place.line.map_or_else(String::new, |line| format!(", line {line}"));
        told += &format!("{name}: rank {}, record {}{line}\n", departure.rank, departure.record);
        told += &format!("  it says  {}\n  allowed  {}\n", departure.happened, departure.allowed);
    }
    insta::assert_snapshot!(told);
}

/// Of all records that can be missing without the model noticing: those that nothing in the trace depends on. So
/// that they are there is for check values to say.
#[test]
fn what_can_be_missing_is_what_nobody_needs() {
    let whole = parts();
    let mut unnoticed = String::new();
    for rank in 0..2 {
        for at in 1..whole[rank].len() - 1 {
            let mut parts = whole.clone();
            let line = parts[rank].remove(at);
            if replay_of(&parts).expect("it is a trace").verdict == Verdict::Allowed {
                unnoticed += &format!("rank {rank}: {line}\n");
            }
        }
    }
    insta::assert_snapshot!(unnoticed);
}

#[test]
fn lanes_are_not_ordered_among_each_other() {
    // What comes by the back lane may come before what was sent earlier by the forward lane, in a trace as in
    // the model: here, both ranks send, and each hears the other's answer first.
    let place = Place::new();
    let mut pair = Pair::new(&place);
    let receives = [0, 1].map(|me| pair.call(me, 1, receive(1 - me as u32, 0, 64)));
    let sends = [0, 1].map(|me| pair.call(me, 2, send(1 - me as u32, 1, 64)));
    for lane in [Lane::Back, Lane::Forward] {
        for (from, to) in [(0, 1), (1, 0)] {
            let key = (from, to, Context::MESSAGES, lane);
            while let Some(packet) = pair.packets.get_mut(&key).and_then(VecDeque::pop_front) {
                let context = Context::MESSAGES;
                pair.event(to as usize, Event::Packet { from: RankId(from), context, packet });
            }
        }
    }
    for (me, (_, recorder)) in pair.ranks.iter_mut().enumerate() {
        assert!(!pair.done.iter().any(|(other, _)| *other == me), "{receives:?} {sends:?}");
        recorder.end(End::Left);
    }
    assert_eq!(replayed(&place).expect("it is a trace").verdict, Verdict::Allowed);
}

#[test]
fn a_part_that_is_cut_is_followed_as_far_as_it_goes() {
    let whole = parts();
    let mut told = String::new();
    for keep in (1..whole[0].len()).rev() {
        let mut parts = whole.clone();
        parts[0].truncate(keep);
        let report = replay_of(&parts).expect("it is a trace");
        assert_eq!((report.verdict, report.departure), (Verdict::Incomplete, None), "{keep} lines");
        assert_eq!((report.gaps[0].rank, report.gaps[0].record), (0, keep as u64));
        told += &format!("{:?}\n", report.gaps);
    }
    insta::assert_snapshot!(told);
}

#[test]
fn much_may_be_in_flight() {
    let place = Place::new();
    let mut pair = Pair::new(&place);
    for _ in 0..5000 {
        let sent = pair.call(0, 1, send(1, 0, 8));
        pair.end(0, sent);
    }
    pair.settle();
    for _ in 0..5000 {
        let got = pair.call(1, 1, receive(0, 0, 8));
        pair.end(1, got);
    }
    pair.ranks.iter_mut().for_each(|(_, recorder)| recorder.end(End::Finalized));
    let report = replayed(&place).expect("it is a trace");
    // Of the counts of what has been seen, the last one is behind the last send.
    assert_eq!((report.verdict, report.calls, report.answers), (Verdict::Allowed, 10_000, 10_000));
}

/// Ways in which a line of a file goes wrong, by its position.
type Corruption = (&'static str, fn(&mut Vec<Vec<u8>>, usize));

const CORRUPTIONS: [Corruption; 5] = [
    ("is deleted", |lines, at| drop(lines.remove(at))),
    ("is doubled", |lines, at| lines.insert(at, lines[at].clone())),
    ("changes places with the next one", |lines, at| lines.swap(at, at + 1)),
    ("has another digit first", |lines, at| {
        let digit = lines[at].iter_mut().find(|byte| byte.is_ascii_digit());
        *digit.expect("every line has a number") ^= 1;
    }),
    ("has another digit last", |lines, at| {
        let digit = lines[at].iter_mut().rfind(|byte| byte.is_ascii_digit());
        *digit.expect("every line has a number") ^= 1;
    }),
];

/// A trace is evidence only if it is what was recorded: whatever happens to a line, nobody takes the rest for it.
#[test]
fn a_trace_with_a_corrupted_line_is_never_allowed() {
    let place = Place::new();
    trace(&place);
    let whole = [0, 1].map(|rank| fs::read(part_of(&place.0, rank)).expect("it is there"));
    let mut accepted = String::new();
    for (rank, part) in whole.iter().enumerate() {
        let lines: Vec<Vec<u8>> = part.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        // The last line says how the part ends. Without it, the part is one that was cut short.
        for at in 0..lines.len() - 1 {
            for (what, corrupt) in &CORRUPTIONS {
                let mut lines = lines.clone();
                corrupt(&mut lines, at);
                let mut parts = whole.clone();
                parts[rank] = lines.concat();
                match replay_of_bytes(&parts) {
                    Ok(report) => {
                        accepted += &format!("rank {rank}: line {} {what}: {:?}\n", at + 1, report.verdict)
                    }
                    Err(error) => {
                        let found = at + 1 + usize::from(*what == "is doubled");
                        let place = format!("rank-{rank}.jsonl:{found}: ");
                        assert!(error.to_string().contains(&place), "line {} {what}: {error}", at + 1);
                    }
                }
            }
        }
    }
    assert_eq!(accepted, "");
}

/// A number in a line of JSON becomes another one.
fn with_number(line: &str, which: usize, number: u64) -> String {
    let starts: Vec<usize> = line
        .char_indices()
        .filter(|(at, c)| {
            c.is_ascii_digit() && !line[..*at].ends_with(|before: char| before.is_ascii_digit())
        })
        .map(|(at, _)| at)
        .collect();
    let Some(start) = starts.get(which % starts.len().max(1)) else { return line.to_owned() };
    let rest = line[*start..].trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{}{number}{rest}", &line[..*start])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn no_trace_brings_it_down(
        edits in prop::collection::vec((0..5u8, any::<(bool, prop::sample::Index, prop::sample::Index)>(),
            prop::sample::select(vec![0, 1, 2, 3, 64, 65_535, 65_536, 1 << 30, 1 << 31, u64::from(u32::MAX), 1 << 63, u64::MAX]))
            , 1..5),
    ) {
        let mut parts = parts();
        for (kind, (second, one, other), number) in edits {
            let lines = &mut parts[usize::from(second)];
            let (one, other) = (1 + one.index(lines.len() - 1), 1 + other.index(lines.len() - 1));
            match kind {
                0 => lines.swap(one, other),
                1 if lines.len() > 2 => drop(lines.remove(one)),
                2 => lines.insert(other, lines[one].clone()),
                _ => lines[one] = with_number(&lines[one], other, number),
            }
        }
        // An error names the part; a verdict is one.
        if let Err(error) = replay_of(&parts) {
            prop_assert!(error.to_string().contains("rank-"), "{error}");
        }
    }
}
