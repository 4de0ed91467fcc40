//! Other programs, which are asked what they are: none may keep this command waiting, or fill its memory.

use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use wait_timeout::ChildExt;

/// How long a program may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// The most bytes that are read of what it says.
const BYTES_MAX: u64 = 16 << 20;

/// What a program has said.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) out: String,
    pub(super) err: String,
    /// Why it has not ended well.
    pub(super) failure: Option<String>,
}

/// Runs a program without input.
///
/// # Errors
/// If it cannot be started, or does not end.
pub(super) fn run(command: &mut Command) -> Result<Said, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cannot start {name}: {error}"))?;
    let readers = (reader(child.stdout.take()), reader(child.stderr.take()));
    let Ok(Some(status)) = child.wait_timeout(PATIENCE) else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(format!("{name} does not end in {} s", PATIENCE.as_secs()));
    };
    let said = |reader: thread::JoinHandle<String>| reader.join().unwrap_or_default();
    let failure = (!status.success()).then(|| status.to_string());
    Ok(Said { out: said(readers.0), err: said(readers.1), failure })
}

fn reader(from: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(from) = from {
            // What could be read counts.
            let _ = from.take(BYTES_MAX).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
