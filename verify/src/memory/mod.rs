//! Registered memory: a model of an application, a kernel and an adapter around [`carrousel_reuse::Direct`].
//!
//! The machine that is explored is the one that runs in production. Around it: an application that sends from
//! its buffers, waits, writes, unmaps, and maps other pages at the same addresses; a kernel that gives pages other
//! frames while they are mapped; an adapter that keeps a translation for each registration, and reads what it
//! sends through it, a page at a time, at any moment before it reports the end. The content of a page is a
//! token, and no token is ever written twice.
//!
//! **The promises.** What goes out is what was in the buffer when the message was posted (`buffer-safety`). The
//! adapter never has to read through a registration that is gone or too short (`registration-safety`). Nobody
//! waits for what does not come (`never-stuck`).
//!
//! **What is assumed.** The kernel tells of pages that go *before* their frames can be another one's: an unmapping
//! call returns when the process has heard of it, as with an MMU notifier or an event of `userfaultfd`. The frames
//! of a registration are pinned from its answer on. Before that they are not, which is the most that an adapter
//! can do to us: it looks a translation up, and takes hold of the pages later, as the kernel's own users of
//! `mmu_interval_notifier` do (`Documentation/mm/hmm.rst`). An application does not write to, or unmap, a buffer
//! that is being sent.
//!
//! **Not modelled.** Transfers into a buffer. The kernel must not move a page that an adapter writes to, and
//! nothing on our side could repair it.

mod bounds;
mod environment;
mod model;
mod rules;
mod step;
mod tell;
mod world;

pub use bounds::{Bounds, Kind};
pub use environment::Reached;
pub use rules::{RULES, SET, explore, explore_without};
