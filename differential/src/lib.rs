//! Random programs with windows, judged twice: by an oracle, and by the checker (`cargo xtask differential windows`).
//!
//! **Promises.**
//! - The oracle takes every step that ranks and library may take, in every order, and leaves nothing out but the order
//!   of steps that only let others go on. An access begins and ends at any moment that its epoch admits. So two
//!   accesses race if they are under way at once in some state; a job is stuck in a state where nothing must happen.
//!   Nothing further is derived.
//! - What must and what may happen is written down twice: for the library of this project (`default_library`, as the
//!   page of the language describes it), and for the weakest MPI (`weakest_mpi`, rule by rule with its section).
//! - The oracle knows no crate of ours, neither protocols nor the checker: only `compare`, `read` and the command do.
//! - A comparison that tries too little has failed: programs that violate each check, and programs that violate
//!   nothing, are counted.
//!
//! **Its limits.** Programs of few statements: states are kept whole, and none is left out. Messages have one source
//! and one tag, communicators are not known, and a window has few cells.
//!
//! **Leaves to others.** The language: a program is written as a scenario, which the checker reads as any other.
//! **Entry point.** [`compare`] for a program, [`judge`] for the oracle alone; begin reading at [`program::Program`],
//! then `plan`, what no execution changes, `machine`, which steps there are, and `explore`, which takes them.
//! `generate` makes a program of a seed, `shrink` one on which the two differ as small as it gets; `known` lists
//! differences that are right, each with the sentence that says why.
//!
//! ```
//! use carrousel_differential::{Mode, generate, judge};
//! let program = generate(3, 2);
//! let judgement = judge(&program, Mode::Portable, 100_000).ok_or("it is too large")?;
//! assert!(judgement.states > 1, "{}", program.text("a program", &judgement.violated.names()));
//! # Ok::<(), &str>(())
//! ```
#![forbid(unsafe_code)]

mod compare;
mod default_library;
mod edit;
mod explore;
mod generate;
mod known;
mod machine;
mod plan;
pub mod program;
mod read;
mod reader;
mod shrink;
mod state;
pub mod tally;
mod tell;
mod weakest_mpi;

pub use compare::{Bounds, Comparison, compare};
pub use explore::{Judgement, Mode, judge};
pub use generate::program as generate;
pub use known::{KNOWN, KnownDifference};
pub use machine::{CHECKS, Violated};
pub use read::read;
pub use shrink::shrink;
