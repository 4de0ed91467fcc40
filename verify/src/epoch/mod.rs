//! Epochs of windows: a model of the ranks of a window around [`carrousel_epoch::Window`].
//!
//! The state machine that is explored is the one that runs in production. Around it are programs, a network, and memory.
//! Data and packets of a pair of ranks arrive in the order in which they were posted. A write acts when it arrives, and so
//! does an atomic, which the target's processor carries out; its origin learns of it at any later time. A read acts at any
//! time after it has arrived. A fenced packet stays behind what comes back. Each rank has one staging buffer. Grant words are seen late, and only their newest value is. Each operation has a word of its own in
//! the memory of its target, so that one that acts too early or too late is seen. In families, what a rank sends to itself
//! arrives at once, as it does in a driver; in a single program, it may be late, too.
//!
//! **Programs.** A family has every program of some ranks up to a number of epochs: kinds, peers, one after the other or
//! one inside the other, each close waiting or not, and the settings of the flags. What `oracle` says of a program whose
//! every close waits decides whether it may get stuck. A single program may also be followed along some of its executions
//! only, where it has too many.
//!
//! **The promises.** What a rank knows of grants is a late copy of what was granted, and grows (`late-copy`,
//! `counts-grow`). No transfer begins before its grant (`granted-first`), and each acts while its exposure is active, or
//! its lock is held (`exposed`). Done comes once, after the close and behind the data (`one-done`, `done-is-last`). An
//! exposure ends when all origins are done (`done-by-all`) and all of its data is there (`data-is-there`), a fence after
//! all have called it (`fence-is-barrier`), an access when its operations are complete (`close-completes`).
//! Epochs are activated in opening order, beside those only that the table allows (`opening-order`, `table`). Locks are
//! exclusive, and memory is not locked and exposed at once (`exclusion`, `locked-or-exposed`). A flush is complete when
//! what it covers is, neither earlier nor later (`flush`). Accumulates of one origin act in program order
//! (`accumulate-order`), and no staging buffer has two operands (`staging`). What opens an epoch returns without a request
//! (`at-birth`), and each request is complete once (`once`); that of an operation, when its local buffer is free
//! (`own-request`). With closes that wait, nothing is deferred (`blocking-is-immediate`). No honest packet is refused
//! (`honest-packets`). A program that must end
//! by MPI's rules does, also with closes that return (`never-stuck`), and then both ranks of each pair have counted the
//! same (`quiet`).
//!
//! **Not modelled.** Deaths, which change what programs may rely on; more than one window; the contents of messages.

mod bounds;
mod check;
mod families;
mod model;
mod oracle;
mod program;
mod rank;
mod situations;
mod state;
mod step;
mod tell;
mod window;

use crate::bounds::Bounds;
use crate::explore::Limits;
use crate::outcome::Outcome;
use crate::rules::{RuleSet, Rules};
pub use bounds::{EpochBounds, EpochFamily, FlagSettings, GivenProgram};
pub use families::EpochItems;
pub use situations::EpochCoverPoint;

impl Bounds for EpochBounds {
    const SET: RuleSet = RuleSet::Epoch;

    fn explore_under<R: Rules>(self, limits: &Limits<'_>) -> Outcome {
        model::explore::<R::Epoch>(&self.programs(), limits)
    }
}
