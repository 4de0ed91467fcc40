//! What posting and receiving costs beside instructions, which a benchmark counts: one doorbell a message, no allocation,
//! no system call.
#![cfg(feature = "verbs")]

mod fake;

use allocation_counter::measure;
use carrousel_transport::{
    Arrival, BODY_MAX, Context, Direction, HEAD_MAX, Head, Header, Memory, Protocol, Transport,
};
use carrousel_transport_verbs::Settings;
use fake::{End, FakeAdapter, Reports, connected, head};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use std::collections::BTreeMap;
use std::env;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::Duration;

const WARM_UP: u64 = 300;
const MESSAGES: u64 = 5_000;
/// More than there are slots for what is not inline.
const ROUNDS: u64 = 300;

/// Sends a message, which the peer takes. What is owed in return goes.
fn message(ends: &mut [End; 2], data: &[u8]) {
    ends[0].send(1, data);
    ends[1].poll();
    ends[0].poll();
}

#[test]
fn a_message_of_steady_state_is_one_doorbell_and_no_allocation() {
    // Inline, and copied into a slot.
    for (adapter, size) in [(0, 8), (2, 4 << 10)] {
        let adapters = [FakeAdapter(adapter), FakeAdapter(adapter + 1)];
        let mut ends = connected(adapters);
        let data = vec![1; size];
        (0..WARM_UP).for_each(|_| message(&mut ends, &data));
        let (doorbells, bytes) = (adapters.map(FakeAdapter::doorbells), ends[1].heard.bytes);
        let counted = measure(|| (0..MESSAGES).for_each(|_| message(&mut ends, &data)));
        assert_eq!(ends[1].heard.bytes - bytes, MESSAGES * size as u64);
        assert_eq!(counted.count_total, 0, "allocations for messages of {size} bytes");
        assert_eq!(adapters[0].doorbells() - doorbells[0], MESSAGES, "for messages of {size} bytes");
        // Credits are given back for half a window at a time, or more.
        assert!(adapters[1].doorbells() - doorbells[1] <= MESSAGES / 16, "for messages of {size} bytes");
    }
}

#[test]
fn a_message_is_inline_as_far_as_the_adapter_takes_it() {
    let largest = Settings::default().inline;
    for inline in [largest - 1, largest / 2, 80, 8, 0] {
        let mut ends = connected([FakeAdapter(8), FakeAdapter(9)].map(|adapter| adapter.with_inline(inline)));
        for len in [8, 64, 200] {
            message(&mut ends, &vec![1; len]);
        }
        assert_eq!(ends[1].heard.packets, 4);
    }
}

#[test]
fn a_notice_is_posted_with_its_transfer_however_few_bytes_are_inline() {
    let notice = |direction, kind, rest: &[u8]| {
        Head::new(Header::new(Protocol::Messages, direction, kind, Context::MESSAGES), [&[5; 8], rest])
    };
    let written = |kind, rest| notice(Direction::ToReceiver, kind, rest);
    let read = notice(Direction::ToSender, 2, &[]);
    // The longest one is among them.
    let notices = [written(3, &[1; 20]), written(4, &[1; BODY_MAX - 8]), read];
    let sizes = notices.map(|notice| notice.as_bytes().len());
    assert_eq!(sizes[1], HEAD_MAX);
    for inline in sizes.into_iter().flat_map(|size| [size - 1, size]).chain([0]) {
        let adapters = [FakeAdapter(10), FakeAdapter(11)].map(|adapter| adapter.with_inline(inline as u32));
        let mut ends = connected(adapters);
        let before = adapters[0].doorbells();
        for _ in 0..ROUNDS {
            for notice in notices {
                match notice.direction() {
                    Direction::ToSender => ends[0].read_notice(1, Some(notice)),
                    Direction::ToReceiver => ends[0].write_notice(1, Some(notice)),
                }
            }
            let mut reports = Reports::default();
            reports.hear(&mut ends[1], notices.len());
            let come = reports.0.iter().map(|arrival| match arrival {
                Arrival::Packet { packet, .. } => *packet,
                other => panic!("{other:?}, where {inline} bytes are inline"),
            });
            assert!(come.eq(notices.map(|notice| notice.header())), "where {inline} bytes are inline");
            ends[0].poll();
        }
        assert_eq!(ends[0].heard.written, 2 * ROUNDS, "where {inline} bytes are inline");
        let doorbells = adapters[0].doorbells() - before;
        assert_eq!(doorbells, notices.len() as u64 * ROUNDS, "where {inline} bytes are inline");
    }
}

/// A rank that computes posts nothing: what is not posted with the call that starts it moves no byte meanwhile.
#[test]
fn reads_and_their_notices_are_posted_at_once_also_to_soft_roce_which_has_no_fences() {
    let hard = [FakeAdapter(14), FakeAdapter(15)];
    let soft = [FakeAdapter(16), FakeAdapter(17)].map(FakeAdapter::as_soft_roce);
    // Over Soft-RoCE a word of the peer is read, instead of a fence.
    for (adapters, posted) in [(hard, (2, 2, 16)), (soft, (4, 0, 1))] {
        let [mut own, mut other] = connected(adapters);
        adapters[0].stall(true);
        let (there, mut here) = ([1_u64, 2], [0_u64; 2]);
        for (from, into) in there.iter().zip(&mut here) {
            let address = |place: *mut u64| Memory { address: place.expose_provenance() as u64, key: 1 };
            let places = [address((&raw const *from).cast_mut()), address(into)];
            own.read(1, places, 8, Some(head(Direction::ToSender, 2)));
        }
        assert_eq!(adapters[0].reads(), posted, "reads, fences, and reads at a time");
        Reports::default().hear(&mut other, 2);
        adapters[0].stall(false);
        Reports::default().hear(&mut own, 2);
        assert_eq!(here, there);
    }
}

#[test]
fn peers_are_asked_whether_they_live_by_the_time_that_is_polled_with() {
    let adapters = [FakeAdapter(12), FakeAdapter(13)];
    let [mut one, _other] = connected(adapters);
    while one.poll() > 0 || !one.verbs.unacknowledged().is_empty() {}
    let (doorbells, next) = (adapters[0].doorbells(), one.verbs.next_poll().expect("it was polled"));
    let asks = |one: &mut End, now| {
        one.now = now;
        for _ in 0..10 {
            one.poll();
        }
        adapters[0].doorbells() - doorbells
    };
    assert_eq!(asks(&mut one, next - Duration::from_nanos(1)), 0);
    assert_eq!(one.verbs.next_poll(), Some(next));
    assert_eq!(asks(&mut one, next), 1, "once a period");
    let later = one.verbs.next_poll().expect("it was polled");
    assert!(later > next);
    assert_eq!(asks(&mut one, later), 2);
}

#[test]
fn peers_touch_no_memory_of_the_transport() {
    let adapters = [FakeAdapter(6), FakeAdapter(7)];
    let mut ends = connected(adapters);
    message(&mut ends, &[1; 4 << 10]);
    assert_eq!(adapters.map(FakeAdapter::opened), [0, 0]);
}

#[test]
fn allocations_are_counted() {
    let counted = measure(|| drop(connected([FakeAdapter(4), FakeAdapter(5)])));
    assert!(counted.count_total > 0);
}

/// How they end when all is well: not as a program ends that has found no test to run.
const WELL: i32 = 17;
/// The tests that are run as processes of their own.
const SILENT: &str = "messages_without_system_calls";
const LOUD: &str = "a_system_call";

/// Runs one of the tests that are run as processes. Returns the status of its end, or the signal.
fn run(test: &str) -> Result<i32, i32> {
    let program = env::current_exe().expect("it is known");
    let output = Command::new(program).args(["--ignored", "--exact", test]).output().expect("it can be run");
    output.status.code().ok_or_else(|| output.status.signal().expect("it has ended by one or the other"))
}

/// From now on a system call of this thread ends the process: by a signal, unless that is what it is for.
fn forbid_system_calls() {
    let arch = env::consts::ARCH.try_into().expect("it is known");
    let but = BTreeMap::from([(libc::SYS_exit_group, Vec::new())]);
    let filter = SeccompFilter::new(but, SeccompAction::KillProcess, SeccompAction::Allow, arch);
    let filter: BpfProgram = filter.and_then(TryInto::try_into).expect("it is right");
    apply_filter(&filter).expect("filters are permitted");
}

fn end() -> ! {
    // SAFETY: it ends the process, and nothing else.
    unsafe { libc::_exit(WELL) }
}

#[test]
fn a_message_of_steady_state_is_no_system_call() {
    assert_eq!(run(LOUD), Err(libc::SIGSYS), "system calls are noticed");
    assert_eq!(run(SILENT), Ok(WELL));
}

#[test]
#[ignore = "ends its process"]
fn messages_without_system_calls() {
    let mut ends = connected([FakeAdapter(0), FakeAdapter(1)]);
    let data = [1; 4 << 10];
    let mut messages = |count| {
        for _ in 0..count {
            message(&mut ends, &data[..8]);
            message(&mut ends, &data);
        }
    };
    messages(WARM_UP);
    forbid_system_calls();
    messages(MESSAGES);
    end();
}

#[test]
#[ignore = "ends its process"]
fn a_system_call() {
    forbid_system_calls();
    let _ = rustix::process::getppid();
    end();
}
