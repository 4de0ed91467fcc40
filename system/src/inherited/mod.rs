//! What a child process has inherited, and must not use.
//!
//! A child made by `fork` has a copy of its parent's memory, and the same shared memory, descriptors and adapters. If both
//! used them, each would take what is meant for the other: so a child must not.

mod gate;
mod owned;
mod process;

pub use gate::Gate;
pub use owned::{InUse, Owned};
pub use process::{Inherited, in_child, is_child, keep};
