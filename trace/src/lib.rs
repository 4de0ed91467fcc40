//! Traces: the inputs of the ranks of a job, recorded as they happened.
//!
//! A trace is a directory with a part for each rank, `rank-0.trace` and so on: lines of JSON, the first one a
//! [`TraceHead`], each other one a [`Record`] of an input of that rank's [`Rank`](carrousel_rank::Rank), or of an
//! answer that the application got from it. A recorder writes them in a compact form (`compact`), of a tenth of the bytes;
//! [`TraceText`] tells them as text, which other programs write, too (`rank-0.jsonl`), and which is read in its place. So a
//! trace is sufficient to run the same state machines once more, and has no data, and no work that the library gave its network: as consequences are not recorded, a replay cannot copy them.
//! Each line ends in a check value (`"crc32"`) that covers all lines up to it. docs/trace.md has every kind of line.
//!
//! Messages name a record by its line; the head is line 1. A tag is a number of 64 bits. The tags that a receive
//! accepts are `{"tag":4}`, or `{"tag":4,"ignore":3}` with the bits that it ignores; `MPI_ANY_TAG` ignores 31 bits.
//!
//! Inside another MPI library there are no ranks that all endpoints know: each numbers its peers itself, and its part,
//! with a name of its own, says in the head which address it has, and which rank its process is to its launcher. What
//! an endpoint calls its peers is not translated where it is recorded: its state machine is replayed with its own
//! numbers, and addresses put the parts together ([`Trace::addresses`]).
//!
//! **Promises.**
//! - A reader gets the lines that were recorded, from the head on: a line that was changed, removed, added or moved is
//!   a [`TraceError`] that names it, or the line behind it. This protects against mistakes, not against forgery. Files
//!   that are not a trace are errors, too, that name file and line, never a panic.
//! - A recorder holds no more than a buffer's worth in memory, and a reader one record of each part. A process that is
//!   killed loses at most a buffer, and its part then has no last line.
//! - A rank that is not recorded pays for recording the test of an `Option`, and nothing else.
//! - A rank's vocabulary serialises itself, by the feature `serde` of the protocols; a test compares the bytes with
//!   those of the version (`tests/version_5.jsonl`). Versions 1 (no check values) and 2 (tags of 32 bits) are refused.
//!
//! **Leaves to others.** The meaning of the records: `carrousel-verify` replays them.
//! **Entry point.** [`Recorder`] writes, [`Trace::open`] reads; begin reading at [`Record`]. `seal` has the check
//! values ([`sealed`]), `numbering` says which rank of the trace a part is, `library` what the bits of another
//! library's tags mean.
#![forbid(unsafe_code)]

mod compact;
mod error;
mod library;
mod names;
mod numbering;
mod part;
mod reader;
mod record;
mod recorder;
mod seal;
mod text;

pub use error::TraceError;
pub use library::{HostLibrary, tag_text};
pub use names::{found_part_of, has_part, part_of};
pub use part::{RANKS_MAX, TracePart};
pub use reader::Trace;
pub use record::{CallAnswer, HostRank, Record, TraceEnd, TraceEndpoint, TraceHead, VERSION};
pub use recorder::{Recorder, prepare};
pub use seal::sealed;
pub use text::TraceText;
