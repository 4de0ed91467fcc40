//! What an endpoint records is allowed by the model, whatever bits its tags have, and with data that travels along.
#![allow(unsafe_code, reason = "the endpoint's memory is lent by pointer")]

use carrousel_engine::{CallContext, Endpoint, LocalJob, SendEnvelope, SendKind};
use carrousel_rank::{Communicator, Handle, RankId, Source, Tag, TagSelector};
use carrousel_trace::{Trace, TraceEnd, TraceText, part_of, sealed};
use carrousel_transport_shm::Settings;
use carrousel_verify::replay::{ReplayReport, ReplayVerdict, check};
use std::fs;
use std::path::Path;

const WORLD: CallContext = CallContext { communicator: Communicator::WORLD, site: None };
const TAG: Tag = Tag(1 << 63 | 1 << 32 | 7);
/// Accepts [`TAG`].
const MASKED: TagSelector = TagSelector::new(Tag(7), 1 << 63 | 1 << 40 | 1 << 32);
const SOURCE: Source = Source::Rank(RankId(0));
const DATA: u64 = 0xfedc_ba98_7654_3210;

fn poll(ends: &mut [Endpoint; 2]) {
    for _ in 0..100 {
        ends.iter_mut().for_each(|endpoint| _ = endpoint.poll());
    }
}

/// Ends a request of a rank.
fn end(ends: &mut [Endpoint; 2], at: usize, request: Handle) {
    while ends[at].finish(request, |_| ()).is_none() {
        poll(ends);
    }
}

/// A traced job of two ranks in this process: eager messages and rendezvous, received early, after a probe, and by a claim.
fn record(directory: &Path) {
    let job = LocalJob::new(2);
    let mut ends = [0, 1].map(|me| job.shm(me, Settings::default()).expect("there is memory"));
    for endpoint in &mut ends {
        endpoint.trace_to(directory, None).expect("it can be written to");
    }
    for len in [8, 100_000] {
        let (bytes, mut got) = (vec![5; len], [(); 3].map(|()| vec![0; len]));
        let [early, probed, claimed] = &mut got;
        // SAFETY: the bytes are kept, and not used, until the request has ended, as those of all requests here.
        let early = unsafe { ends[1].receive(&raw mut early[..], WORLD.caller(), SOURCE, MASKED) }
            .expect("there is such a rank");
        poll(&mut ends);
        let envelope = SendEnvelope { to: RankId(1), tag: TAG, data: Some(DATA) };
        // SAFETY: as above.
        let sent = [(); 3].map(|()| unsafe {
            ends[0].send(&raw const bytes[..], WORLD.caller(), envelope, SendKind::Standard)
        });
        poll(&mut ends);
        let probe = ends[1].probe_now(WORLD.caller(), Source::Any, MASKED).expect("the sender is there");
        assert_eq!(probe.and_then(|found| found.data), Some(DATA));
        // SAFETY: as above.
        let probed = unsafe { ends[1].receive(&raw mut probed[..], WORLD.caller(), Source::Any, MASKED) }
            .expect("there is such a rank");
        let claim = ends[1].claim_now(WORLD.caller(), Source::Any, MASKED).expect("the sender is there");
        let message = claim.expect("three were sent").request;
        // SAFETY: as above.
        let claimed = unsafe { ends[1].receive_claimed(&raw mut claimed[..], WORLD.caller(), message) }
            .expect("it was claimed");
        for request in [early, probed, claimed] {
            end(&mut ends, 1, request);
        }
        for request in sent {
            if let Some(request) = request.expect("there is such a rank") {
                end(&mut ends, 0, request);
            }
        }
        assert_eq!(got, [(); 3].map(|()| bytes.clone()));
    }
    ends.iter_mut().for_each(|endpoint| endpoint.end_trace(TraceEnd::Finalized));
}

fn replayed(directory: &Path) -> ReplayReport {
    check(Trace::open(directory).expect("it is a trace"), &|_| ()).expect("it has records only")
}

/// The text of a part.
fn text_of(part: &Path) -> String {
    TraceText::open(part).and_then(TraceText::rest).expect("it is a part")
}

#[test]
fn a_job_with_tags_of_64_bits_and_data_is_followed_to_its_end() {
    let place = tempfile::tempdir().expect("it can be made");
    record(place.path());
    let report = replayed(place.path());
    assert_eq!(
        (report.verdict, &report.departure, &report.misuses[..]),
        (ReplayVerdict::Allowed, &None, &[][..])
    );
    // All that a rank is told has the whole tag and the data, and the answers have them.
    let text = [0, 1].map(|rank| text_of(&part_of(place.path(), rank)));
    let (tag, data) = (TAG.0.to_string(), format!("\"data\":{DATA}"));
    for (rank, kind, count) in [
        (0, "{\"call\":{\"call\":{\"send\"", 6),
        (1, "\"eager\"", 3),
        (1, "{\"probe\"", 2),
        (1, "{\"claim\"", 2),
        (1, "{\"release\"", 6),
    ] {
        let lines: Vec<&str> = text[rank].lines().filter(|line| line.contains(kind)).collect();
        assert_eq!(lines.len(), count, "{kind}: {}", text[rank]);
        for line in lines {
            assert!(line.contains(&tag) && line.contains(&data), "{line}");
        }
    }
}

/// The high bits of a tag, and the data, are compared with the model as all other numbers are.
#[test]
fn another_tag_or_other_data_is_a_departure() {
    let place = tempfile::tempdir().expect("it can be made");
    record(place.path());
    let part = part_of(place.path(), 1);
    let whole = text_of(&part);
    for (number, other) in [(TAG.0, TAG.0 ^ 1 << 40), (DATA, DATA ^ 1 << 63)] {
        for kind in ["\"eager\"", "{\"probe\"", "{\"claim\"", "{\"release\""] {
            let mut changed = false;
            let lines: Vec<String> = whole
                .lines()
                .map(|line| {
                    let (bare, _) = line.rsplit_once(",\"crc32\":").expect("every line has a check value");
                    let line = format!("{bare}}}");
                    if changed || !line.contains(kind) {
                        return line;
                    }
                    let other = line.replace(&number.to_string(), &other.to_string());
                    changed = other != line;
                    other
                })
                .collect();
            assert!(changed, "{kind} has {number}");
            fs::write(&part, sealed(lines.iter().map(String::as_str))).expect("it can be written");
            assert_eq!(replayed(place.path()).verdict, ReplayVerdict::Departed, "{kind} with {other}");
        }
    }
}
