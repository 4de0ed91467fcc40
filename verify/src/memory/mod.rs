//! Registered memory: a model of an application, a kernel and an adapter around [`carrousel_registration::RegistrationCache`].
//!
//! The state machine that is explored is the one that runs in production. Around it are an application that sends
//! from its buffers, waits, writes, unmaps, and maps other pages at the same addresses; a kernel that gives pages
//! other frames while they are mapped; an adapter that keeps a translation for each registration, and reads what it
//! sends through it, a page at a time, at any moment before it reports the end. The content of a page is a token, and
//! no token is ever written twice.
//!
//! **The promises.** A message goes out with the content that its buffer had when it was posted (`buffer-safety`).
//! The adapter never has to read through a registration that is gone or too short (`registration-safety`). No call
//! waits for an event that never comes (`never-stuck`).
//!
//! **What is assumed.** The kernel reports an unmapped page *before* its frame can be used again: an unmapping call
//! returns when the process has been told, as with an MMU notifier or an event of `userfaultfd`. The frames of a
//! registration are pinned from its answer on. Before that they are not. This is the worst case: an adapter looks a
//! translation up, and pins the pages later, as the kernel's own users of `mmu_interval_notifier` do
//! (`Documentation/mm/hmm.rst`). An application does not write to, or unmap, a buffer that is being sent.
//!
//! **Not modelled.** Transfers into a buffer. The kernel must not move a page that an adapter writes to, and a
//! library could not repair it.

mod bounds;
mod environment;
mod model;
mod state;
mod step;
mod tell;

use crate::bounds::Bounds;
use crate::explore::Limits;
use crate::outcome::Outcome;
use crate::rules::{RuleSet, Rules};
pub use bounds::{MemoryBounds, TransferKind};
pub use environment::MemoryCoverPoint;
use model::MemoryModel;

impl Bounds for MemoryBounds {
    const SET: RuleSet = RuleSet::Registration;

    fn explore_under<R: Rules>(self, limits: &Limits<'_>) -> Outcome {
        MemoryModel::<R::Cache, R::Reuse>::new::<R::Environment>(self).explore(limits)
    }
}
