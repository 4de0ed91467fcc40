//! Explores every execution of a communication pattern over the real protocol state machines: a model for
//! [stateright](https://docs.rs/stateright) of ranks, their programs, and the network between them.
//!
//! **Promises.** A verdict of *proven* means that every state was looked at and no execution violates the check. Where
//! a bound was hit, or the search was interrupted, it is *inconclusive*; where a file has nothing that a check is
//! about, *not-applicable* (`applicable`).
//! - The protocol is not modelled, it is called: the type that is explored is [`carrousel_rank::Rank`], the one of
//!   production, which has no rule to look up. An ablation differs from it in one rule, whichever is named (`rules`).
//! - An oracle, MPI's matching in its plainest form, says what the rank should have done, and shares no code with
//!   `protocols/matching`.
//! - The network is at least as permissive as every real one: each packet and each completion may take any time, and
//!   only what the contract orders is ordered. Orders that were recorded on `transport-shm` and `transport-verbs` are
//!   replayed in it (`tests/exploration/orders.rs`), and so are the traces of whole jobs (`replay`).
//! - A counterexample is a shortest one, or says that it may not be. To find it, the reduced orders towards one rank
//!   are searched, or all orders, which costs at most as much as the first search, or a few thousand states.
//! - Each reduction has a test against the search without it (`--no-reduction`).
//! - Under `--portable` no schedule and no window of ours runs, because none is the weakest: MPI's rule says which
//!   ranks may return, and `weakest` has what MPI-4.1 says of windows and nothing else. An access is under way for as
//!   long as MPI allows; what a call may do, and what it must, are two questions (`moments`). Every order that is taken
//!   for granted stands in `orders.toml`, with the section that promises it and a scenario that needs it; each can be
//!   switched off.
//! - Where the steps of a model repeat (`connection`), final states are not enough: from every state, steps that are
//!   sure to come must lead to an end. The adapter in `memory` is at least as permissive as a real one, with the
//!   exception that its documentation names: pages that an adapter writes to do not move.
//!
//! **Its limits.** Two states are the same for the search if their 64-bit fingerprints are, which are made of 64-bit
//! fingerprints of their ranks: among n states two collide, and one of them is left out, with a probability of about n²
//! / 2^64 (less than one in 100,000 for 10 million states). Liveness is "no reachable state without successors has an
//! unfinished rank", which is sound because no execution is infinite: each step consumes a statement or something in
//! flight, and what it sends in turn is bounded. Only announcements are never owed: a rank that needs one in order to
//! finish counts as stuck.
//!
//! **Leaves to others.** The language of scenarios, and what a terminal looks like.
//! **Entry point.** [`run::check`] for a scenario, [`suite`] for every program up to a bound of the rendezvous,
//! libfabric's hosts, progress, registered memory, connections, locks and epochs, [`replay::check`] for the trace of a
//! real job; begin reading at [`state::State`], then [`action::Action`] and `reduce`.
//!
//! | modules | what they have |
//! | --- | --- |
//! | `scenario`, `program` | a job as the checker numbers it |
//! | `network`, `action`, `after`, `step` | what is in flight, what can happen next, what one action does |
//! | `learned`, `hashed`, `parts`, `forget`, `spent` | steps that need not be carried out again, values that states share, what nobody will ask for any more |
//! | `oracle`, `later` | MPI's rule of matching; statements whose values only an execution has |
//! | `windows`, `admission`, `weakest` | what calls on windows do, which accesses race, which no epoch admits; the same under every MPI |
//! | `reduce`, `access_order`, `happens_before`, `brief_locks`, `window_facts` | which orders need not be told apart |
//! | `explore`, `breadth_first`, `shortest` | the search, through any model |
//! | `run`, `explain`, `chart`, `explorer` | one scenario; a counterexample as a person reads it; states for a browser |
//! | `suite`, `bounds`, `situations` | the programs that come with it, how far, and what has to be met so that a proof is not empty |
//! | `rules`, `rendezvous` | the rules of all protocols as one type; which protocol is under the messages |
//! | `progress`, `memory`, `connection`, `lock`, `epoch`, `schedule` | models of one protocol each, and of its driver |
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
pub mod explorer;
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
