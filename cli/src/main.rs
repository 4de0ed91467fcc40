//! The `carrousel` command: prove, simulate and format communication patterns.
//!
//! **Promises.**
//! - Exit statuses that scripts can rely on ([`status::Status`]). No panic on what a user types, a file holds or a pipe
//!   does.
//! - Results go to standard output, all else to standard error, with colour only where a person reads. A reader that
//!   leaves early ends a command as it ends `cat` (141), unless something worse was found; `run`, whose ranks write,
//!   ends the job then. Output that cannot be written is an error, a standard output that is closed (`>&-`) too.
//! - JSON follows the schemas in `schema/`, which allow no other field; each report has a version, by the rule in
//!   schema/README.md.
//!
//! **Leaves to others.** Every decision: this crate reads arguments and prints reports.
//! **Entry point.** [`args::Cli`], of which help, completions and manual are made, then the module of each command.
#![deny(unsafe_code)]

mod args;
mod bench;
mod check;
mod closed;
mod failure;
mod fi;
mod fmt;
mod generate;
mod info;
mod input;
mod numbers;
mod out;
mod report;
mod rules;
mod run;
mod schema;
mod sim;
mod status;
mod style;
mod table;
mod trace;
mod verify;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use failure::Failure;
use mimalloc::MiMalloc;
use out::Out;
use status::Status;
use std::env;
use std::process::ExitCode;
use style::{Color, Style};

/// A state is allocated by one thread of the checker and freed by another. glibc takes a lock for that: the checker
/// spends a fifth of its time there.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let words: Vec<_> = env::args_os().collect();
    if let Err(failure) = run::end_by_signals_early(&words) {
        failure.report(Style::of_stderr(Color::Auto));
        return failure.status().into();
    }
    let cli = match Cli::try_parse_from(run::normal_command_line(words, &Cli::command())) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => error.exit(),
        Err(told) => return end(tell(&told), Style::of_stderr(Color::Auto)),
    };
    let mut out = Out::stdout(Style::of_stdout(cli.color));
    let errors = Style::of_stderr(cli.color);
    let done = match &cli.command {
        Command::Verify(args) => verify::run(args, &mut out, errors),
        Command::Sim(args) => sim::run(args, &mut out, errors),
        Command::Run(args) => run::run(args, &mut out, errors),
        Command::Check(args) => check::run(args, &mut out, errors),
        Command::Trace(args) => trace::run(args, &mut out),
        Command::Bench(args) => bench::run(args, &mut out, errors),
        Command::Fmt(args) => fmt::run(args, &mut out, errors),
        Command::Fi(args) => fi::run(args, &mut out),
        Command::Info(args) => info::run(args, &mut out),
        Command::Schema(args) => schema::run(args, &mut out),
        Command::Completions(args) => generate::completions(args, Cli::command(), &mut out),
        Command::Man(args) => generate::man(args, Cli::command(), &mut out),
    };
    end(done.and_then(|status| out.finish(status)), errors)
}

/// Help, or a version.
fn tell(told: &clap::Error) -> Result<Status, Failure> {
    let mut out = Out::stdout(Style::of_stdout(Color::Auto));
    let text = told.render();
    out.text(&if out.style.color { text.ansi().to_string() } else { text.to_string() })?;
    out.finish(Status::Fine)
}

fn end(done: Result<Status, Failure>, errors: Style) -> ExitCode {
    match done {
        Ok(status) => status.into(),
        Err(failure) => {
            failure.report(errors);
            failure.status().into()
        }
    }
}
