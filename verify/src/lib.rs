//! Explores every execution of a communication pattern over the real protocol state machines.
//!
//! **Promises.** The type that is explored is [`carrousel_rank::Rank`], the one that runs in production. An oracle,
//! MPI's matching in its plainest form, says what it should have done. The network is at least as permissive as any
//! real one: each packet and each completion may take any time, and only what the contract orders is ordered. A
//! verdict of *proven* means that no execution violates the check; a counterexample is a shortest execution that
//! does. When a bound was hit, the verdict is *inconclusive*.
//!
//! **Its limits.** Two states are the same for the search if their 64-bit fingerprints are, which are made of 64-bit
//! fingerprints of their ranks: among n states two collide, and one of them is left out, with a probability of about
//! n² / 2^64 (less than one in 100,000 for 10 million states). Liveness is "no reachable state without successors has
//! an unfinished rank", which is sound because no execution is infinite: each step consumes a statement or something
//! in flight, and what it sends in turn is bounded. Only announcements are never owed: a rank that needs one in order
//! to finish counts as stuck.
//!
//! **Leaves to others.** The language of scenarios, and what a terminal looks like.
//! **Entry point.** [`run::check`] for a scenario, [`suite::rendezvous`] for every program up to a bound,
//! [`suite::provider`] for those of libfabric's hosts,
//! [`suite::memory`] for registered memory, [`suite::connection`] for connections, [`suite::lock`] and
//! [`suite::epoch`] for locks and epochs of windows, [`replay::check`] for the trace of a real job; begin reading at [`state::State`], then [`action::Action`] and `reduce`.
//!
//! ```
//! use carrousel_verify::report::Verdict;
//! let text = b"ranks 2\nrank *\n  ssend to 1-me tag 0 size 8\n  recv from 1-me tag 0 size 8\n";
//! let scenario = carrousel_scenario::load("face-to-face.scn", text).map_err(|error| error.to_string())?;
//! let report = carrousel_verify::run::check(&scenario, &Default::default()).map_err(|error| error.to_string())?;
//! assert_eq!(report.verdict, Verdict::Violated); // both wait for the other to receive
//! # Ok::<(), String>(())
//! ```
#![forbid(unsafe_code)]

mod access_order;
pub mod action;
mod admission;
mod after;
mod applicable;
mod assertions;
pub mod atomics;
pub mod bounds;
mod breadth_first;
mod brief_locks;
pub mod chart;
pub mod connection;
mod context;
pub mod cycle;
pub mod epoch;
pub mod explain;
pub mod explore;
mod explorer;
mod facts;
mod forget;
mod grants;
mod happens_before;
pub mod hashed;
mod initial;
mod later;
mod learned;
mod limits;
pub mod lock;
mod machine;
pub mod memory;
pub mod model;
pub mod network;
pub mod open_epochs;
mod oracle;
pub mod outcome;
mod outputs;
mod own_locks;
pub mod parts;
pub mod program;
pub mod progress;
mod reduce;
pub mod rendezvous;
pub mod replay;
pub mod report;
pub mod rules;
pub mod run;
pub mod scenario;
pub mod schedule;
pub mod search;
mod settings;
pub mod shortest;
pub mod situations;
mod spent;
pub mod state;
mod step;
pub mod suite;
mod unchecked_locks;
pub mod violation;
pub mod weakest;
mod window_facts;
mod windows;
pub mod words;

/// The command's allocator, with which tests take two thirds of the time.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
