//! One-sided communication: windows, and the epochs in which they are accessed.
//!
//! An epoch is a value: [`Window::start`], [`Window::lock`] and the others return one, and only it has the calls that access
//! targets; closing it consumes it. What the type cannot see (a target that is not in the group, two locks of one
//! target) is an error. The memory of a window is reached through guards.

mod access;
mod epochs;
mod memory;
mod opening;
mod own;
mod pending;
mod stride;

pub use access::{Access, Number, PassiveAccess};
pub use epochs::{AccessEpoch, ExposureEpoch, FenceEpoch, LockAllEpoch, LockEpoch};
pub use memory::{Memory, MemoryMut};
pub use own::Window;
pub use pending::{FetchRequest, Fetched, WindowRequest};
pub use stride::Stride;
