//! What the ranks of a job were given, written down as it happened.
//!
//! A trace is a directory with a part for each rank, `rank-0.jsonl` and so on: lines of JSON, the first one a
//! [`TraceHead`], each other one a [`Record`] of what went into that rank's [`Rank`](carrousel_rank::Rank), or of an
//! answer that the application got from it. So a trace is all that is needed to run the same state machines once
//! more. A record is called by its line; the head is line 1. Each line ends in a check value (`"crc32"`), which is
//! left out here:
//!
//! | line | what it says |
//! | --- | --- |
//! | `{"carrousel_trace":2,"rank":0,"ranks":2,"command":["./heat"],"options":{..}}` | the head: format, who, and the options that the rank was made with |
//! | `{"call":{"call":{"send":{..}},"answer":{"request":{..}},"file":"src/main.rs","line":7}}` | a call of the application, the request that it opened or why it was refused, and the line of the program that calls; with `"ignored":[1]` if something of rank 1 had arrived and was not fed before |
//! | `{"define":{"communicator":1,"members":[0,2]}}` | a communicator that was made known |
//! | `{"forget":{"communicator":1}}` | one that nobody has any more; its number may be used again |
//! | `{"event":{"packet":{..}}}`, `written`, `read`, `announce`, `lost` | an event |
//! | `{"release":{"request":{..},"status":{..}}}` | a request that was ended, and what the application was told |
//! | `{"probe":{"pattern":{..},"envelope":{..},"len":8}}` | a message that a probe has found |
//! | `{"end":"finalized"}` or `"left"` | the last line, when the process has left its job, or ended without that |
//!
//! The check value of a line is over all lines up to it ([`sealed`] writes it, and its module says how). So a line
//! that is changed, removed, added or moved is found, and named: as that line, or as the one behind it. Version 1
//! had none, and is refused: a record that it had lost nobody missed.
//!
//! Data is not in it. What the library asked its network to do is not either: it follows from the rest.
//!
//! **Promises.** A recorder holds no more than a buffer's worth in memory; a process that is killed loses at most
//! that, and its part has no last line then. A reader checks all that it reads: what is no trace, or not the one that
//! was recorded, is a [`TraceError`] that names file and line, never a panic, and it holds one record of each part.
//! **Leaves to others.** What the records mean: `carrousel-verify` replays them.
//! **Entry point.** [`Recorder`] writes, [`Trace::open`] reads; begin reading at [`Record`].
#![forbid(unsafe_code)]

mod forms;
mod reader;
mod record;
mod recorder;
mod seal;

pub use reader::{RANKS_MAX, Trace, TraceError, TracePart};
pub use record::{CallAnswer, Record, TraceEnd, TraceHead, VERSION};
pub use recorder::{Recorder, prepare};
pub use seal::sealed;

use std::path::{Path, PathBuf};

/// Where the part of a rank is.
pub fn part_of(directory: &Path, rank: u32) -> PathBuf {
    directory.join(format!("{PREFIX}{rank}{SUFFIX}"))
}

const PREFIX: &str = "rank-";
const SUFFIX: &str = ".jsonl";

/// The rank whose part has this name; `None` if no part has it.
fn rank_of(name: &str) -> Option<u32> {
    let digits = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let rank = digits.parse().ok()?;
    // One name for each rank: no sign, no leading zero.
    (format!("{rank}") == digits).then_some(rank)
}
