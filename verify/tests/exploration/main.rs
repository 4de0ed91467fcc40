//! What explorations come to: verdicts, counterexamples, charts, and how much is explored.
//!
//! One program: each of these files would have the checker compiled and linked into it once more.

mod acyclic;
mod asking;
mod charts_of_windows;
mod collectives;
mod connection;
mod counterexamples;
mod dice;
mod drawn;
mod ends;
mod epoch;
mod epoch_programs;
mod flow_control;
mod growth;
mod interrupted;
mod jobs;
mod lock;
mod memory;
mod orders;
mod progress;
mod reads;
mod received;
mod reduction;
mod schedule;
mod shortest;
mod weakest;
mod weakest_windows;
mod windows;

use mimalloc::MiMalloc;

/// The command's, which does not slow two threads down that free what the other has allocated.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;
