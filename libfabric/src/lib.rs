//! Asks a libfabric which providers it offers here, and a provider's file what it is.
//!
//! Which provider a host gets depends on variables, on directories, and on the libfabric that the host is linked with.
//! Nobody knows it but that libfabric. So it is loaded and asked, as a host would.
//!
//! **Promises.**
//! - What cannot be loaded is an error in the loader's words.
//! - A structure of libfabric's is read as far as all versions since 1.5 have it.
//!
//! **Leaves to others.** A process of its own: a library that is loaded runs its own code, and may do anything.
//! **Entry point.** [`library`] and [`provider`].
#![deny(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn)]

mod answers;
mod layout;
#[allow(unsafe_code, reason = "libraries are loaded and called there")]
mod loaded;

pub use answers::{Library, Provider, Version};
pub use loaded::{library, provider};
