//! MPICH's own tests, `test/mpi` of its sources, which its own script runs.
//!
//! Debian's source package has them; the library is that of the wheel. Each line of a list of tests is run by itself, over
//! the provider, and where it fails once more by the same libfabric over tcp, and as MPICH chooses. What fails there, too, is
//! not the provider's. A test that does not end in its time is one that fails in another way: its reference is one that does
//! not end in the same time, which on a busy machine many tests of more ranks than processors do not.

use crate::bench::baselines;
use crate::bench::process::{end_of, output};
use crate::others::finding::{Compared, Comparison};
use crate::others::hosts::{MpiHost, Over};
use crate::tools::note;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::available_parallelism;
use std::time::Duration;

/// The directories of its tests that are run.
pub(super) const DIRECTORIES: [&str; 14] = [
    "attr",
    "group",
    "init",
    "topo",
    "comm",
    "datatype",
    "pt2pt",
    "coll",
    "rma",
    "threads/init",
    "threads/comm",
    "threads/coll",
    "threads/pt2pt",
    "threads/rma",
];
pub(super) const NEEDS: &[(&str, &str)] = &[
    ("cc", "gcc"),
    ("make", "make"),
    ("perl", "perl"),
    ("xz", "xz-utils"),
    ("/usr/share/keyrings/debian-archive-keyring.gpg", "debian-archive-keyring"),
];
/// A test that is not done by then hangs, unless its list says that it takes longer.
const SECONDS_MAX: u32 = 180;
/// Its own limit is no more than this, and hydra ends it then.
const LIMIT: Duration = Duration::from_secs(900);
/// To configure, to compile a directory, or to fetch.
const BUILD_LIMIT: Duration = Duration::from_secs(3600);

/// Runs the tests of a directory.
pub(super) fn tests(host: MpiHost, ours: Over<'_>, directory: &str) -> Result<Compared, String> {
    let tests = build(host, directory)?;
    let list = tests.join(directory).join("testlist");
    let list = fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let lines: Vec<&str> = lines(&list).collect();
    let mut tally = DirectoryResults::default();
    for (at, line) in lines.iter().enumerate() {
        let run = |over| run(&tests, host, over, directory, line);
        match run(ours)? {
            TestEnd::Passed => tally.passed += 1,
            TestEnd::Skipped => tally.skipped += 1,
            end => {
                note(&format!("{} of {}: {line}: {}", at + 1, lines.len(), end.text()));
                // By the same libfabric first: what is wrong there, too, is not the provider's.
                let mut same = None;
                for over in [Over::Provider("tcp"), Over::Default] {
                    if same.is_none() && run(over)?.is_like(&end) {
                        same = Some(over.name());
                    }
                }
                tally.failed.push(FailedTest { line: (*line).to_owned(), end, also_over: same });
            }
        }
    }
    Ok(tally.compared())
}

/// How a test ends.
#[derive(Debug, PartialEq, Eq)]
enum TestEnd {
    Passed,
    Skipped,
    /// It was ended when its time was over.
    Late,
    /// And what it says.
    Failed(String),
}

impl TestEnd {
    /// From the Test Anything Protocol, which the script writes: a line for the only test, and what a failed one prints.
    fn of(tap: &str) -> Self {
        let is = |start: &str| tap.lines().any(|line| line.starts_with(start));
        match () {
            () if tap.contains("# SKIP") => Self::Skipped,
            // Hydra's words.
            () if is("not ok") && tap.contains("APPLICATION TIMED OUT") => Self::Late,
            () if is("not ok") => {
                let printed = tap.lines().filter_map(|line| line.strip_prefix("## "));
                let printed =
                    printed.filter(|line| !line.starts_with("Test output") && !line.trim().is_empty());
                // A stack of errors ends with its cause.
                let stack: Vec<&str> = printed.take_while(|line| !line.contains("uptime:")).collect();
                Self::Failed(stack.last().map_or("it prints nothing", |line| line.trim()).to_owned())
            }
            () if is("ok") => Self::Passed,
            () => Self::Failed("the script does not say what has come of it".to_owned()),
        }
    }

    /// Whether both fail, in the same way: not what they say, as ranks fail in any order.
    fn is_like(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Late, Self::Late) | (Self::Failed(_), Self::Failed(_)))
    }

    fn text(&self) -> &str {
        match self {
            Self::Passed => "it passes",
            Self::Skipped => "it is skipped",
            Self::Late => "it has not ended in its time",
            Self::Failed(why) => why,
        }
    }
}

#[derive(Debug)]
struct FailedTest {
    line: String,
    end: TestEnd,
    /// Without the provider it fails, too, in the same way.
    also_over: Option<&'static str>,
}

/// The results of a directory.
#[derive(Debug, Default)]
struct DirectoryResults {
    passed: u32,
    skipped: u32,
    failed: Vec<FailedTest>,
}

impl DirectoryResults {
    fn compared(&self) -> Compared {
        let run = self.passed as usize + self.failed.len();
        let late = self.failed.iter().filter(|test| test.end == TestEnd::Late).count();
        let mut ours = format!("{run} run, {} failed", self.failed.len() - late);
        if late > 0 {
            ours += &format!(", {late} not ended");
        }
        if self.skipped > 0 {
            ours += &format!(", {} skipped", self.skipped);
        }
        let (same, worse): (Vec<&FailedTest>, Vec<&FailedTest>) =
            self.failed.iter().partition(|test| test.also_over.is_some());
        let told = |test: &&FailedTest| format!("{} ({})", test.line, test.end.text());
        if !worse.is_empty() {
            ours += &format!(": {}", worse.iter().map(told).collect::<Vec<_>>().join("; "));
        }
        let also = |test: &&FailedTest| format!("{} over {}", test.line, test.also_over.unwrap_or_default());
        let (late, same): (Vec<&FailedTest>, Vec<&FailedTest>) =
            same.into_iter().partition(|test| test.end == TestEnd::Late);
        let lists = [("fail, too", same), ("have not ended in the same time, either", late)];
        let lists = lists.iter().filter(|(_, tests)| !tests.is_empty());
        let same: Vec<_> = lists
            .map(|(what, tests)| format!("{what}: {}", tests.iter().map(also).collect::<Vec<_>>().join("; ")))
            .collect();
        let same = same.join("; ");
        // A list without tests proves nothing.
        let verdict = if worse.is_empty() && run > 0 { Comparison::Met } else { Comparison::Failed };
        Compared { of: String::new(), ours, reference: same, verdict }
    }
}

/// The tests of a list: a program, its ranks and its settings, one a line.
fn lines(list: &str) -> impl Iterator<Item = &str> {
    let bare = |line: &'_ str| line.find('#').unwrap_or(line.len());
    list.lines().map(move |line| line[..bare(line)].trim()).filter(|line| !line.is_empty())
}

/// Runs a line of a list.
fn run(tests: &Path, host: MpiHost, over: Over<'_>, directory: &str, line: &str) -> Result<TestEnd, String> {
    let place = tempfile::tempdir().map_err(|error| format!("no directory can be made: {error}"))?;
    let (list, tap) = (place.path().join("testlist"), place.path().join("tap"));
    fs::write(&list, format!("{line}\n")).map_err(|error| format!("{}: {error}", list.display()))?;
    let mut script = Command::new(tests.join("runtests"));
    script.current_dir(tests.join(directory)).envs(host.environment(over));
    script.env("MPITEST_TIMEOUT", SECONDS_MAX.to_string());
    script.arg("-srcdir=.").arg(format!("-tests={}", list.display()));
    script.arg(format!("-mpiexec={}", host.launcher().display())).arg(format!("-tapfile={}", tap.display()));
    if let Err(message) = end_of(script, LIMIT) {
        return Ok(TestEnd::Failed(message));
    }
    let told = fs::read(&tap).map_err(|error| format!("{}: {error}", tap.display()))?;
    Ok(TestEnd::of(&String::from_utf8_lossy(&told)))
}

/// Fetches and configures the tests, if they are not there, and compiles a directory. Says where they are.
fn build(host: MpiHost, directory: &str) -> Result<PathBuf, String> {
    let tests = baselines::directory().join("mpich-tests");
    if !tests.join("config.status").exists() {
        fetch(&tests)?;
        note("MPICH's tests are being configured");
        let mut configure = Command::new(tests.join("configure"));
        configure.current_dir(&tests).arg(format!("--with-mpi={}", host.prefix().display()));
        // Without optimisation: hundreds of programs that are run once.
        configure.args([
            "--disable-fortran",
            "--disable-cxx",
            "--disable-romio",
            "--disable-spawn",
            "CFLAGS=-O0",
        ]);
        output(configure, BUILD_LIMIT)?;
    }
    note(&format!("MPICH's tests in {directory} are being compiled"));
    let jobs = available_parallelism().map_or(1, usize::from).to_string();
    for place in ["util", "dtpools", directory] {
        let mut make = Command::new("make");
        make.args(["--keep-going", "--jobs", &jobs, "--directory"]).arg(tests.join(place));
        // A program that this compiler refuses fails as a test, over all providers.
        end_of(make, BUILD_LIMIT)?;
    }
    Ok(tests)
}

/// Takes `test/mpi` from Debian's source package: with lists of its own, so that those of the system stay as they are.
fn fetch(tests: &Path) -> Result<(), String> {
    let place = baselines::directory().join("mpich-sources");
    note(&format!("MPICH's sources are missing: fetching them into {}", place.display()));
    let failed = |error: std::io::Error| format!("{}: {error}", place.display());
    fs::create_dir_all(place.join("lists/partial")).map_err(failed)?;
    let system = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let suite = system.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME=")).unwrap_or("bookworm");
    let sources = format!(
        "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian {suite} main\n"
    );
    fs::write(place.join("sources.list"), sources).map_err(failed)?;
    for what in [&["update"][..], &["source", "--download-only", "mpich"]] {
        let mut apt = Command::new("apt-get");
        apt.current_dir(&place)
            .arg("-o")
            .arg(format!("Dir::Etc::SourceList={}/sources.list", place.display()));
        apt.args(["-o", "Dir::Etc::SourceParts=-", "-o"])
            .arg(format!("Dir::State::Lists={}/lists", place.display()));
        apt.args(what);
        output(apt, BUILD_LIMIT)?;
    }
    let entries = fs::read_dir(&place).map_err(failed)?;
    let is_archive = |path: &PathBuf| path.to_string_lossy().contains(".orig.tar.");
    let archive = entries.flatten().map(|entry| entry.path()).find(is_archive);
    let archive = archive.ok_or_else(|| format!("{}: apt-get has fetched no .orig.tar", place.display()))?;
    fs::create_dir_all(tests).map_err(|error| format!("{}: {error}", tests.display()))?;
    let mut unpack = Command::new("tar");
    unpack.arg("--extract").arg("--file").arg(archive).arg("--directory").arg(tests);
    unpack.args(["--strip-components", "3", "--wildcards", "*/test/mpi"]);
    output(unpack, BUILD_LIMIT).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_no_tests() {
        let list = "# all of them\nsendrecv 2 # twice\n\nbsend1 1 arg=-x\n   \n";
        assert_eq!(lines(list).collect::<Vec<_>>(), ["sendrecv 2", "bsend1 1 arg=-x"]);
    }

    #[test]
    fn ends_are_read_from_the_script_s_file() {
        let head = "TAP version 13\n# date\n";
        assert_eq!(TestEnd::of(&format!("{head}ok  - ./a 2 # time=0.1\n1..1\n")), TestEnd::Passed);
        assert_eq!(TestEnd::of(&format!("{head}ok 1 - ./a 2  # SKIP non-strict test\n")), TestEnd::Skipped);
        let failed =
            format!("{head}not ok  - ./a 2\n## Test output (expected 'No Errors'):\n## Fatal\n## cause\n");
        assert_eq!(TestEnd::of(&failed), TestEnd::Failed("cause".to_owned()));
        assert!(matches!(TestEnd::of(head), TestEnd::Failed(_)));
        let late =
            format!("{head}not ok  - ./a 8\n## [mpiexec@host] APPLICATION TIMED OUT, TIMEOUT = 180s\n");
        assert_eq!(TestEnd::of(&late), TestEnd::Late);
    }

    #[test]
    fn a_test_that_does_not_end_is_not_excused_by_one_that_fails() {
        let failed = |why: &str| TestEnd::Failed(why.to_owned());
        assert!(TestEnd::Late.is_like(&TestEnd::Late) && failed("here").is_like(&failed("there")));
        for (one, other) in [(TestEnd::Late, failed("")), (TestEnd::Late, TestEnd::Passed)] {
            assert!(!one.is_like(&other) && !other.is_like(&one));
        }
        assert!(!failed("").is_like(&TestEnd::Skipped));
    }

    #[test]
    fn what_fails_without_the_provider_too_is_not_its_fault() {
        let failed = || TestEnd::Failed("cause".to_owned());
        let test = |end, also_over| FailedTest { line: "a 2".to_owned(), end, also_over };
        let mut tally = DirectoryResults { passed: 3, skipped: 1, failed: vec![test(failed(), Some("tcp"))] };
        let compared = tally.compared();
        assert_eq!(compared.ours, "4 run, 1 failed, 1 skipped");
        assert_eq!(
            (compared.reference.as_str(), compared.verdict),
            ("fail, too: a 2 over tcp", Comparison::Met)
        );
        tally.failed.push(test(failed(), None));
        let compared = tally.compared();
        assert_eq!(compared.ours, "5 run, 2 failed, 1 skipped: a 2 (cause)");
        assert_eq!(compared.verdict, Comparison::Failed);
        tally.failed = vec![test(TestEnd::Late, Some("tcp")), test(failed(), Some("default"))];
        let compared = tally.compared();
        assert_eq!(
            (compared.ours.as_str(), compared.verdict),
            ("5 run, 1 failed, 1 not ended, 1 skipped", Comparison::Met)
        );
        assert_eq!(
            compared.reference,
            "fail, too: a 2 over default; have not ended in the same time, either: a 2 over tcp"
        );
        assert_eq!(DirectoryResults::default().compared().verdict, Comparison::Failed);
    }
}
