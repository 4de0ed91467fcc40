//! Runs a job, does to it what it is for, and judges how it ends.

use super::processes::{self, MARK, signal_to};
use rustix::process::Signal;
use serde::Deserialize;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use wait_timeout::ChildExt;

/// Bytes that are kept of what a job prints.
const PRINTED_MAX: u64 = 8 << 20;
/// How long ranks that wait have to say what for, before a job that does not end is killed.
const REPORT: Duration = Duration::from_secs(4);
/// How long processes may take to be gone when their launcher is.
pub(super) const GONE: Duration = Duration::from_secs(15);

/// The command that runs another in a PID namespace of its own, with its own `/proc`.
pub(super) const CONTAINER: [&str; 5] = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];

/// Whether this process may make PID namespaces.
pub(super) fn may_contain() -> bool {
    static MAY: OnceLock<bool> = OnceLock::new();
    *MAY.get_or_init(|| {
        let mut probe = Command::new(CONTAINER[0]);
        probe.args(&CONTAINER[1..]).arg("true");
        probe.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    })
}

/// The programs that are tested.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    pub(super) carrousel: PathBuf,
    pub(super) soak: PathBuf,
}

/// A rank's last line of output.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct RankReport {
    pub(super) messages: u64,
    pub(super) bytes: u64,
    pub(super) collectives: u64,
    pub(super) peak_kib: u64,
    pub(super) committed_kib: u64,
    pub(super) cpu_ms: u64,
}

/// A command line that is about to be run: words, and variables.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub(super) words: Vec<OsString>,
    pub(super) variables: Vec<(String, OsString)>,
}

impl Line {
    pub(super) fn new<W: Into<OsString>>(words: impl IntoIterator<Item = W>) -> Self {
        Self { words: words.into_iter().map(Into::into).collect(), variables: Vec::new() }
    }

    pub(super) fn push<W: Into<OsString>>(&mut self, words: impl IntoIterator<Item = W>) {
        self.words.extend(words.into_iter().map(Into::into));
    }

    /// As a shell reads it.
    pub(super) fn shown(&self) -> String {
        let quoted = |word: &OsString| shell_words::quote(&word.to_string_lossy()).into_owned();
        let variables = self.variables.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        variables.chain(self.words.iter().map(quoted)).collect::<Vec<_>>().join(" ")
    }
}

/// How a job ended.
#[derive(Debug)]
pub(super) struct JobEnd {
    /// None if it had to be killed.
    pub(super) status: Option<ExitStatus>,
    pub(super) reports: Vec<RankReport>,
    pub(super) stderr: String,
    /// Errors of something other than the job.
    pub(super) wrong: Vec<String>,
}

impl JobEnd {
    /// The exit status.
    pub(super) fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// For a person.
    pub(super) fn status(&self) -> String {
        self.status.map_or_else(|| "no end".to_owned(), |status| status.to_string())
    }
}

/// A job that runs.
pub(super) struct Running {
    pub(super) child: Child,
    pub(super) mark: String,
    pub(super) begun: Instant,
    /// The job's own directory for temporary files.
    temporary: tempfile::TempDir,
    stdout: Option<JoinHandle<Vec<RankReport>>>,
    stderr: Option<JoinHandle<()>>,
    /// The output so far.
    complaints: Arc<Mutex<String>>,
}

impl Running {
    /// Starts it. With `reads` as many lines of its output are read, and no more.
    pub(super) fn start(line: &Line, reads: Option<usize>) -> Result<Self, String> {
        let mark = format!("{}-{:x}", std::process::id(), fastrand::u64(..));
        let temporary = tempfile::tempdir().map_err(|error| format!("cannot make a directory: {error}"))?;
        let Some((program, arguments)) = line.words.split_first() else {
            return Err("nothing to run".to_owned());
        };
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CARROUSEL_") {
                command.env_remove(name);
            }
        }
        command.args(arguments).envs(line.variables.iter().map(|(name, value)| (name, value)));
        command.env(MARK, &mark).env("TMPDIR", temporary.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let begun = Instant::now();
        let mut child =
            command.spawn().map_err(|error| format!("`{}` cannot be started: {error}", line.shown()))?;
        let stdout = child.stdout.take().map(|from| {
            thread::spawn(move || {
                let lines = BufReader::new(from).lines().map_while(Result::ok);
                let lines = lines.take(reads.unwrap_or(usize::MAX));
                lines.filter_map(|line| report(&line)).collect()
            })
        });
        let complaints = Arc::new(Mutex::new(String::new()));
        let stderr = child.stderr.take().map(|from| {
            let kept = Arc::clone(&complaints);
            thread::spawn(move || collect(from, &kept))
        });
        Ok(Self { child, mark, begun, temporary, stdout, stderr, complaints })
    }

    /// Waits until so many ranks run this program; false if the job has ended before, or they do not come.
    pub(super) fn ranks_run(&mut self, ranks: usize, program: &Path) -> bool {
        while self.begun.elapsed() < Duration::from_secs(30) {
            if processes::ranks(&self.mark, program).len() >= ranks {
                return true;
            }
            if !matches!(self.child.try_wait(), Ok(None)) {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
        false
    }

    /// The launcher: the process that was started, or, in a container, the one in it.
    pub(super) fn launcher(&self, carrousel: &Path) -> i32 {
        let all = processes::of_job(&self.mark);
        let is_launcher = |process: &&processes::Process| process.rank.is_none() && process.is(carrousel);
        let found = all.iter().filter(is_launcher).map(|process| process.pid).min();
        found.unwrap_or(self.child.id() as i32)
    }

    /// Waits for its end, no longer than this. One that does not end is asked what it waits for, and killed.
    pub(super) fn end(mut self, limit: Duration, launcher: i32) -> JobEnd {
        let mut wrong = Vec::new();
        let status = match self.child.wait_timeout(limit) {
            Ok(Some(status)) => Some(status),
            other => {
                let why = other.err().map_or_else(String::new, |error| format!(" ({error})"));
                wrong.push(format!("the job has not ended within {} s{why}", limit.as_secs()));
                signal_to(launcher, Signal::USR1);
                thread::sleep(REPORT);
                processes::kill(&self.mark);
                // A launcher that is stopped, or has emptied its environment.
                let _ = self.child.kill();
                let _ = self.child.wait();
                None
            }
        };
        for left in processes::all_end(&self.mark, GONE) {
            wrong.push(format!("{} is left", left.describe()));
        }
        let reports = self.stdout.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        let _ = self.stderr.take().map(JoinHandle::join);
        let stderr = self.complaints.lock().map(|text| text.clone()).unwrap_or_default();
        if let Some(line) = stderr.lines().find(|line| line.contains("panicked at")) {
            wrong.push(format!("a panic: {line}"));
        }
        let files = std::fs::read_dir(self.temporary.path()).into_iter().flatten().flatten();
        wrong.extend(files.map(|file| format!("{} is left", file.path().display())));
        JobEnd { status, reports, stderr, wrong }
    }
}

/// A rank's report, where a line is one: behind the rank, if lines are tagged.
fn report(line: &str) -> Option<RankReport> {
    serde_json::from_str(&line[line.find('{')?..]).ok()
}

/// Keeps the output up to a bound, and reads on, so that no writer blocks.
fn collect(from: impl Read, kept: &Mutex<String>) {
    let mut from = BufReader::new(from);
    let (mut line, mut bytes) = (Vec::new(), 0);
    while let Ok(read @ 1..) = (&mut from).take(PRINTED_MAX).read_until(b'\n', &mut line) {
        bytes += read as u64;
        if let (true, Ok(mut kept)) = (bytes < PRINTED_MAX, kept.lock()) {
            kept.push_str(&String::from_utf8_lossy(&line));
        }
        line.clear();
    }
}

/// The signal that has ended a process.
pub(super) fn signal_of(ended: &JobEnd) -> Option<i32> {
    ended.status.and_then(|status| status.signal())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, limit: u64) -> JobEnd {
        let job = Running::start(&Line::new(["sh", "-c", script]), None).expect("there is a shell");
        let pid = job.child.id() as i32;
        job.end(Duration::from_millis(limit), pid)
    }

    #[test]
    fn a_report_is_found_behind_a_tag() {
        let text = r#"{"rank":0,"messages":2,"bytes":3,"collectives":1,"peak_kib":9,"pss_kib":8,"committed_kib":7,"cpu_ms":6}"#;
        for line in [text.to_owned(), format!("[12] {text}")] {
            let found = report(&line).expect("it is one");
            assert_eq!((found.messages, found.bytes, found.peak_kib), (2, 3, 9));
        }
        assert!(report("[1] rank 1 step { x }").is_none());
    }

    #[test]
    fn a_job_that_does_not_end_is_killed_and_is_a_failure() {
        let ended = run("trap '' TERM; trap 'echo waiting >&2' USR1; while :; do sleep 0.1; done", 200);
        assert!(ended.status.is_none() && ended.wrong[0].contains("has not ended"), "{ended:?}");
        assert!(ended.stderr.contains("waiting"), "{ended:?}");
    }

    #[test]
    fn what_a_job_leaves_behind_is_a_failure() {
        let ended = run("echo x > $TMPDIR/file; echo thread panicked at main.rs:1 >&2", 60_000);
        assert_eq!(ended.code(), Some(0));
        let all = ended.wrong.join("; ");
        assert!(all.contains("/file is left") && all.contains("a panic: "), "{all}");
    }
}
