//! What endpoints record is allowed by the model that `carrousel verify` explores.

use crate::host::{ANY, End, call, close, pair};
use carrousel_ofi::bindings as b;
use carrousel_trace::{HostRank, Trace};
use carrousel_verify::replay::{MpiUsageError, ReplayReport, ReplayVerdict, check};
use std::process::Command;

const TAG: u64 = 0xfeed_0000_0000_0007;
/// On both sides of what goes at once.
const SIZES: [usize; 2] = [100, 100_000];

#[test]
#[ignore = "another test runs it in a process of its own"]
fn a_job_of_two_endpoints() {
    let (domain, one, two) = pair();
    for len in SIZES {
        let (sent, mut got) = (vec![3; len], [vec![0; len], vec![0; len], vec![0; len]]);
        let [early, claimed, plain] = &mut got;
        assert_eq!(two.trecv(early, ANY, (TAG & !0xff, 0xff), 1), 0);
        assert_eq!([one.tsend(&sent, 0, TAG, 8), one.tsend(&sent, 0, TAG, 8)], [0, 0]);
        assert_eq!(two.wait(&[one]).context, 1);
        let claim = u64::from(b::FI_PEEK) | b::FI_CLAIM;
        while two.trecvmsg(&mut [], (TAG, 0), 2, claim) == 0 && two.read().is_err() {
            two.error();
            one.progress();
        }
        assert_eq!(two.trecvmsg(claimed, (TAG, 0), 2, b::FI_CLAIM), 0);
        assert_eq!(two.wait(&[one]).context, 2);
        assert_eq!((two.trecv(plain, 0, (5, 0), 3), two.cancel(3)), (0, 0));
        assert_eq!(two.wait_error(&[one]).context, 3);
        let mut buffer = vec![0; 2 * len + 64];
        assert_eq!((two.recv_many(&mut buffer, 4), one.send(&sent, 0, 8)), (0, 0));
        assert_eq!((two.wait(&[one]).context, two.cancel(4)), (4, 0));
        two.wait_error(&[one]);
        let mut memory = vec![0; len];
        let (start, null) = (memory.as_ptr().addr() as u64, std::ptr::null_mut());
        let (mr, key) = End::register(&domain, &mut memory, b::FI_REMOTE_READ | b::FI_REMOTE_WRITE, 0);
        (0..3).for_each(|_| assert_eq!(one.wait(&[two]).context, 8));
        assert_eq!(call!(one.ep, rma.write(sent.as_ptr().cast(), len, null, 0, start, key, null)), 0);
        one.wait(&[two]);
        assert_eq!((memory == sent, close(mr)), (true, 0));
    }
    // This one nobody receives.
    assert_eq!(one.tsend(b"lost", 0, 42 << 8, 8), 0);
    one.wait(&[two]);
    domain.close([one, two]);
}

/// Runs the job as a rank of a launcher's, and replays what it has recorded.
fn replayed(variable: &str) -> ReplayReport {
    let directory = tempfile::tempdir().expect("there is room");
    let program = std::env::current_exe().expect("it runs");
    let mut job = Command::new(program);
    job.args(["--exact", "traces::a_job_of_two_endpoints", "--ignored"]);
    job.env(variable, directory.path()).envs([("PMI_RANK", "1"), ("PMI_SIZE", "2")]);
    let output = job.output().expect("it can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    check(Trace::open(directory.path()).expect("it is a trace"), &|_| ()).expect("it has records")
}

#[test]
fn what_a_host_does_is_allowed_and_what_it_forgets_is_told() {
    for variable in ["CARROUSEL_TRACE", "FI_CARROUSEL_TRACE"] {
        let report = replayed(variable);
        assert_eq!(report.departure, None);
        // Rank 0 of the launcher's job was not there.
        assert_eq!((report.verdict, report.ranks), (ReplayVerdict::Incomplete, 3));
        let host = Some(HostRank { job: None, rank: 1, ranks: 2 });
        assert!(report.endpoints.iter().all(|endpoint| endpoint.host == host));
        let ranks: Vec<_> = report.endpoints.iter().map(|endpoint| endpoint.rank).collect();
        assert_eq!(ranks, [1, 2], "the second endpoint of the process comes behind the job");
        let [MpiUsageError::NotReceived { tag, bytes: 4, count: 1, host_tag, .. }] = &report.misuses[..]
        else {
            panic!("{:?}", report.misuses)
        };
        assert_eq!((*tag, host_tag.as_deref()), (42 << 8, Some("tag 0x2a00")));
        assert!(report.calls > 30 && report.events > 20 && report.answers > 20, "{report:?}");
    }
}
