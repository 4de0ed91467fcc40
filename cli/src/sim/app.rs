//! `carrousel sim --app`: a program simulates its ranks, and hands back what came of it.

use super::args::SimArgs;
use super::human;
use super::overlap::SimulationReport;
use crate::failure::{Failure, shown};
use crate::input;
use crate::out::Out;
use crate::report::{Format, json};
use crate::status::Status;
use crate::style::{Paint, Style};
use crate::verify::Drawing;
use carrousel_app::{Failed, Handover, Outcome, VARIABLE};
use carrousel_system::stderr;
use carrousel_transport_sim::Report;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a program may take before it begins to simulate, until that is told.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks at a program that has not begun.
const LOOK: Duration = Duration::from_millis(20);

/// The file that a program writes its outcome to; gone when this is.
struct Letter(PathBuf);

impl Letter {
    /// An empty one, which only this user can read.
    fn new() -> Result<Self, Failure> {
        let directory = env::temp_dir();
        for number in 0.. {
            let path = directory.join(format!("carrousel-sim-{}-{number}", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(_) => return Ok(Self(path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Failure::of_file("write", &path, &error)),
            }
        }
        Err(Failure::wrong("there is no room for one more temporary file"))
    }

    fn read(&self) -> io::Result<Option<Outcome>> {
        Outcome::read(&self.0)
    }
}

impl Drop for Letter {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Simulates a program.
pub(super) fn run(args: &SimArgs, program: &Path, out: &mut Out, errors: Style) -> Result<Status, Failure> {
    let drawing = args.timeline.as_deref().map(Drawing::of).transpose()?;
    for option in input::settings()?.written() {
        stderr::tell(format!("{} option {option} from the environment", errors.paint(Paint::Note, "note:")));
    }
    let letter = Letter::new()?;
    let (statements_max, late_max) = human::recorded(args);
    let handover = Handover {
        title: shown(program),
        ranks: args.ranks.unwrap_or(1),
        ranks_per_node: args.ranks_per_node,
        network: args.network.clone(),
        protocol: args.protocol.name().to_owned(),
        progress: args.progress.name().to_owned(),
        copies: args.copies.name().to_owned(),
        locks: args.locks.name().to_owned(),
        seed: args.seed,
        jitter_per_mille: args.jitter,
        statements_max,
        late_max,
        drawing: drawing.as_ref().map(|drawing| match drawing {
            Drawing::Svg => carrousel_app::Drawing::Svg,
            Drawing::Html => carrousel_app::Drawing::Html,
        }),
        outcome: letter.0.clone(),
    };
    out.flush()?;
    let child = start(args, program, &json(&handover)?)?;
    wait(child, program, &letter, errors)?;
    let outcome = letter.read().map_err(|error| Failure::of_file("read", &letter.0, &error))?;
    let name = shown(program);
    let (report, drawn) = match outcome {
        Some(Outcome::Done { report, statistics, lines, late_count, drawing }) => {
            (Report { statistics, lines, late_count, ..*report }, drawing)
        }
        Some(Outcome::Failed(Failed { message, refused: true })) => return Err(Failure::wrong(message)),
        Some(Outcome::Failed(Failed { message, .. })) => {
            let text = errors.paint(Paint::Bad, &format!("{name}: {message}"));
            return Err(Failure::diagnostic(text, Status::Violated));
        }
        Some(Outcome::Begun) => {
            let text = errors.paint(Paint::Bad, &format!("{name} ended before its ranks had"));
            return Err(Failure::diagnostic(text, Status::Violated));
        }
        None => {
            let help = "its `main` has to hand an `async fn` to `carrousel_app::run`, and before it does anything \
                        else that ends it";
            return Err(Failure::wrong(format_args!("{name} has not simulated anything")).with_help(help));
        }
    };
    match args.format {
        Format::Json => out.line(&json(&SimulationReport::new(&handover.title, &report))?)?,
        Format::Human => human::print_app(&report, out)?,
    }
    if let (Some(path), Some(text)) = (&args.timeline, drawn) {
        fs::write(path, text).map_err(|error| Failure::of_file("write", path, &error))?;
        stderr::tell(format!("drawn in {}", shown(path)));
    }
    Ok(Status::Fine)
}

fn start(args: &SimArgs, program: &Path, handover: &str) -> Result<Child, Failure> {
    let mut command = Command::new(program);
    command.args(&args.arguments).env(VARIABLE, handover);
    if args.format == Format::Json {
        // The program's output must not stand in the JSON.
        let stderr = io::stderr().as_fd().try_clone_to_owned();
        let stderr =
            stderr.map_err(|error| Failure::wrong(format_args!("standard error is closed: {error}")))?;
        command.stdout(Stdio::from(stderr));
    }
    command.spawn().map_err(|error| {
        Failure::wrong(format_args!("cannot start {}: {error}", shown(program)))
            .with_help("name a program as for `carrousel run`, by its path")
    })
}

/// Waits for the program, and says so if it takes long to begin: it may be none that simulates.
fn wait(mut child: Child, program: &Path, letter: &Letter, errors: Style) -> Result<(), Failure> {
    let failed =
        |error: io::Error| Failure::wrong(format_args!("cannot wait for {}: {error}", shown(program)));
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let begun = fs::metadata(&letter.0).is_ok_and(|file| file.len() > 0);
        if begun || child.try_wait().map_err(failed)?.is_some() {
            return child.wait().map(|_| ()).map_err(failed);
        }
        thread::sleep(LOOK);
    }
    let note = errors.paint(Paint::Note, "note:");
    let name = shown(program);
    stderr::tell(format!("{note} {name} has not begun to simulate yet; does it call `carrousel_app::run`?"));
    child.wait().map(|_| ()).map_err(failed)
}
