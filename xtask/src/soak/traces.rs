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
    let mut bytes = fs::read(&part).map_err(text)?;
    if bytes.len() < 2 {
        return Ok(None);
    }
    let at = rng.usize(..bytes.len() - 1);
    let change = match rng.u32(..4) {
        0 => {
            bytes.remove(at);
            format!("byte {at} is missing")
        }
        1 => {
            bytes.insert(at, bytes[at]);
            format!("byte {at} is there twice")
        }
        2 if bytes[at] != bytes[at + 1] => {
            bytes.swap(at, at + 1);
            format!("bytes {at} and {} have changed places", at + 1)
        }
        _ => {
            let bit = rng.u32(..u8::BITS);
            bytes[at] ^= 1 << bit;
            format!("bit {bit} of byte {at} has changed")
        }
    };
    fs::write(&part, bytes).map_err(text)?;
    Ok(Some((part, change)))
}
