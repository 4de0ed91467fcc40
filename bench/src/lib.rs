//! The cost of messages of the library, measured between the ranks of a job, and the cost of memory.
//!
//! Every rank calls [`measure`] with the same [`Plan`]; rank 0 gets the results. The measurements are those of the
//! characterization in speculative-rendezvous 3; what xtask/peers/pt2pt.c measures of other libraries, too, is the
//! same, pattern by pattern and call by call: a change of one needs the same change of the other.
//!
//! **Promises.** A value is the median over batches of at least half a millisecond (where a batch may have several
//! calls), after warming up; of an overlap, over its exchanges. What came is compared with what was sent after each
//! batch. Messages are measured through the public interface of `carrousel`, as every application has it; only `memory`
//! looks behind it. No process is started here, and nothing printed.
//! **Leaves to others.** Starting ranks; [`pin`]ning them, each to a core of its own, which the definitions ask for;
//! tables; reading the thresholds.
//! **Limits.** Everything else on the machine disturbs it. Of the collectives, only allreduce and barriers are
//! measured.
//! **Entry point.** [`Benchmark`] says what is measured, [`measure`] does it; begin reading at `calls`, the library's
//! calls and the clock around them: `overlap` those of programs that compute meanwhile (its cases are in `case`, each
//! rank's calls in `exchange`), `connections` those with several partners, `fresh` those in memory that is new.
//! `batches` decides how often, `runner` carries out a plan, `plot` draws. What memory costs is measured without a job:
//! [`registration_costs`], and [`reuse_costs`], from which [`thresholds`] follow, the file that
//! `carrousel-registration` reads.
//!
//! ```
//! use carrousel_bench::{Benchmark, Budget, Plan, measure};
//! let budget = Budget { repetitions: Some(5), ..Budget::default() };
//! let plan = Plan::new(2, &[Benchmark::Latency], &[8], budget)?;
//! let results = carrousel::threads(2, |world| measure(world, &plan, &mut |_| {}))?;
//! let latency = results[0].as_ref().expect("nothing fails")[0];
//! assert_eq!((latency.record.size, latency.record.unit), (8, "us"));
//! assert!(latency.record.value > 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod batches;
mod benchmark;
mod buffer;
mod calls;
mod case;
mod clock;
mod connections;
mod error;
mod exchange;
mod fresh;
mod memory;
mod overlap;
mod pin;
mod plan;
mod plot;
mod results;
mod runner;
mod statistics;

pub use benchmark::{Benchmark, SIZE_MAX, WINDOW};
pub use case::{Call, CallKind, Case, Overlapped};
pub use error::{Error, PinError};
pub use memory::{
    Adapter, ClassCosts, MemoryError, REGISTERED_SIZES, RegistrationCost, registration_costs, reuse_costs,
    thresholds,
};
pub use pin::pin;
pub use plan::{Budget, Plan, PlanError, REPETITIONS_MAX, Step};
pub use plot::{PLOTTED, PlotError, svg};
pub use results::{Measured, Record, Results};
pub use runner::{Progress, measure};
pub use statistics::Summary;
