//! `cargo xtask figures`: runs the figures, prints a table, and writes a page and JSON.
#![forbid(unsafe_code)]

use carrousel_figures::{Entry, FAMILIES, Points, Reproduction, html, table};
use clap::Parser;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Reproduce the papers' figures in the simulator
///
/// Prints a row for each figure: how many of the paper's sentences about it hold here, and how our numbers compare with
/// those that the paper's text states. Writes figures.html, one page with all diagrams that needs nothing else, and
/// figures.json with all numbers, as schema/figures.schema.json says. The exit status is 1 if a relation does not hold, 2
/// if there are no figures.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask figures", bin_name = "cargo xtask figures", after_help = EXAMPLES)]
struct Cli {
    /// Only figures whose number begins with this; may be given several times
    #[arg(long, value_name = "NUMBER")]
    only: Vec<String>,
    /// The directory to write to
    #[arg(long, value_name = "DIR", default_value = "target/figures")]
    out: PathBuf,
    /// Few points of each axis: as many as the relations need
    #[arg(long)]
    few: bool,
    /// Applications with up to 2048 ranks, too: half an hour
    #[arg(long, conflicts_with = "few")]
    large: bool,
    /// Print the numbers of the figures, and run none
    #[arg(long)]
    list: bool,
}

const EXAMPLES: &str = "Examples:
  cargo xtask figures                          all figures, to target/figures/figures.html
  cargo xtask figures --only NB                those of nonblocking-rma-epochs
  cargo xtask figures --only 'NB 1'            NB 1, and also NB 10 and NB 11
  cargo xtask figures --only 'IE 2' --only SR --out /tmp/figures

Numbers begin with the paper:
  NB  nonblocking-rma-epochs: epochs that never block
  IE  intra-epoch-scheduling: the order of transfers within an epoch
  SR  speculative-rendezvous: the thesis, chapters 3 and 4
  SI  smartinterrupts: arrival orders of a message, 3.1";

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(status) => status,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: &Cli) -> Result<ExitCode, String> {
    let is_asked = |entry: &&Entry| {
        cli.only.is_empty()
            || cli.only.iter().any(|only| entry.id.to_lowercase().starts_with(&only.to_lowercase()))
    };
    let asked = || FAMILIES.iter().flat_map(|family| family.figures).filter(is_asked);
    if asked().count() == 0 {
        let all: Vec<&str> =
            FAMILIES.iter().flat_map(|family| family.figures).map(|entry| entry.id).collect();
        return Err(format!(
            "no figure begins with `{}`: there are {}",
            cli.only.join("`, or `"),
            all.join(", ")
        ));
    }
    if cli.list {
        let list: String = asked().map(|entry| format!("{}\n", entry.id)).collect();
        return print(&list).map(|()| ExitCode::SUCCESS);
    }
    let points = match (cli.few, cli.large) {
        (true, _) => Points::Few,
        (_, true) => Points::Large,
        _ => Points::All,
    };
    // Draws nothing unless standard error is a terminal.
    let bar = ProgressBar::with_draw_target(Some(asked().count() as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} figures, {elapsed}: {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let drawn = Reproduction::draw(
        points,
        |entry| is_asked(&entry),
        |entry| {
            bar.inc(1);
            bar.set_message(entry.id);
        },
    );
    bar.finish_and_clear();
    let drawn = drawn.map_err(|error| error.to_string())?;
    fs::create_dir_all(&cli.out).map_err(|error| said(&cli.out, &error))?;
    let (page, data) = (cli.out.join("figures.html"), cli.out.join("figures.json"));
    write(&page, &html(&drawn).map_err(|error| error.to_string())?)?;
    let json = serde_json::to_string_pretty(&drawn).map_err(|error| format!("cannot write JSON: {error}"))?;
    write(&data, &json)?;
    print(&format!("{}{}\n{}\n", table(&drawn), page.display(), data.display()))?;
    let (held, all) = drawn.relations();
    Ok(if held == all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn said(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| said(path, &error))
}

/// A reader that leaves early is no failure: the status is that of the figures.
fn print(text: &str) -> Result<(), String> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(()),
    }
}
