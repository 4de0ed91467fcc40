//! Buffers that are lent to the library, and come back.
//!
//! A buffer belongs to the library from the call that starts its request to the one that ends it: until
//! then no code of the application can reach it. There are three transports to see to that, and all promises about memory that
//! `endpoint::registry` relies on are made here:
//!
//! - the call does not return before ([`blocking`]);
//! - the request owns the buffer, and gives it back when it ends, or leaks it with itself ([`request`]);
//! - the buffer is borrowed for longer than a scope lasts, which does not end before ([`scope`]).
#![allow(unsafe_code, reason = "memory cannot be lent without")]

mod agreement;
mod barrier;
mod blocking;
mod collectives;
mod completable;
mod completion;
mod request;
mod scope;

#[doc(hidden)]
pub use collectives::part;
pub use completion::{Outstanding, block_on, wait_all, wait_any, wait_some};
pub use request::Request;
pub use scope::{Scope, ScopedRequest};
