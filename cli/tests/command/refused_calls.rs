//! A system that refuses calls, as filters of containers and old kernels do: a job works without the call, or ends soon, and
//! says why.

use crate::common::{Place, Ran};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The variable with the number of the call and the error for it, for [`filtered`].
const REFUSED: &str = "REFUSED_CALLS_TEST";
/// The command, of which this program is a filter.
const COMMAND: &str = "REFUSED_CALLS_COMMAND";

const RING: &str = "ranks 3\nrank *\n  a = irecv from (me+2)%size tag 0 size 100KiB\n  send to (me+1)%size tag 0 size \
                    100KiB\n  wait a\n  barrier\n";

/// Calls of a job that have another way, or that a job does without.
const REPLACED: [(&str, i64); 22] = [
    ("pidfd_open", libc::SYS_pidfd_open),
    ("pidfd_send_signal", libc::SYS_pidfd_send_signal),
    ("pidfd_getfd", libc::SYS_pidfd_getfd),
    ("fstatfs", libc::SYS_fstatfs),
    ("statfs", libc::SYS_statfs),
    ("fallocate", libc::SYS_fallocate),
    ("process_vm_readv", libc::SYS_process_vm_readv),
    ("process_vm_writev", libc::SYS_process_vm_writev),
    ("membarrier", libc::SYS_membarrier),
    ("userfaultfd", libc::SYS_userfaultfd),
    ("madvise", libc::SYS_madvise),
    ("sched_setaffinity", libc::SYS_sched_setaffinity),
    ("sched_getaffinity", libc::SYS_sched_getaffinity),
    ("sched_yield", libc::SYS_sched_yield),
    ("prctl", libc::SYS_prctl),
    ("sysinfo", libc::SYS_sysinfo),
    ("statx", libc::SYS_statx),
    ("rseq", libc::SYS_rseq),
    ("sigaltstack", libc::SYS_sigaltstack),
    ("getrandom", libc::SYS_getrandom),
    ("getcpu", libc::SYS_getcpu),
    ("access", libc::SYS_access),
];

/// Calls of a job without another way.
const NEEDED: [(&str, i64); 5] = [
    ("waitid", libc::SYS_waitid),
    ("clone3", libc::SYS_clone3),
    ("readlink", libc::SYS_readlink),
    ("epoll_create1", libc::SYS_epoll_create1),
    ("ioctl", libc::SYS_ioctl),
];

/// The errors of filters, and of systems that do not know a call.
const ANSWERS: [i32; 2] = [libc::EPERM, libc::ENOSYS];

/// Not a test of its own: makes the system refuse a call, and becomes the command.
#[test]
fn filtered() {
    let Ok(refused) = std::env::var(REFUSED) else { return };
    let (call, answer) = refused.split_once(' ').expect("two numbers");
    let rules = [(call.parse().expect("a call"), Vec::new())].into_iter().collect();
    let answer = SeccompAction::Errno(answer.parse().expect("an error"));
    let arch = std::env::consts::ARCH.try_into().expect("it is known");
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, arch);
    let filter: BpfProgram = filter.and_then(TryInto::try_into).expect("it is right");
    let mut command = Command::new(std::env::var_os(COMMAND).expect("it is set"));
    command.args(["run", "--bind", "none", "ring.scn"]).env_remove(REFUSED).env_remove(COMMAND);
    apply_filter(&filter).expect("filters are permitted");
    panic!("{}", command.exec());
}

/// A job without this call: how it ended, and after what time.
fn job(place: &Place, (name, call): (&str, i64), answer: i32) -> Ran {
    let carrousel = place.command().get_program().to_owned();
    let mut command = Command::new(std::env::current_exe().expect("a test knows its file"));
    command.args(["--exact", "refused_calls::filtered", "--nocapture", "--test-threads=1"]);
    command.env(REFUSED, format!("{call} {answer}")).env(COMMAND, carrousel).current_dir(place.path(""));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let begin = Instant::now();
    let mut child = command.spawn().expect("it starts");
    while child.try_wait().expect("it can be waited for").is_none() {
        if begin.elapsed() > Duration::from_secs(60) {
            let _ = child.kill();
            let ran = Ran::from(child.wait_with_output().expect("it was killed"));
            panic!("without {name} (error {answer}) it goes on: {}\n{}", ran.out, ran.err);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("it has ended").into()
}

#[test]
fn a_job_works_without_calls_that_have_another_way() {
    let place = Place::new().with("ring.scn", RING);
    for (call, answer) in REPLACED.into_iter().flat_map(|call| ANSWERS.map(|answer| (call, answer))) {
        let ran = job(&place, call, answer);
        assert_eq!(ran.status, Some(0), "without {} (error {answer}): {}\n{}", call.0, ran.out, ran.err);
        ran.says("ring.scn: ");
    }
}

#[test]
fn a_job_without_a_call_that_it_needs_ends_with_a_word() {
    let place = Place::new().with("ring.scn", RING);
    for (call, answer) in NEEDED.into_iter().flat_map(|call| ANSWERS.map(|answer| (call, answer))) {
        let ran = job(&place, call, answer);
        let said = ran.err.lines().any(|line| line.len() > 20);
        assert!(ran.status == Some(0) || said, "without {} (error {answer}): {:?}", call.0, ran.status);
    }
}
