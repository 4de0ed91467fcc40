//! A system that refuses calls, as filters of containers do, or that lacks a resource: an operation with another way takes
//! that way, and every other is an error.

use super::processes::{ChildRank, run_as, say};
use super::{assert_conforms, modes, plans};
use carrousel_transport::conformance::Event;
use carrousel_transport::{RankId, Transport};
use carrousel_transport_shm::{Node, Settings};
use libc::c_long;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use std::fs;
use std::time::Duration;

const RANKS: [RankId; 2] = [RankId(0), RankId(1)];

/// Calls that have an alternative, with a name for the facility that each case lacks.
const CASES: [(&str, &[c_long]); 5] = [
    ("descriptors of processes", &[libc::SYS_pidfd_open]),
    ("direct copies", &[libc::SYS_process_vm_readv, libc::SYS_process_vm_writev]),
    ("memory before it is used", &[libc::SYS_fallocate]),
    ("the file systems of segments", &[libc::SYS_fstatfs]),
    (
        "all of these",
        &[
            libc::SYS_pidfd_open,
            libc::SYS_process_vm_readv,
            libc::SYS_process_vm_writev,
            libc::SYS_fallocate,
            libc::SYS_fstatfs,
            libc::SYS_userfaultfd,
            libc::SYS_membarrier,
        ],
    ),
];
/// The errors of a filter; the second is that of a system that does not know the call.
const ANSWERS: [i32; 2] = [libc::EPERM, libc::ENOSYS];

/// Makes the system refuse these calls to this thread, and to those that it starts, from now on.
fn filter(calls: &[c_long], answer: i32) {
    let rules = calls.iter().map(|call| (*call, Vec::new())).collect();
    let arch = std::env::consts::ARCH.try_into().expect("it is known");
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(answer as u32), arch);
    let filter: BpfProgram = filter.and_then(TryInto::try_into).expect("it is right");
    apply_filter(&filter).expect("filters are permitted");
}

/// Makes the system refuse these calls to this thread.
pub(super) fn refuse_calls(calls: &[c_long]) {
    filter(calls, libc::EPERM);
}

/// Refuses the calls of a case, which is numbered as [`cases`] are.
pub(super) fn refuse(case: usize) {
    filter(CASES[case / ANSWERS.len()].1, ANSWERS[case % ANSWERS.len()]);
}

fn cases() -> impl Iterator<Item = (usize, String)> {
    let name = |case: usize| {
        format!("without {}, error {}", CASES[case / ANSWERS.len()].0, ANSWERS[case % ANSWERS.len()])
    };
    (0..CASES.len() * ANSWERS.len()).map(move |case| (case, name(case)))
}

#[test]
fn a_refused_call_is_replaced_by_another() {
    let settings = modes()[0];
    let plans = plans(settings);
    for (case, name) in cases() {
        println!("{name}");
        let at = case % (plans.len() - 1);
        assert_conforms(&plans[at], settings, &run_as(&plans[at], &format!("{at} 0 {case}"), None));
    }
}

#[test]
fn a_rank_that_is_killed_is_lost_whatever_the_system_refuses() {
    let settings = modes()[0];
    let plans = plans(settings);
    let (at, plan) = (plans.len() - 1, plans.last().expect("there are plans"));
    for (case, name) in cases() {
        let ranks = run_as(plan, &format!("{at} 0 {case}"), Some((1, Duration::from_millis(20))));
        assert_conforms(plan, settings, &ranks);
        let survivor = ranks[0].as_ref().expect("it lives");
        assert!(survivor.contains(&Event::Lost(1)), "{name}");
    }
}

/// The task of a process that tests a call or resource by itself; its name follows.
pub(super) const ALONE: &str = "alone ";

/// The process with this task.
pub(super) fn alone(task: &str) {
    match task {
        "descriptors" => exhaust(descriptors, fewer_descriptors),
        "memory" => exhaust(segments, less_address_space),
        call => {
            filter(&[call.parse().expect("a call")], libc::EPERM);
            say(match Node::new(RANKS[0], &RANKS, Settings::default()) {
                Ok(_) => "made".to_owned(),
                Err(error) => error.to_string(),
            });
        }
    }
}

#[test]
fn a_call_without_another_way_is_an_error_that_names_it() {
    for (call, what) in [
        (libc::SYS_memfd_create, "cannot create a segment: "),
        (libc::SYS_ftruncate, "cannot give a segment its size: "),
        (libc::SYS_fcntl, "cannot seal a segment: "),
    ] {
        let said = ChildRank::start(&format!("{ALONE}{call}")).hear();
        assert!(said.starts_with(what), "{said}");
    }
}

/// Two nodes that connect to each other.
fn connect() -> Result<[Node; 2], String> {
    // So large that a ring is the only thing that the address space has no room for.
    let settings = Settings { capacity: 1 << 19, direct: true };
    let make = |rank| Node::new(rank, &RANKS, settings).map_err(|error| error.to_string());
    let mut nodes = [make(RANKS[0])?, make(RANKS[1])?];
    let addresses = [nodes[1].address(), nodes[0].address()];
    for ((node, address), peer) in nodes.iter_mut().zip(&addresses).zip([RANKS[1], RANKS[0]]) {
        node.out().connect(peer, address).map_err(|error| error.to_string())?;
    }
    Ok(nodes)
}

/// Connects with as little of a resource as `limit` leaves, then with a little more, and so on until it succeeds: so each
/// call that takes some of it is refused once. Says how much has leaked, by `count`, and which errors there were.
fn exhaust(count: fn() -> usize, limit: fn(u64) -> Option<u64>) {
    drop(connect().expect("there is enough"));
    let resource = if limit(0).is_none() { Resource::As } else { Resource::Nofile };
    let before = getrlimit(resource);
    let (held, mut errors) = (count(), Vec::new());
    for some in 0.. {
        let current = limit(some).unwrap_or_else(|| address_space() + some * STEP);
        setrlimit(resource, Rlimit { current: Some(current), ..before }).expect("it is less");
        let nodes = connect();
        setrlimit(resource, before).expect("it was so before");
        match nodes {
            Ok(nodes) => {
                drop(nodes);
                break;
            }
            Err(error) => errors.push(error),
        }
        assert_eq!(count(), held, "nothing is left behind: {errors:?}");
    }
    errors.dedup();
    say(format!("{} {}", count() - held, errors.join(" | ")));
}

/// Bytes by which the address space grows each time: fewer than a ring has.
const STEP: u64 = 1 << 20;

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("it is there").count()
}

/// The limit below which new descriptors have to be: none fits at first.
fn fewer_descriptors(most: u64) -> Option<u64> {
    Some(most)
}

/// The number of mappings of segments.
fn segments() -> usize {
    let maps = fs::read_to_string("/proc/self/maps").expect("it is there");
    maps.lines().filter(|line| line.contains("memfd:carrousel")).count()
}

/// The limit of the address space depends on its size, see [`exhaust`].
fn less_address_space(_: u64) -> Option<u64> {
    None
}

fn address_space() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").expect("it is there");
    pages.split(' ').next().and_then(|pages| pages.parse::<u64>().ok()).expect("a number") * 4096
}

#[test]
fn whichever_descriptor_is_the_last_nothing_is_left_behind() {
    let said = ChildRank::start(&format!("{ALONE}descriptors")).hear();
    let (left, errors) = said.split_once(' ').expect("two parts");
    assert_eq!(left, "0", "{errors}");
    assert!(errors.contains("cannot create a segment") && errors.contains("cannot open"), "{errors}");
}

#[test]
fn whichever_mapping_is_the_last_nothing_is_left_behind() {
    let said = ChildRank::start(&format!("{ALONE}memory")).hear();
    let (left, errors) = said.split_once(' ').expect("two parts");
    assert_eq!(left, "0", "{errors}");
    assert!(errors.contains("cannot map a segment"), "{errors}");
}
