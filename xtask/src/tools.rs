//! Other programs: running them, and installing what is missing.

use std::cell::RefCell;
use std::env;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The workspace's directory.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |target| root().join(target))
}

/// Where a program is. Daemons and tools of administration are where only root looks.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let sbin = ["/usr/sbin", "/usr/local/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(&path).chain(sbin).map(|place| place.join(name)).find(|path| path.is_file())
}

/// Cargo, in the workspace's directory.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Cargo of another toolchain.
pub(crate) fn cargo_of(toolchain: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", toolchain, "cargo"]).args(arguments).current_dir(root());
    // The outer cargo has set these for its own toolchain.
    for variable in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(variable);
    }
    command
}

thread_local! {
    /// What this thread shows goes here, if it has to wait.
    static HELD: RefCell<Option<File>> = const { RefCell::new(None) };
}

/// Does something whose output is to be shown later, and returns that as well: other threads show theirs now.
pub(crate) fn held<T>(work: impl FnOnce() -> T) -> io::Result<(T, File)> {
    HELD.set(Some(tempfile::tempfile()?));
    let done = work();
    let mut shown = HELD.take().ok_or(io::ErrorKind::NotFound)?;
    shown.rewind()?;
    Ok((done, shown))
}

/// Shows a line of output.
pub(crate) fn show(line: &str) {
    show_in(&mut io::stdout(), line);
}

/// Shows a line about what is being done.
pub(crate) fn note(line: &str) {
    show_in(&mut io::stderr(), line);
}

fn show_in(stream: &mut dyn Write, line: &str) {
    HELD.with_borrow_mut(|held| {
        let to = held.as_mut().map_or(stream, |file| file);
        // A line that cannot be shown does not keep the work from being done.
        let _ = writeln!(to, "{line}");
    });
}

/// Where a program shows what it prints.
fn shown() -> Stdio {
    let held = HELD.with_borrow(|held| held.as_ref().map(File::try_clone));
    held.and_then(Result::ok).map_or_else(Stdio::inherit, Stdio::from)
}

/// Runs to the end; what the program prints is shown.
pub(crate) fn run(mut command: Command) -> Result<(), String> {
    let name = format!("{} {}", command.get_program().display(), arguments(&command));
    // Otherwise a command whose output goes to a file keeps that.
    if HELD.with_borrow(Option::is_some) {
        command.stdout(shown()).stderr(shown());
    }
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{name}` ended with {status}")),
        Err(error) => Err(format!("`{name}` cannot be started: {error}")),
    }
}

/// The standard output of a program that succeeds. It is shown as well, line by line: of a program that fails,
/// too.
pub(crate) fn shown_output_of(command: &mut Command) -> Result<String, String> {
    let name = format!("{} {}", command.get_program().display(), arguments(command));
    let failed = |error: io::Error| format!("`{name}` cannot be run: {error}");
    let mut child = command.stdout(Stdio::piped()).stderr(shown()).spawn().map_err(failed)?;
    let mut told = String::new();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line.map_err(failed)?;
            show(&line);
            told += &line;
            told.push('\n');
        }
    }
    match child.wait().map_err(failed)? {
        status if status.success() => Ok(told),
        status => Err(format!("`{name}` ended with {status}")),
    }
}

/// The standard output of a program that succeeds.
pub(crate) fn output_of(command: &mut Command) -> Result<String, String> {
    let name = format!("{} {}", command.get_program().display(), arguments(command));
    let output = command.output().map_err(|error| format!("`{name}` cannot be started: {error}"))?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{name}` ended with {}: {}", output.status, told.trim()));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("`{name}` printed no text: {error}"))
}

fn arguments(command: &Command) -> String {
    command.get_args().map(|argument| argument.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Makes a cargo subcommand available, of this version if it has to be compiled.
pub(crate) fn need(subcommand: &str, version: &str) -> Result<(), String> {
    let mut probe = cargo(&[subcommand, "--version"]);
    let there =
        probe.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    if there {
        return Ok(());
    }
    note(&format!("cargo-{subcommand} is missing: compiling it"));
    run(cargo(&["install", "--locked", "--version", version, &format!("cargo-{subcommand}")]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_returned_unless_the_program_fails() {
        let of = |script: &str| shown_output_of(Command::new("sh").args(["-c", script]));
        assert_eq!(of("echo one; echo two"), Ok("one\ntwo\n".to_owned()));
        let error = of("echo one; exit 3").expect_err("it fails");
        assert!(error.contains("exit status: 3"), "{error}");
        let error = shown_output_of(&mut Command::new("/nowhere")).expect_err("it is not there");
        assert!(error.starts_with("`/nowhere ` cannot be run"), "{error}");
    }
}
