//! A reader reads the records of a recorder; any other line is refused with its place, or was cut short.

use carrousel_rank::{
    Call, Collective, Communicator, Context, Envelope, Event, Failure, Handle, Hint, Kind, Memory, Options,
    Packet, Pattern, RankId, Receive, ReceiveClaimed, Rtr, RtrId, Send, Source, Speculation, Status, Tag,
    TagSelector, Transfer, mpi,
};
use carrousel_trace::{
    CallAnswer, HostLibrary, HostRank, Record, Recorder, Trace, TraceEnd, TraceEndpoint, TraceError,
    TraceHead, TracePart, TraceText, VERSION, has_part, part_of, prepare, sealed,
};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that is removed at the end of the test.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("carrousel-trace-{}-{number}", std::process::id())))
    }

    /// A directory with these parts.
    fn with<T: AsRef<[u8]>>(parts: &[T]) -> Self {
        let place = Self::new();
        fs::create_dir_all(&place.0).expect("it can be made");
        for (text, rank) in parts.iter().zip(0..) {
            fs::write(part_of(&place.0, rank), text).expect("it can be written");
        }
        place
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn head(rank: u32, ranks: u32) -> TraceHead {
    let options =
        Options { speculation: Speculation::Always, transfer: Transfer::Write, ..Options::default() };
    let command = vec!["./heat".into(), "a b".into()];
    TraceHead { carrousel_trace: VERSION, rank, ranks, endpoint: None, command, options }
}

fn handle(index: u32) -> Handle {
    Handle { index, generation: 7 }
}

/// A record of each kind.
fn records() -> Vec<Record> {
    let memory = Memory { address: u64::MAX, key: 3 };
    let (tag, context, communicator) = (Tag(5), Context(2), Communicator::WORLD);
    let rtr = RtrId { receive: handle(1), index: 9 };
    let packets = [
        Packet::Eager { tag, data: None, len: 8 },
        Packet::Eager { tag, data: Some(u64::MAX), len: 8 },
        Packet::Rts { tag, data: None, len: 8, send: handle(2), memory, hint: Hint::None },
        Packet::Rts { tag, data: None, len: 8, send: handle(2), memory, hint: Hint::StopRtr },
        Packet::Rts { tag, data: None, len: 8, send: handle(2), memory, hint: Hint::ResumeRtr },
        Packet::Rts { tag, data: None, len: 8, send: handle(2), memory, hint: Hint::Unused },
        Packet::Fin { rtr, tag, data: Some(0), len: 8 },
        Packet::RtrAck { rtr, tag, data: None, len: 8 },
        Packet::Atp { receive: handle(3) },
        Packet::CancelAck { rtr },
        Packet::Rtr(Rtr { tag: mpi::ANY_TAG, seen: 1, ahead: 2, receive: handle(4), len: 8, memory }),
        Packet::Ats { send: handle(5) },
        Packet::RtsAck { send: handle(6) },
        Packet::Cts { send: handle(7), receive: handle(8), len: 8, memory },
        Packet::Cancel { rtr },
        Packet::Ack { seen: 64, taken: 72 },
    ];
    let calls = [
        Call::Send(Send {
            to: RankId(1),
            tag,
            communicator,
            len: 8,
            memory,
            synchronous: true,
            data: Some(7),
        }),
        Call::Receive(Receive {
            from: Source::Any,
            tag: TagSelector::new(Tag(4), 3),
            communicator,
            len: u64::MAX,
            memory,
        }),
        Call::Receive(Receive {
            from: Source::Rank(RankId(1)),
            tag: mpi::ANY_TAG,
            communicator,
            len: 0,
            memory,
        }),
        Call::ReceiveClaimed(ReceiveClaimed { message: handle(9), len: 8, memory }),
        Call::Discard(handle(9)),
        Call::Cancel(handle(9)),
    ];
    let failures = [Failure::Truncated { sent: 9 }, Failure::Cancelled, Failure::PeerLost(RankId(1))];
    let statuses = failures.into_iter().map(Some).chain([None]).map(|failure| Status {
        message: failure.map(|_| (RankId(1), tag)),
        data: failure.map(|_| 7),
        len: 8,
        failure,
    });
    let answers = [CallAnswer::Request(handle(1)), CallAnswer::Refused("a \"reason\"\n".to_owned())];
    let events = packets
        .map(|packet| Event::Packet { from: RankId(1), context, packet })
        .into_iter()
        .chain([Event::Written(handle(1)), Event::Read(handle(1)), Event::Announce(handle(1))])
        .chain([Event::Lost(RankId(1))]);
    let pattern = Pattern { source: Source::Any, tag: mpi::ANY_TAG, context };
    let probe = Record::Probe {
        pattern,
        envelope: Envelope { source: RankId(1), tag, context },
        data: Some(7),
        len: 8,
    };
    let envelope = Envelope { source: RankId(1), tag, context };
    let claim = Record::Claim { request: handle(1), pattern, envelope, data: Some(7), len: 8 };
    let collectives =
        Kind::ALL.map(|kind| Call::Collective(Collective { kind, ..Collective::barrier(communicator) }));
    let calls = calls.into_iter().chain(collectives).flat_map(|call| {
        answers.clone().map(|answer| Record::Call {
            ignored: if call == calls[0] { Vec::new() } else { vec![1, 3] },
            call,
            answer,
            file: Some("a \"b\".rs".into()).filter(|_| call != calls[0]),
            line: Some(12).filter(|_| call != calls[0]),
        })
    });
    calls
        .chain(events.map(Record::Event))
        .chain(statuses.map(|status| Record::Release { request: handle(1), status }))
        .chain([
            Record::Define { communicator, members: vec![0, 2] },
            Record::Forget { communicator },
            probe,
            claim,
            Record::Peer { rank: 7, address: "a \"b\" c".to_owned() },
        ])
        .collect()
}

fn read(directory: &Path) -> Result<(Trace, Vec<Vec<Record>>), TraceError> {
    let mut trace = Trace::open(directory)?;
    let mut all = Vec::new();
    for part in trace.parts.iter_mut().flatten() {
        let mut records = Vec::new();
        while let Some(record) = part.next_record()? {
            records.push(record);
        }
        all.push(records);
    }
    Ok((trace, all))
}

/// A part with one of each record.
fn text() -> String {
    text_of(&records())
}

fn text_of(records: &[Record]) -> String {
    let place = recorded(records, None);
    told(&part_of(&place.0, 0)).expect("it is one")
}

/// A trace of one rank.
fn recorded(records: &[Record], limit: Option<u64>) -> Place {
    let place = Place::new();
    let mut recorder = Recorder::create(&place.0, &head(0, 1), limit).expect("it can be made");
    records.iter().for_each(|record| recorder.record(record));
    recorder.end(TraceEnd::Finalized);
    place
}

/// The text of a part.
fn told(path: &Path) -> Result<String, TraceError> {
    TraceText::open(path)?.rest()
}

/// Some records of each kind, twice, and the bytes of a part with them as they are on the disk.
fn compact() -> (Vec<u8>, Vec<Record>) {
    let some: Vec<Record> = records().into_iter().step_by(6).collect();
    let records = [some.clone(), some].concat();
    (fs::read(part_of(&recorded(&records, None).0, 0)).expect("it is there"), records)
}

/// The file has every kind of record as this version of the format writes it, so that traces of today are read by
/// every later build of the same version.
#[test]
fn the_bytes_of_a_version_do_not_change() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/version_{VERSION}.jsonl"));
    let golden = fs::read_to_string(golden).expect("each version has its file");
    for (line, (written, expected)) in (1..).zip(text().lines().zip(golden.lines())) {
        assert_eq!(written, expected, "line {line}: other bytes are another VERSION");
    }
    assert_eq!(text(), golden);
}

#[test]
fn recorded_records_are_read() {
    let place = Place::new();
    for (rank, end) in [(0, Some(TraceEnd::Finalized)), (1, None)] {
        let mut recorder = Recorder::create(&place.0, &head(rank, 3), None).expect("it can be made");
        records().iter().for_each(|record| recorder.record(record));
        end.into_iter().for_each(|end| recorder.end(end));
    }
    let (trace, all) = read(&place.0).expect("it is one");
    assert_eq!((trace.ranks, trace.options, &trace.command[1][..]), (3, head(0, 3).options, "a b"));
    assert_eq!(all, [records(), records()]);
    let ends = trace.parts.iter().map(|part| part.as_ref().map(|part| part.end()));
    assert_eq!(ends.collect::<Vec<_>>(), [Some(Some(TraceEnd::Finalized)), Some(Some(TraceEnd::Left)), None]);
}

#[test]
fn a_compact_part_may_be_cut_short_anywhere_and_has_its_whole_records_then() {
    let (whole, all) = compact();
    let place = Place::with(&[""]);
    let mut last = 0;
    for cut in 1..whole.len() {
        fs::write(part_of(&place.0, 0), &whole[..cut]).expect("it can be written");
        match read(&place.0) {
            Ok((trace, got)) => {
                assert_eq!(got[0], all[..got[0].len()], "{cut} bytes");
                assert!(got[0].len() == last || got[0].len() == last + 1, "{cut} bytes");
                last = got[0].len();
                assert_eq!(trace.parts[0].as_ref().and_then(|part| part.end()), None);
            }
            Err(error) => {
                let error = error.to_string();
                assert!(last == 0 && error.contains("rank-0.trace:1: "), "{cut} bytes: {error}");
            }
        }
    }
    assert_eq!(last, all.len());
}

#[test]
fn a_changed_byte_of_a_compact_part_is_noticed() {
    let (whole, all) = compact();
    let place = Place::with(&[""]);
    for at in 0..whole.len() {
        for change in [1, 0x80] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            fs::write(part_of(&place.0, 0), &bytes).expect("it can be written");
            // A line that has become longer than the rest of the file counts as cut short. That a line without numbers is said
            // to be no form changes nothing of what is read.
            match read(&place.0) {
                Err(error) => assert!(error.to_string().contains("rank-0.trace:"), "byte {at}: {error}"),
                Ok((trace, got)) => {
                    let is_cut = trace.parts[0].as_ref().is_none_or(|part| part.end().is_none());
                    assert!(is_cut || got[0] == all && whole[at] == 0 && change == 1, "byte {at}");
                    assert_eq!(got[0], all[..got[0].len()], "byte {at}");
                }
            }
        }
    }
}

#[test]
fn lines_that_are_no_objects_have_no_text() {
    for line in [&b""[..], b"x"] {
        let bytes =
            [b"carrousel trace, compact 1\n", &b"\x01"[..], line, b"\n", &crc(line).to_le_bytes()].concat();
        let place = Place::with(&[bytes]);
        let error = told(&part_of(&place.0, 0)).expect_err("it is no object").to_string();
        assert!(error.ends_with("rank-0.trace:1: no object: it does not end in a brace"), "{error}");
    }
}

/// The check value of a first line.
fn crc(line: &[u8]) -> u32 {
    crc32fast::hash(&[line, b"\n"].concat())
}

#[test]
fn an_event_takes_few_bytes() {
    let message = |turn: u32| {
        let request = Handle { index: turn % 3, generation: turn };
        let memory = Memory { address: 0x7f12_3456_7000 + u64::from(turn % 2) * 0x1_0000, key: turn % 64 };
        let (tag, context) = (Tag(5), Context(0));
        let communicator = Communicator::WORLD;
        let packet = Packet::Rts { tag, data: None, len: 1 << 20, send: request, memory, hint: Hint::None };
        let call = Call::Receive(Receive {
            from: Source::Any,
            tag: mpi::ANY_TAG,
            communicator,
            len: 1 << 20,
            memory,
        });
        let status = Status { message: Some((RankId(1), tag)), data: None, len: 1 << 20, failure: None };
        [
            Record::Event(Event::Packet { from: RankId(turn % 4), context, packet }),
            Record::Call {
                call,
                answer: CallAnswer::Request(request),
                file: Some("src/a/rather/long/path/of/a/program.rs".into()),
                line: Some(100 + turn % 7),
                ignored: Vec::new(),
            },
            Record::Event(Event::Read(request)),
            Record::Release { request, status },
        ]
    };
    let records: Vec<Record> = (0..10_000).flat_map(message).collect();
    let place = recorded(&records, None);
    let bytes = fs::metadata(part_of(&place.0, 0)).expect("it is there").len();
    let each = bytes as f64 / records.len() as f64;
    assert!(each <= 40.0, "{each} bytes a record");
    let (_, all) = read(&place.0).expect("it is one");
    assert_eq!(all[0], records);
}

#[test]
fn a_part_says_that_it_has_reached_its_limit() {
    let records: Vec<Record> = std::iter::repeat_with(records).take(20).flatten().collect();
    let whole = fs::metadata(part_of(&recorded(&records, None).0, 0)).expect("it is there").len();
    for limit in [0, 1000, 4321, whole - 1, whole + 64] {
        let place = recorded(&records, Some(limit));
        let bytes = fs::metadata(part_of(&place.0, 0)).expect("it is there").len();
        let (trace, all) = read(&place.0).expect("it is one");
        assert_eq!(all[0], records[..all[0].len()], "limit {limit}");
        let end = trace.parts[0].as_ref().and_then(|part| part.end());
        let is_whole = all[0].len() == records.len();
        assert_eq!(is_whole, limit > whole, "limit {limit}");
        assert_eq!(end, Some(if is_whole { TraceEnd::Finalized } else { TraceEnd::Limit }), "limit {limit}");
        assert!(bytes <= limit || all[0].is_empty(), "limit {limit}: {bytes} bytes");
        assert!(limit == 0 || bytes + 1000 > limit.min(whole), "limit {limit}: {bytes} bytes");
    }
}

#[test]
fn the_text_of_a_part_is_a_part_and_its_own_text() {
    let place = recorded(&records(), None);
    let text = told(&part_of(&place.0, 0)).expect("it is one");
    let again = Place::with::<&str>(&[]);
    fs::write(again.0.join("rank-0.jsonl"), &text).expect("it can be written");
    assert_eq!(read(&again.0).expect("it is one").1[0], records());
    assert_eq!(told(&again.0.join("rank-0.jsonl")).expect("it is one"), text);
    // Which of the two counts, nobody says.
    fs::write(part_of(&again.0, 0), &text).expect("it can be written");
    let error = Trace::open(&again.0).expect_err("there are two").to_string();
    assert!(error.contains("rank-0.jsonl") && error.contains("rank-0.trace"), "{error}");
    prepare(&again.0).expect("only parts are there");
    assert!(!has_part(&again.0));
}

#[test]
fn a_part_may_be_cut_short_anywhere() {
    let whole = text();
    let first = whole.find('\n').expect("there is a head") + 1;
    for cut in (first..whole.len()).step_by(7) {
        let place = Place::with(&[&whole[..cut]]);
        let (trace, all) = read(&place.0).expect("what is there can be read");
        assert_eq!(all[0], records()[..all[0].len()]);
        assert_eq!(all[0].len(), whole[..cut].matches('\n').count() - 1);
        assert_eq!(trace.parts[0].as_ref().and_then(|part| part.end()), None);
    }
}

#[test]
fn an_invalid_trace_is_refused_with_its_place() {
    let whole = text();
    let (first, rest) = whole.split_once('\n').expect("there is a head");
    let with_head = |from: &str, to: &str| format!("{}\n{rest}", first.replace(from, to));
    // With correct check values: errors are reported even in a trace that was written that way.
    let refused = |parts: &[&str], says: &[&str]| {
        let sealed: Vec<String> = parts.iter().map(|text| sealed(text.lines())).collect();
        let place = Place::with(&sealed);
        let error = read(&place.0).err().unwrap_or_else(|| panic!("{says:?} is read"));
        let message = error.to_string();
        for text in says {
            assert!(message.contains(text), "{text:?} is not in {message:?}");
        }
    };
    refused(&[], &["has no part of a trace"]);
    refused(&[""], &["rank-0.trace:1: the head is missing, or cut short"]);
    refused(&["hello\n"], &["rank-0.trace:1: no head of a trace"]);
    refused(&[rest], &["rank-0.trace:1: no head of a trace"]);
    refused(
        &[&with_head("\"carrousel_trace\":5", "\"carrousel_trace\":4")],
        &["version 4", "this command reads 5"],
    );
    refused(&[&with_head("\"ranks\":1", "\"ranks\":4000000000")], &["rank 0 of 4000000000"]);
    refused(&[&with_head("\"rank\":0,\"ranks\":1", "\"rank\":1,\"ranks\":2")], &["it is the part of rank 1"]);
    refused(&[&with_head("\"write\"", "\"teleport\"")], &["rank-0.trace:1:", "`teleport`"]);
    let two = with_head("\"ranks\":1", "\"ranks\":2");
    let other = two.replace("\"rank\":0", "\"rank\":1");
    refused(
        &[&two, &other.replace("\"rtr_limit\":64", "\"rtr_limit\":1")],
        &["rank-1.trace", "options differ"],
    );
    refused(&[&two, &other.replace("\"ranks\":2", "\"ranks\":3")], &["numbers of ranks differ"]);
    for (line, wrong, says) in [
        ("{}", "{}", "rank-0.trace:2:"),
        ("", "", "rank-0.trace:2:"),
        ("number", "{\"event\":{\"written\":{\"index\":-1,\"generation\":0}}}", "rank-0.trace:2:"),
        ("field", "{\"event\":{\"written\":{\"index\":1,\"generation\":0,\"x\":0}}}", "unknown field `x`"),
        ("kind", "{\"surprise\":1}", "`surprise`"),
        (
            "mask",
            "{\"probe\":{\"pattern\":{\"source\":\"any\",\"tag\":{\"tag\":3,\"ignore\":2},\"context\":0},\"envelope\":{},\"len\":0}}",
            "tag 3 has bits of those that it ignores",
        ),
        ("communicator", "{\"define\":{\"communicator\":65535,\"members\":[]}}", "no communicator 65535"),
    ] {
        let text = format!("{first}\n{wrong}\n{rest}");
        assert!(!line.contains('\n'));
        refused(&[&text], &["rank-0.trace:2:", says]);
    }
    refused(&[&format!("{whole}{rest}")], &["something stands behind the end"]);
    let long = format!("{first}\n{}", "x".repeat(3 << 20));
    refused(&[&long], &["rank-0.trace:2: a line of more than 1048576 bytes"]);
}

#[test]
fn no_changed_byte_goes_unnoticed() {
    let some: Vec<Record> = records().into_iter().step_by(4).collect();
    let whole = text_of(&some).into_bytes();
    let place = Place::with(&[&whole]);
    let mut line = 1;
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(part_of(&place.0, 0), &bytes).expect("it can be written");
        match read(&place.0) {
            Err(error) => {
                let message = error.to_string();
                assert!(message.contains(&format!("rank-0.trace:{line}: ")), "byte {at}: {message}");
            }
            // Without its line feed, the last line counts as cut short.
            Ok((trace, _)) => {
                let end = trace.parts[0].as_ref().and_then(|part| part.end());
                assert_eq!((at, end), (whole.len() - 1, None));
            }
        }
        line += usize::from(whole[at] == b'\n');
    }
}

#[test]
fn no_line_is_removed_added_or_moved_unnoticed() {
    let whole = text();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let refused = |lines: &[&str], place: usize, what: &str| {
        let directory = Place::with(&[lines.concat()]);
        let error = read(&directory.0).expect_err(what);
        let told = error.to_string();
        assert!(told.contains(&format!("rank-0.trace:{place}: ")), "{what} {place}: {told}");
    };
    for at in 0..lines.len() - 1 {
        let mut changed = lines.clone();
        changed.remove(at);
        refused(&changed, at + 1, "removed");
        let mut changed = lines.clone();
        changed.swap(at, at + 1);
        refused(&changed, at + 1, "moved");
        for from in [0, at] {
            let mut changed = lines.clone();
            changed.insert(at + 1, lines[from]);
            refused(&changed, at + 2, "added");
        }
    }
}

#[test]
fn a_part_of_another_run_is_not_taken_for_the_rest() {
    // The same records after another head: two parts that were put together by mistake.
    let whole = text();
    let place = Place::new();
    let mut other = head(0, 1);
    other.command.push("again".to_owned());
    let mut recorder = Recorder::create(&place.0, &other, None).expect("it can be made");
    records().iter().for_each(|record| recorder.record(record));
    recorder.end(TraceEnd::Finalized);
    let again = told(&part_of(&place.0, 0)).expect("it is one");
    let (first, _) = whole.split_once('\n').expect("there is a head");
    let (_, rest) = again.split_once('\n').expect("there is a head");
    let place = Place::with(&[format!("{first}\n{rest}")]);
    let error = read(&place.0).expect_err("it is of two runs").to_string();
    assert!(error.contains("rank-0.trace:2: the check value is "), "{error}");
}

#[test]
fn endpoints_of_a_process_have_a_part_each_and_none_replaces_another() {
    let place = Place::new();
    let host = HostRank { job: Some("a job".to_owned()), rank: 1, ranks: 3 };
    for address in ["first", "second"] {
        let address = address.to_owned();
        let (host, library) = (Some(host.clone()), Some(HostLibrary::OpenMpi));
        let endpoint = Some(TraceEndpoint { address, process: 7, host, library });
        let mut recorder =
            Recorder::create(&place.0, &TraceHead { endpoint, ..head(0, 16) }, None).expect("it can be made");
        recorder.end(TraceEnd::Finalized);
    }
    let first = told(&place.0.join("endpoint-7-0.trace")).expect("it is there");
    let says = r#""rank":0,"ranks":16,"endpoint":{"address":"first","process":7,"host":{"job":"a job","rank":1,"ranks":3},"library":"open_mpi"},"#;
    assert!(first.contains(says), "{first}");
    let trace = Trace::open(&place.0).expect("it is one");
    // The ranks of the host's job, then what else its processes have.
    let address =
        |part: &Option<TracePart>| part.as_ref()?.endpoint().map(|endpoint| endpoint.address.clone());
    let addresses: Vec<_> = trace.parts.iter().map(address).collect();
    assert_eq!(addresses, [None, Some("first".to_owned()), None, Some("second".to_owned())]);
    assert_eq!((trace.addresses["first"], trace.addresses["second"], trace.ranks), (1, 3, 4));
    // A rank of a job of ours has no place among them.
    Recorder::create(&place.0, &head(0, 16), None).expect("it can be made");
    let error = Trace::open(&place.0).expect_err("it is of two kinds").to_string();
    assert!(error.contains("their kinds of ranks differ"), "{error}");
    // A new trace removes both.
    prepare(&place.0).expect("only parts are there");
    assert!(!has_part(&place.0));
}

#[test]
fn a_directory_as_a_part_is_refused() {
    let place = Place::with::<&str>(&[]);
    fs::create_dir(part_of(&place.0, 0)).expect("it can be made");
    let error = read(&place.0).expect_err("it is a directory").to_string();
    assert!(error.ends_with("rank-0.trace: it is no regular file"), "{error}");
}

#[test]
fn a_trace_replaces_a_trace_and_nothing_else() {
    let place = Place::with(&["old", "older"]);
    prepare(&place.0).expect("it is an old trace");
    assert_eq!(fs::read_dir(&place.0).expect("it is there").count(), 0);
    for name in ["thesis.tex", "rank-01.trace", "rank-.trace", "rank-1.json"] {
        fs::write(place.0.join(name), "years of work").expect("it can be written");
        fs::write(part_of(&place.0, 0), "old").expect("it can be written");
        let error = prepare(&place.0).expect_err("something is there").to_string();
        assert!(error.contains(name), "{error}");
        assert_eq!(fs::read_dir(&place.0).expect("it is there").count(), 2, "nothing is removed");
        fs::remove_file(place.0.join(name)).expect("it is there");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_bytes_of_a_compact_part_are_read_or_refused(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let (mut bytes, _) = compact();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let place = Place::with(&[&bytes]);
        if let Err(error) = read(&place.0) {
            prop_assert!(error.to_string().contains("rank-0.trace"), "{error}");
        }
    }

    #[test]
    fn bytes_behind_the_begin_of_a_compact_part_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let place = Place::with(&[[b"carrousel trace, compact 1\n", &bytes[..]].concat()]);
        let error = read(&place.0).expect_err("there is no head").to_string();
        prop_assert!(error.contains("rank-0.trace:1: "), "{error}");
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        in_head in any::<bool>(),
        with_values in any::<bool>(),
    ) {
        let mut bytes = text().into_bytes();
        let first = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
        for (at, byte) in edits {
            let at = if in_head { at.index(first) } else { at.index(bytes.len()) };
            bytes[at] = byte;
        }
        if with_values {
            // With correct check values, so that other checks are reached.
            bytes = sealed(String::from_utf8_lossy(&bytes).lines()).into_bytes();
        }
        let place = Place::with(&[""]);
        fs::write(part_of(&place.0, 0), &bytes).expect("it can be written");
        if let Err(error) = read(&place.0) {
            prop_assert!(error.to_string().contains("rank-0.trace"), "{error}");
        }
    }
}
