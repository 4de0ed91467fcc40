//! Traces: the inputs of the ranks of a job, recorded as they happened.
//!
//! A trace is a directory with a part for each rank, `rank-0.jsonl` and so on: lines of JSON, the first one a
//! [`TraceHead`], each other one a [`Record`] of an input of that rank's [`Rank`](carrousel_rank::Rank), or of an
//! answer that the application got from it. So a trace is sufficient to run the same state machines once
//! more. Messages name a record by its line; the head is line 1. Each line ends in a check value (`"crc32"`), which is
//! left out here:
//!
//! | line | meaning |
//! | --- | --- |
//! | `{"carrousel_trace":5,"rank":0,"ranks":2,"command":["./heat"],"options":{..}}` | the head: version of the format, rank, and the options that the rank was made with |
//! | `{"peer":{"rank":1,"address":"carrousel shm:.."}}` | an endpoint has numbered a peer |
//! | `{"call":{"call":{"send":{..}},"answer":{"request":{..}},"file":"src/main.rs","line":7}}` | a call of the application, the request that it opened or why it was refused, and the line of the program that calls; with `"ignored":[1]` if something of rank 1 had arrived and was not fed before |
//! | `{"define":{"communicator":1,"members":[0,2]}}` | a communicator of which the rank was told |
//! | `{"forget":{"communicator":1}}` | a communicator that no rank has any more; its number may be used again |
//! | `{"event":{"packet":{..}}}`, `written`, `read`, `announce`, `lost` | an event |
//! | `{"release":{"request":{..},"status":{..}}}` | a request that was ended, and what the application was told |
//! | `{"probe":{"pattern":{..},"envelope":{..},"len":8}}` | a message that a probe has found |
//! | `{"claim":{"request":{..},"pattern":{..},"envelope":{..},"len":8}}` | a message that was claimed, and the request that receives or discards it |
//! | `{"end":"finalized"}` or `"left"` | the last line, when the process has left its job, or ended without that |
//!
//! The check value of a line covers all lines up to it ([`sealed`] writes it, and its module defines it). So a line
//! that was changed, removed, added or moved is detected, and the error names that line, or the one after it.
//!
//! A tag is a number of 64 bits. The tags that a receive accepts are `{"tag":4}`, or `{"tag":4,"ignore":3}` with the bits
//! that it ignores; `MPI_ANY_TAG` ignores 31 bits. Version 1, without check values, and version 2, with tags of 32 bits, are
//! refused. The 8 bytes that travel with a message are `"data"`, where there are any.
//!
//! Inside another MPI library there are no ranks that all endpoints know: each numbers its peers itself, and its part, with
//! a name of its own, says in the head which address it has, and which rank its process is to its launcher. Addresses put
//! the parts together ([`Trace::addresses`]).
//!
//! A trace contains no data, and no work that the library gave its network: that follows from the records.
//!
//! **Promises.** A recorder holds no more than a buffer's worth in memory; a process that is killed loses at most
//! that, and its part then has no last line. A reader checks all that it reads: files that are not a trace, or not the
//! one that was recorded, are a [`TraceError`] that names file and line, never a panic. It holds one record of each
//! part in memory.
//! **Leaves to others.** The meaning of the records: `carrousel-verify` replays them.
//! **Entry point.** [`Recorder`] writes, [`Trace::open`] reads; begin reading at [`Record`].
#![forbid(unsafe_code)]

mod error;
mod library;
mod names;
mod numbering;
mod part;
mod reader;
mod record;
mod recorder;
mod seal;

pub use error::TraceError;
pub use library::{HostLibrary, tag_text};
pub use names::{has_part, part_of};
pub use part::{RANKS_MAX, TracePart};
pub use reader::Trace;
pub use record::{CallAnswer, HostRank, Record, TraceEnd, TraceEndpoint, TraceHead, VERSION};
pub use recorder::{Recorder, prepare};
pub use seal::sealed;
