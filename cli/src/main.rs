//! The `carrousel` command: prove, simulate and format communication patterns.
//!
//! **Promises.**
//! - Exit statuses that scripts can rely on ([`status::Status`]). No panic on what a user types, a file holds or a pipe
//!   does.
//! - Results go to standard output, all else to standard error, with colour only where a person reads. A reader that
//!   leaves early does not change the exit status; the exception is `run`, whose ranks write: there it ends the job as
//!   it ends a program (141).
//! - JSON follows the schemas in `schema/`, which allow no other field; each report has a version, by the rule in
//!   schema/README.md.
//!
//! **Leaves to others.** Every decision: this crate reads arguments and prints reports.
//! **Entry point.** [`args::Cli`], of which help, completions and manual are made, then the module of each command.
#![forbid(unsafe_code)]

mod args;
mod bench;
mod check;
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
mod stderr;
mod style;
mod table;
mod trace;
mod verify;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use mimalloc::MiMalloc;
use out::Out;
use std::env;
use std::process::ExitCode;
use style::Style;

/// A state is allocated by one thread of the checker and freed by another. glibc takes a lock for that: the checker
/// spends a fifth of its time there.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let words = run::normal_command_line(env::args_os().collect(), &Cli::command());
    let cli = Cli::parse_from(words);
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
    match done.and_then(|status| out.finish().map(|()| status)) {
        Ok(status) => status.into(),
        Err(failure) => {
            failure.report(errors);
            failure.status().into()
        }
    }
}
