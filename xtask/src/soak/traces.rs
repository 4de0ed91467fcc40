//! Traces: those that were recorded are allowed, and those that were changed are refused.

use super::run::Programs;
use super::tally::JobOutcome;
use crate::bench::process::end_of;
use fastrand::Rng;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long the check of a trace may take.
const LIMIT: Duration = Duration::from_secs(120);

/// Checks a trace, then again with something changed. One of a job that was ended may be incomplete.
pub(super) fn check(
    programs: &Programs,
    trace: &Path,
    complete: bool,
    rng: &mut Rng,
    outcome: &mut JobOutcome,
) -> Result<(), String> {
    let run = || -> Result<(i32, String), String> {
        let mut command = Command::new(&programs.carrousel);
        command.arg("check").arg(trace);
        let (status, printed) = end_of(command, LIMIT)?;
        Ok((status.code().unwrap_or(-1), printed.stdout + &printed.stderr))
    };
    let (code, said) = run()?;
    outcome.checks += 1;
    // 3: the model allows what could be followed; 2: so early that nothing was recorded.
    let fine = if complete { code == 0 } else { [0, 2, 3].contains(&code) };
    if !fine {
        outcome.wrong.push(format!("`carrousel check` ends with {code}: {said}"));
        return Ok(());
    }
    if !complete {
        return Ok(());
    }
    let Some((part, change)) = corrupt(trace, rng)? else { return Ok(()) };
    let (code, said) = run()?;
    outcome.corrupted += 1;
    if code == 0 || said.contains("panicked at") {
        let name = part.file_name().unwrap_or_default().display();
        outcome.wrong.push(format!("a trace of which {change} in {name} is accepted: {code}: {said}"));
    }
    Ok(())
}

/// Changes a part of a trace; says which, and what.
fn corrupt(trace: &Path, rng: &mut Rng) -> Result<Option<(PathBuf, String)>, String> {
    let text = |error: std::io::Error| format!("{}: {error}", trace.display());
    let mut parts: Vec<PathBuf> =
        fs::read_dir(trace).map_err(text)?.map_while(Result::ok).map(|entry| entry.path()).collect();
    parts.sort();
    let Some(part) = rng.choice(parts) else { return Ok(None) };
    let content = fs::read_to_string(&part).map_err(text)?;
    let mut lines: Vec<String> = content.lines().map(ToOwned::to_owned).collect();
    // Not the head, of which a change may be one of the program's name.
    if lines.len() < 3 {
        return Ok(None);
    }
    let at = rng.usize(1..lines.len());
    let change = match rng.u32(..4) {
        0 => {
            lines.remove(at);
            format!("line {} is missing", at + 1)
        }
        1 => {
            let line = lines[at].clone();
            lines.insert(at, line);
            format!("line {} is there twice", at + 1)
        }
        2 if at + 1 < lines.len() && lines[at] != lines[at + 1] => {
            lines.swap(at, at + 1);
            format!("lines {} and {} have changed places", at + 1, at + 2)
        }
        _ => {
            let digits: Vec<usize> =
                lines[at].bytes().enumerate().filter(|(_, b)| b.is_ascii_digit()).map(|(i, _)| i).collect();
            let Some(digit) = rng.choice(digits) else { return Ok(None) };
            let mut bytes = std::mem::take(&mut lines[at]).into_bytes();
            bytes[digit] = if bytes[digit] == b'9' { b'0' } else { bytes[digit] + 1 };
            lines[at] = String::from_utf8_lossy(&bytes).into_owned();
            format!("digit {} of line {} has changed", digit + 1, at + 1)
        }
    };
    fs::write(&part, lines.join("\n") + "\n").map_err(text)?;
    Ok(Some((part, change)))
}
