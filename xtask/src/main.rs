//! One command for each chore: `cargo xtask test` is what has to be green, here as on any other machine.
//!
//! **Promises.**
//! - A step of `test` installs the packages and tools that it needs (`requirements`), or the command says at the end
//!   which steps it has left out and why; `--list` names them.
//! - A guest (`guest`: a virtual machine with Soft-RoCE) is made for its run, and nothing of it stays, however the run
//!   ends; if SIGKILL leaves a directory, the next run removes it. No action of a guest makes a run last for ever, and
//!   a run whose kernel has logged a BUG, a WARNING or an oops is no success.
//! - No crate depends on this one, and it depends on no crate of ours: it measures the command, as users have it. One
//!   file is shared: how `cli` writes a measured number.
//!
//! **Entry point.** `test`, the list of steps; `guards` has those that need more than cargo (valgrind, a nightly
//! toolchain, whose date stands in `nightly`). `bench` compares with other libraries (`peers/` has the measurements in
//! C, `targets` what is to be reached) and measures the checker's searches. `soak` runs random jobs and does harm to
//! them: `job` says what a job is, `random` what is done to it and how it has to end, `cases` which jobs are the same
//! each time, `inject` which calls and allocations fail. In `guest`, `cases` is the table of tests, `run` boots
//! machines, `contents` says what is in them. `others` runs programs that nobody has changed over other MPI libraries
//! and the provider, beside the same without it.
#![forbid(unsafe_code)]

mod bench;
mod book;
mod built;
mod deny;
mod differential;
mod dist;
mod docs;
mod figures;
mod fuzz;
mod guards;
mod guest;
mod hydra;
mod nightly;
mod others;
mod protocols;
mod readme;
mod requirements;
mod simulate;
mod slurm;
mod soak;
mod steps;
mod table;
mod test;
mod tidy;
mod tools;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// One command for each chore.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Check everything: layout, lints, licences, tests, documentation, and the built-in suites
    ///
    /// From nothing, about an hour on two cores. As root on Debian, packages that are missing are installed first;
    /// elsewhere they are named, and what needs them is left out. The last lines count what has passed, was left out and has
    /// failed. The exit status is 0 if nothing has failed, and 2 if no step has the name that was asked for.
    Test {
        /// Leave the suites out
        #[arg(long)]
        fast: bool,
        /// Take only the steps whose name contains this
        #[arg(long, default_value = "", value_name = "NAME")]
        only: String,
        /// Name the steps, each with the time that it took when it was last taken here, and take none
        #[arg(long, conflicts_with = "only")]
        list: bool,
    },
    /// Feed a fuzz target, or all of them, for a while
    ///
    /// Needs rustup, for a nightly toolchain, which has the sanitizers. Where that or cargo-fuzz is missing, it
    /// is installed first. Inputs begin with those of fuzz/corpus; what
    /// fails is kept in fuzz/artifacts. In the end there is a line for each target: how many inputs were tried, how
    /// much of the code they have reached, and what was found. The exit status is 0 if nothing was.
    Fuzz {
        /// The target, one of those in fuzz/fuzz_targets, or `all`, one after the other
        #[arg(default_value = "scenario")]
        target: String,
        /// How long, each
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// How to print the results
        #[arg(long, value_enum, default_value_t = bench::format::Format::Table)]
        format: bench::format::Format,
    },
    /// Compare measurements with other libraries
    Bench {
        #[command(subcommand)]
        what: bench::BenchCommand,
    },
    /// Test what needs InfiniBand, in small virtual machines that have Soft-RoCE
    ///
    /// The tests are listed in xtask/src/guest/cases.rs, and are steps of `cargo xtask test`, too. As root on Debian,
    /// programs that are missing are installed; elsewhere the tests are skipped. `guest run` runs any command.
    Guest(guest::Guest),
    Dist(dist::Dist),
    Soak(soak::Soak),
    Others(others::Others),
    Simulate(simulate::Simulate),
    /// Reproduce the papers' figures in the simulator, beside the papers' numbers
    ///
    /// A table, a page with all diagrams and JSON; `cargo xtask figures --help` says more.
    #[command(disable_help_flag = true)]
    Figures {
        /// Arguments of the program that draws them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
        arguments: Vec<String>,
    },
    /// Compare verdicts on random programs with those of an oracle
    ///
    /// `cargo xtask differential windows`, for programs with windows; `--help` behind that says more.
    #[command(disable_help_flag = true)]
    Differential {
        /// Arguments of the program that compares them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
        arguments: Vec<String>,
    },
    /// Write the shell completions and the manual to dist/, and the book to target/book
    ///
    /// The book's pages are those of docs/; it begins with target/book/docs/index.html. mdBook is compiled first if it is
    /// not installed; where it cannot be had, the book is left out.
    Docs,
}

fn main() -> ExitCode {
    let done = match Cli::parse().chore {
        Chore::Test { fast, list: true, .. } => return test::list(fast),
        Chore::Test { fast, only, .. } => return test::run(fast, &only),
        Chore::Fuzz { target, seconds, format } => match fuzz::run(&target, seconds, format) {
            Ok(status) => return status,
            Err(message) => Err(message),
        },
        Chore::Bench { what } => bench::run(&what),
        Chore::Guest(guest) => return guest::run(&guest),
        Chore::Soak(soak) => match soak::run(&soak) {
            Ok(status) => return status,
            Err(message) => Err(message),
        },
        Chore::Others(others) => match others::run(&others) {
            Ok(status) => return status,
            Err(message) => Err(message),
        },
        Chore::Simulate(simulate) => match simulate::run(&simulate) {
            Ok(status) => return status,
            Err(message) => Err(message),
        },
        Chore::Figures { arguments } => match figures::run(&arguments) {
            Ok(status) => return status,
            Err(message) => Err(message),
        },
        Chore::Differential { arguments } => match differential::run(&arguments) {
            Ok(status) => return status,
            Err(message) => Err(message),
        },
        Chore::Dist(dist) => dist::run(&dist),
        Chore::Docs => docs::run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
