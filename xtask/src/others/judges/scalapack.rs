//! ScaLAPACK's own tests, as Debian has compiled them for Open MPI.

use crate::bench::process::end_of;
use crate::others::finding::{Compared, Comparison};
use crate::others::hosts::{MpiHost, Over};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A test that is not done by then hangs.
const LIMIT: Duration = Duration::from_secs(600);
const PLACE: &str = "/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests";

pub(super) const NEEDS: &[(&str, &str)] = &[
    ("/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests/xdlu", "scalapack-mpi-test"),
    ("/usr/share/scalapack/LU.dat", "scalapack-test-common"),
];

/// Of 102 programs those whose messages differ most: in double precision, a factorization, least squares, eigenvalues,
/// and the layers below, which move blocks of matrices. Not `xdsep`: it asks for three processes, and one of its cases misses
/// its tolerance now and then, whatever its messages go over.
pub(super) const TESTS: [&str; 6] =
    ["xdlu", "xdls", "xdnep", "PBLAS/dpb1tst", "PBLAS/dpb2tst", "PBLAS/dpb3tst"];

/// Runs a test over the provider, and as the host chooses.
pub(super) fn compare(host: MpiHost, ranks: u32, ours: Over<'_>, test: &str) -> Result<Compared, String> {
    let (own, theirs) = (run(host, ranks, ours, test), run(host, ranks, Over::Default, test));
    let is_right =
        |told: &Result<ScalapackOutput, String>| told.as_ref().is_ok_and(ScalapackOutput::is_right);
    let verdict = match (is_right(&own), is_right(&theirs)) {
        (true, true) if own == theirs => Comparison::Met,
        (true, false) => Comparison::Met,
        (false, false) => Comparison::Missed,
        _ => Comparison::Failed,
    };
    let text =
        |told: Result<ScalapackOutput, String>| told.map_or_else(|message| message, |told| told.text());
    Ok(Compared { of: String::new(), ours: text(own), reference: text(theirs), verdict })
}

fn run(host: MpiHost, ranks: u32, over: Over<'_>, test: &str) -> Result<ScalapackOutput, String> {
    let place = tempfile::tempdir().map_err(|error| format!("no directory can be made: {error}"))?;
    // It reads its input, and may write, where it lies. The inputs are links.
    let mut copy = Command::new("cp");
    copy.args(["--recursive", "--dereference", PLACE]).arg(place.path().join("tests"));
    crate::tools::run(copy)?;
    let program = place.path().join("tests").join(test);
    let mut job = host.job(over, ranks);
    job.arg(&program).current_dir(program.parent().unwrap_or(Path::new("/"))).env("OMP_NUM_THREADS", "1");
    let (status, printed) = end_of(job, LIMIT)?;
    if !status.success() {
        let last = printed.stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        return Err(format!("{test} ended with {status}: {last}"));
    }
    Ok(ScalapackOutput::of(&printed.stdout))
}

/// What a test has printed.
#[derive(Debug, PartialEq, Eq)]
struct ScalapackOutput {
    passed: usize,
    failed: usize,
    has_ended: bool,
}

impl ScalapackOutput {
    fn of(text: &str) -> Self {
        let has = |line: &str, word: &str| line.split_whitespace().any(|one| one == word);
        // The heading of a table has both.
        let count = |word, other| text.lines().filter(|line| has(line, word) && !has(line, other)).count();
        Self {
            passed: count("PASSED", "FAILED"),
            failed: count("FAILED", "PASSED"),
            has_ended: text.lines().any(|line| line.trim().eq_ignore_ascii_case("end of tests.")),
        }
    }

    fn is_right(&self) -> bool {
        self.has_ended && self.passed > 0 && self.failed == 0
    }

    fn text(&self) -> String {
        let end = if self.has_ended { "" } else { ", without an end" };
        format!("{} run, {} failed{end}", self.passed + self.failed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted_without_headings() {
        let text = "  SUBROUTINE  TOTAL TESTS  PASSED   FAILED  SKIPPED\nWALL 13 4 0.04 0.06 PASSED\n\
                    WALL 13 4 0.04 0.06 FAILED\nRESULT: passed; or not\n  End of Tests.\n";
        let told = ScalapackOutput::of(text);
        assert_eq!(told, ScalapackOutput { passed: 1, failed: 1, has_ended: true });
        assert!(!told.is_right());
        assert_eq!(told.text(), "2 run, 1 failed");
        assert!(ScalapackOutput::of(&text.replace(" FAILED\nRESULT", " PASSED\nRESULT")).is_right());
        assert!(!ScalapackOutput::of("x PASSED\n").is_right());
    }
}
