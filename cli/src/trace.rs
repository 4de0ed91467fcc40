//! `carrousel trace`: what is in a trace.

use crate::failure::Failure;
use crate::out::Out;
use crate::run::refused_trace;
use crate::status::Status;
use carrousel_launch::raise_open_files;
use carrousel_trace::{Trace, TraceText};
use std::path::PathBuf;

/// Look into a trace
#[derive(Debug, clap::Args)]
pub(crate) struct TraceArgs {
    /// What to do with it.
    #[command(subcommand)]
    command: TraceCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TraceCommand {
    Text(TextArgs),
}

/// Print what a run has recorded, as lines of JSON
///
/// `carrousel run --trace DIRECTORY` has each rank record in a compact form. This command prints its lines: the head of a
/// part, then a line for each record, as docs/trace.md describes them. Parts come one after the other, by rank.
///
/// The text of one part is a part, too: as rank-0.jsonl in a directory of its own, `carrousel check` reads it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  carrousel trace text out | less
  carrousel trace text out --rank 3 | grep lost

Exit status: 0 done; 2 this is no trace, or not what was recorded.")]
struct TextArgs {
    /// The directory of the trace: that of `--trace`
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
    /// The part of this rank only, as `carrousel check` numbers them
    #[arg(long, value_name = "N")]
    rank: Option<u32>,
}

/// `carrousel trace`.
pub(crate) fn run(args: &TraceArgs, out: &mut Out) -> Result<Status, Failure> {
    let TraceCommand::Text(TextArgs { directory, rank }) = &args.command;
    // A trace has a part for each rank, and all are opened to see that they belong together.
    raise_open_files();
    let trace = Trace::open(directory).map_err(refused_trace)?;
    let paths: Vec<PathBuf> = match rank {
        None => trace.parts.iter().flatten().map(|part| part.path().to_owned()).collect(),
        Some(rank) => match trace.parts.get(*rank as usize) {
            Some(Some(part)) => vec![part.path().to_owned()],
            Some(None) => return Err(Failure::wrong(format_args!("rank {rank} has recorded nothing"))),
            None => {
                let ranks = trace.ranks;
                return Err(Failure::wrong(format_args!(
                    "there is no rank {rank}: the trace is of {ranks} ranks"
                )));
            }
        },
    };
    drop(trace);
    for path in paths {
        let mut part = TraceText::open(&path).map_err(refused_trace)?;
        while let Some(line) = part.next_line().map_err(refused_trace)? {
            out.text(&String::from_utf8_lossy(line))?;
        }
    }
    Ok(Status::Fine)
}
