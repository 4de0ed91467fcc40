//! Programs that may hang.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use wait_timeout::ChildExt;

/// How long a program that was asked to end may take for it, launchers with many processes included.
const GRACE: Duration = Duration::from_secs(10);

/// Bytes of the most that a program may print to either: a benchmark prints some hundred lines.
const OUTPUT_BYTES_MAX: u64 = 64 << 20;

/// The output of a program.
#[derive(Debug)]
pub(crate) struct Printed {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a program, no longer than `limit`, that succeeds.
pub(crate) fn output(command: Command, limit: Duration) -> Result<Printed, String> {
    let name = shown(&command);
    let (status, printed) = end_of(command, limit)?;
    if status.success() {
        Ok(printed)
    } else {
        Err(format!("`{name}` ended with {status}{}", last_lines(&printed.stderr)))
    }
}

/// Runs a program, no longer than `limit`, whatever comes of it.
pub(crate) fn end_of(mut command: Command, limit: Duration) -> Result<(ExitStatus, Printed), String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let name = shown(&command);
    let mut child = command.spawn().map_err(|error| format!("`{name}` cannot be started: {error}"))?;
    // Read while it runs: a full pipe would stop it.
    let stdout = child.stdout.take().map(reader);
    let stderr = child.stderr.take().map(reader);
    let status = wait(&mut child, limit).map_err(|message| format!("`{name}` {message}"))?;
    let text =
        |reader: Option<JoinHandle<String>>| reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
    let printed = Printed { stdout: text(stdout), stderr: text(stderr) };
    if [&printed.stdout, &printed.stderr].iter().any(|text| text.len() as u64 > OUTPUT_BYTES_MAX) {
        return Err(format!("`{name}` prints without end: expected at most {OUTPUT_BYTES_MAX} bytes"));
    }
    Ok((status, printed))
}

/// Waits for the end, and brings it about after `limit`: with SIGTERM, upon which launchers end their
/// processes too, and only then with SIGKILL.
pub(super) fn wait(child: &mut Child, limit: Duration) -> Result<ExitStatus, String> {
    let wrong = |error: std::io::Error| format!("cannot be waited for: {error}");
    if let Some(status) = child.wait_timeout(limit).map_err(wrong)? {
        return Ok(status);
    }
    // It may have ended just now; then the signal has no receiver, which is as well.
    let _ =
        rustix::process::kill_process(rustix::process::Pid::from_child(child), rustix::process::Signal::TERM);
    if child.wait_timeout(GRACE).map_err(wrong)?.is_none() {
        child.kill().map_err(wrong)?;
        child.wait().map_err(wrong)?;
    }
    Err(format!("was ended after {} s: it hung, or the machine is too busy", limit.as_secs()))
}

/// The command line, as a person would type it.
pub(super) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Reads a program's output. A program that prints without end is ended as its pipe closes.
fn reader(from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // The part that was read before an error is still worth showing.
        let _ = from.take(OUTPUT_BYTES_MAX + 1).read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The end of what a program complained about, for a message.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(5)..];
    last.iter().map(|line| format!("\n  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_it_prints_is_returned() {
        let printed = output(shell("echo out; echo err >&2"), GRACE).unwrap();
        assert_eq!((printed.stdout.as_str(), printed.stderr.as_str()), ("out\n", "err\n"));
    }

    #[test]
    fn a_failure_shows_the_last_lines_of_the_complaint() {
        let error = output(shell("seq 9 >&2; exit 3"), GRACE).unwrap_err();
        assert!(error.contains("exit status: 3") && error.ends_with("\n  8\n  9"), "{error}");
        assert!(!error.contains("\n  4"), "{error}");
    }

    #[test]
    fn one_that_hangs_is_ended() {
        let error = output(shell("exec sleep 60"), Duration::from_millis(50)).unwrap_err();
        assert!(error.contains("was ended"), "{error}");
    }

    #[test]
    fn one_that_prints_without_end_is_told_as_that() {
        let error = output(shell("exec yes"), 6 * GRACE).unwrap_err();
        assert!(error.ends_with("prints without end: expected at most 67108864 bytes"), "{error}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = output(Command::new("/nowhere/at-all"), GRACE).unwrap_err();
        assert!(error.contains("/nowhere/at-all"), "{error}");
    }
}
