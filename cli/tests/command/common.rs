//! Running the command in a directory of its own.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that is gone when the test is over.
pub(crate) struct Place {
    directory: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("carrousel-cli-{}-{number}", std::process::id());
        let directory = env::temp_dir().join(name);
        fs::create_dir_all(&directory).expect("it can be made");
        Self { directory }
    }

    pub(crate) fn with(self, name: &str, text: &str) -> Self {
        fs::write(self.path(name), text).expect("it can be written");
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("it can be read")
    }

    /// The command, in this directory, with nothing of the user's environment that it heeds.
    pub(crate) fn command(&self) -> Command {
        command(&self.directory)
    }

    /// Runs `carrousel` with these words.
    pub(crate) fn run(&self, words: &str) -> Ran {
        self.command().args(words.split_whitespace()).output().expect("it can be started").into()
    }

    /// Runs `carrousel WORDS RANKS --` on this program once more: on its test `test`, with the environment variable
    /// `variable` naming the role that it has there.
    pub(crate) fn job(&self, words: &str, ranks: u32, (test, variable, role): (&str, &str, &str)) -> Ran {
        let mut command = self.command();
        command.args(words.split_whitespace()).arg(ranks.to_string()).arg("--");
        command.arg(env::current_exe().expect("a test knows its file"));
        command.args(["--exact", test, "--nocapture"]).env(variable, role);
        command.output().expect("it can be started").into()
    }

    /// The command as so many ranks under hydra, MPICH's launcher; says so where there is none.
    pub(crate) fn under_hydra(&self, ranks: u32) -> Option<Command> {
        const MPIEXEC: &str = "HYDRA_MPIEXEC";
        let Some(mpiexec) = env::var_os(MPIEXEC) else {
            println!("skipped: {MPIEXEC} names no mpiexec of MPICH");
            return None;
        };
        let mut command = Command::new(mpiexec);
        command.current_dir(&self.directory);
        command.args(["-n", &ranks.to_string(), env!("CARGO_BIN_EXE_carrousel")]);
        Some(command)
    }

    /// As [`Place::run`], with this on standard input.
    pub(crate) fn feed(&self, words: &str, input: &str) -> Ran {
        let mut command = self.command();
        command
            .args(words.split_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("it can be started");
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(input.as_bytes()).expect("it reads");
        drop(stdin);
        child.wait_with_output().expect("it ends").into()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn command(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_carrousel"));
    command.current_dir(directory);
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARROUSEL_")
            || ["NO_COLOR", "CLICOLOR_FORCE", "COLUMNS"].contains(&name.as_str())
        {
            command.env_remove(name);
        }
    }
    command
}

/// What came of it.
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ran {
    /// Expects an exit status.
    #[track_caller]
    pub(crate) fn status(self, expected: i32) -> Self {
        assert_eq!(self.status, Some(expected), "{}\n{}", self.out, self.err);
        self
    }

    /// Expects a text on standard output.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.out.contains(text), "{text:?} is not in\n{}\n{}", self.out, self.err);
        self
    }

    /// Expects a text on standard error.
    #[track_caller]
    pub(crate) fn complains(self, text: &str) -> Self {
        assert!(self.err.contains(text), "{text:?} is not in\n{}\n{}", self.err, self.out);
        self
    }
}
