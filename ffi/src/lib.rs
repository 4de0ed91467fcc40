//! The pure protocols as a C library, for hosts that bring their own memory and network.
//!
//! A host gives an object its calls and what its network reports, and takes the work out that follows: no
//! function waits, starts a thread, touches a clock, a file or a socket, or keeps anything between objects.
//! The header
//! `carrousel.h` is generated of this crate; `docs/embedding.md` says how a host is built, with an example.
//!
//! **Promises.** All memory of an object is its host's: asked for by the allocator that it was made with, and
//! given back when it is freed. No panic crosses the border. Every misuse is an error code, and a refused
//! call has changed nothing. The bytes of a peer are never trusted.
//! **Leaves to others.** Data, the network, time, threads, waiting. What C cannot say is the host's promise:
//! that a pointer is null or points to what its type says, and that one thread at a time uses an object.
//! **Entry point.** [`carrousel_rank_call`], [`carrousel_rank_event`] and [`carrousel_rank_next_work`].
#![allow(non_camel_case_types, reason = "the names are those of the C header")]

mod border;
mod called;
mod error;
mod heap;
mod inputs;
mod lock;
mod matching;
mod names;
mod object;
mod outputs;
mod packet;
mod rank;
mod registration;
mod rendezvous;
mod window;
mod window_names;
mod work;

pub use border::carrousel_allocator;
pub use called::*;
pub use error::*;
pub use inputs::*;
pub use lock::*;
pub use matching::*;
pub use names::*;
pub use packet::*;
pub use rank::*;
pub use registration::*;
pub use rendezvous::*;
pub use window::*;
pub use window_names::*;
pub use work::*;

/// The version of this interface. A host gives it to each function that makes an object.
pub const CARROUSEL_ABI_VERSION: u32 = 1;

/// The version of the interface of the library that the host has been linked with.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_abi_version() -> u32 {
    CARROUSEL_ABI_VERSION
}
