//! Jobs that are the same each time: those whose memory or time has a bound, and those that no seed would find.

use super::moments;
use super::run::{CONTAINER, JobEnd, Line, Programs, Running, may_contain};
use super::tally::JobOutcome;
use std::time::Duration;

/// How long each may take; far more than it does.
const LIMIT: Duration = Duration::from_secs(120);

/// A job, and what must hold of it.
#[derive(Clone, Copy)]
struct SoakCase {
    name: &'static str,
    ranks: u32,
    /// So many jobs, one after the other, until one fails.
    times: u32,
    /// The words before the program.
    before: &'static [&'static str],
    arguments: &'static [&'static str],
    /// Errors in how it ended.
    judge: fn(&JobEnd) -> Vec<String>,
}

/// Memory that ranks have made to share where 64 of them have only met: each has talked to a few others.
const START_COMMITTED_KIB_MAX: u64 = 64 << 10;
/// The memory of a rank whose peer makes no progress: the window, the rings, and the program itself.
const FLOOD_PEAK_KIB_MAX: u64 = 48 << 10;
/// The most processor time of 40,000 sends, or of 100,000 sends and receives.
const OUTSTANDING_CPU_MS_MAX: u64 = 8_000;

const CASES: [SoakCase; 10] = [
    EMPTY,
    SoakCase {
        name: "32 ranks that do nothing",
        ranks: 32,
        judge: |ended| success(ended, 32, None),
        ..EMPTY
    },
    SoakCase {
        name: "64 ranks meet, with little memory",
        ranks: 64,
        times: 1,
        before: &[],
        arguments: &["--case", "start"],
        judge: |ended| {
            let committed: u64 = ended.reports.iter().map(|report| report.committed_kib).sum();
            success(ended, 64, (committed > START_COMMITTED_KIB_MAX).then(|| {
                format!("64 ranks that have only met have made {committed} KiB to share, expected at most {START_COMMITTED_KIB_MAX}")
            }))
        },
    },
    SoakCase {
        name: "a sender that is faster than its receiver",
        ranks: 2,
        times: 1,
        before: &[],
        arguments: &["--case", "flood"],
        judge: |ended| {
            let peak = ended.reports.iter().map(|report| report.peak_kib).max().unwrap_or(0);
            success(
                ended,
                2,
                (peak > FLOOD_PEAK_KIB_MAX)
                    .then(|| format!("a rank has needed {peak} KiB, expected at most {FLOOD_PEAK_KIB_MAX}")),
            )
        },
    },
    SoakCase {
        name: "40,000 sends under way",
        ranks: 2,
        times: 1,
        before: &[],
        arguments: &["--case", "outstanding"],
        judge: busy_for_a_bounded_time,
    },
    SoakCase {
        name: "100,000 sends and as many receives under way",
        ranks: 2,
        times: 1,
        // Without an eager message: each send and each receive is known until its peer answers.
        before: &["env", "CARROUSEL_EAGER_THRESHOLD=0"],
        arguments: &["--case", "posted"],
        judge: busy_for_a_bounded_time,
    },
    SoakCase {
        name: "70,000 communicators, one after the other",
        ranks: 2,
        times: 1,
        before: &[],
        arguments: &["--case", "communicators"],
        judge: |ended| success(ended, 2, None),
    },
    SoakCase {
        name: "each rank in a PID namespace of its own",
        ranks: 2,
        times: 1,
        before: &CONTAINER,
        arguments: &["--case", "small"],
        judge: |ended| match (ended.code(), ended.stderr.contains("PID namespace")) {
            (Some(1..), true) => Vec::new(),
            _ => vec![format!(
                "ended with {}, expected an error that names the PID namespaces",
                ended.status()
            )],
        },
    },
    SoakCase {
        name: "each rank in a user namespace of its own",
        ranks: 2,
        times: 1,
        before: &["unshare", "-Ur"],
        arguments: &["--case", "small"],
        judge: |ended| match (ended.code(), ended.stderr.contains("user namespace")) {
            (Some(1..), true) => Vec::new(),
            _ => vec![format!(
                "ended with {}, expected an error that names the user namespaces",
                ended.status()
            )],
        },
    },
    SoakCase {
        name: "ranks that leave processes behind",
        ranks: 3,
        times: 1,
        before: &["sh", "-c", "setsid sleep 600 & exec \"$@\"", "sh"],
        arguments: &["--case", "small"],
        judge: |ended| success(ended, 3, None),
    },
];

/// Ranks that begin and end, in whatever order that is.
const EMPTY: SoakCase = SoakCase {
    name: "64 ranks that do nothing",
    ranks: 64,
    times: 5,
    before: &[],
    arguments: &["--case", "empty"],
    judge: |ended| success(ended, 64, None),
};

/// A job that has to succeed, at all of its ranks; and what else may be wrong with it.
fn success(ended: &JobEnd, ranks: usize, more: Option<String>) -> Vec<String> {
    let mut wrong = Vec::new();
    if ended.code() != Some(0) || ended.reports.len() != ranks {
        let said = ended.reports.len();
        wrong.push(format!(
            "ended with {}, and {said} of {ranks} ranks have said that they are done",
            ended.status()
        ));
    }
    wrong.extend(more);
    wrong
}

/// A job of two ranks that has to succeed without much computing.
fn busy_for_a_bounded_time(ended: &JobEnd) -> Vec<String> {
    let cpu = ended.reports.iter().map(|report| report.cpu_ms).max().unwrap_or(0);
    let more = (cpu > OUTSTANDING_CPU_MS_MAX)
        .then(|| format!("a rank has computed for {cpu} ms, expected at most {OUTSTANDING_CPU_MS_MAX}"));
    success(ended, 2, more)
}

/// How many there are.
pub(super) const COUNT: usize = CASES.len() + moments::ALL.len();

/// Runs the case at this place. `Err` says why it cannot be run here.
pub(super) fn run(at: usize, programs: &Programs) -> Result<Vec<JobOutcome>, String> {
    let Some(case) = CASES.get(at) else {
        let moment = at.checked_sub(CASES.len()).and_then(|at| moments::ALL.get(at));
        return moment.ok_or("there is no such case")?(programs).map(|outcome| vec![outcome]);
    };
    if case.before == CONTAINER && !may_contain() {
        return Err(format!("{}: `{}` fails here", case.name, CONTAINER.join(" ")));
    }
    let mut line = Line::new([programs.carrousel.as_os_str()]);
    line.push(["run", "-n", &case.ranks.to_string(), "--"]);
    line.push(case.before.iter());
    line.push([programs.soak.as_os_str()]);
    line.push(case.arguments.iter());
    let once = || -> Result<JobOutcome, String> {
        let running = Running::start(&line, None)?;
        let launcher = running.child.id() as i32;
        let ended = running.end(LIMIT, launcher);
        let mut outcome = JobOutcome::of(&ended, case.name, case.ranks, line.shown());
        outcome.repeat = line.shown();
        outcome.wrong.extend((case.judge)(&ended));
        Ok(outcome)
    };
    let mut outcomes = Vec::new();
    for _ in 0..case.times {
        outcomes.push(once()?);
        if outcomes.last().is_some_and(|last| !last.wrong.is_empty()) {
            break;
        }
    }
    Ok(outcomes)
}
