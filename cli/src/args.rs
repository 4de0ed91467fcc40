//! The command line. Help, completions and the manual are generated from here.

use crate::style::Color;
use crate::{bench, check, fi, fmt, generate, info, run, schema, sim, trace, verify};
use clap::{Parser, Subcommand};

/// The version, and what it was built from.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("BUILT_FROM"), ")");

/// Communication patterns, proven and simulated.
///
/// A pattern is a scenario: a text file (.scn) that says what each rank of a parallel program sends,
/// receives and waits for. `verify` explores every order in which that can happen and proves the
/// pattern, or shows the shortest way in which it goes wrong. `sim` runs it in virtual time, `run` between
/// processes. All drive the protocol code itself, not a description of it; `check` compares what a run has
/// recorded with what `verify` explores.
#[derive(Debug, Parser)]
#[command(name = "carrousel", version = VERSION, propagate_version = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// When to use colours; NO_COLOR and CLICOLOR_FORCE are respected.
    #[arg(
        long,
        value_enum,
        default_value_t,
        global = true,
        value_name = "WHEN",
        hide_possible_values = true
    )]
    #[arg(help = "Colours: auto, always or never; NO_COLOR and CLICOLOR_FORCE are respected")]
    pub(crate) color: Color,
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
A first scenario, ring.scn:
  ranks 3
  rank *
    isend to (me+1)%size tag 0 size 64KiB
    irecv from (me+size-1)%size tag 0 size 64KiB
    wait all

Examples:
  carrousel verify ring.scn                       prove it
  carrousel sim ring.scn --timeline ring.html     see it run
  carrousel run -n 4 -- ./heat                    start a parallel program
  carrousel run --trace out -n 4 -- ./heat        record what it does, and
  carrousel check out                             whether the model allows it
  carrousel trace text out                        print the record, as JSON
  carrousel bench pt2pt                           measure messages
  carrousel fmt --write ring.scn                  lay it out
  carrousel info                                  adapters, limits, options, what is chosen and why
  carrousel fi                                    whether another MPI would use the provider
  carrousel schema verify                         what the JSON reports look like

Exit status of every command but run and bench:
  0  all is well          1  violated, or different
  2  wrong file or usage  3  inconclusive: a bound was hit";

/// The commands. Their help is that of their arguments.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Verify(verify::VerifyArgs),
    Sim(sim::SimArgs),
    Run(run::RunArgs),
    Check(check::CheckArgs),
    Trace(trace::TraceArgs),
    Bench(bench::BenchArgs),
    Fmt(fmt::FmtArgs),
    Info(info::InfoArgs),
    Fi(fi::FiArgs),
    Schema(schema::SchemaArgs),
    Completions(generate::CompletionsArgs),
    Man(generate::ManArgs),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
