//! The pure protocols as a C library, for hosts that bring their own memory and network: a rank whole, and matching,
//! rendezvous, epochs, locks and registered memory alone.
//!
//! A host gives an object its calls and what its network reports, and takes the work out that follows: no function
//! waits, starts a thread, touches a clock, a file or a socket, or keeps anything between objects. The header
//! `carrousel.h` is generated of this crate, and a test compares them; `carrousel_trace.h` writes traces in C.
//! `docs/embedding.md` says how a host is built, and `docs/trace.md` what a trace has; `examples/embed` is an engine
//! over TCP.
//!
//! **Promises.**
//! - No decision is added: each function translates, and calls the type that the checker explores.
//! - All outputs of an input are taken before the next input, or that is refused: a host cannot break the law of a
//!   driver.
//! - Every misuse that C can see is an error code, and a refused call has changed nothing. No input of a host or of its
//!   peers panics, and no panic crosses the border (`tests/misuse.rs`, `tests/random.rs`). What a host gives as an
//!   enumeration is a number here, as a value of C need not be a variant.
//! - All memory of an object is its host's: asked for by the allocator that it was made with, and given back when it is
//!   freed. A host may refuse memory at any time (`tests/memory.rs`). No two objects share anything.
//!
//! **Leaves to others.** Data, the network, time, threads, waiting. What C cannot say is the host's promise: that a
//! pointer is null or points to what its type says, and that one thread at a time uses an object.
//! **Entry point.** [`carrousel_rank_call`], [`carrousel_rank_event`] and [`carrousel_rank_next_work`]; then `object`,
//! how an object is made, used and freed, `heap`, whose memory it has, and `border`, what else crosses. `inputs`,
//! `work`, `packet`, `names` and `window_names` are the structures of C and what they mean. The `Makefile` links the
//! shared library, whose symbols have versions, and installs it.
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
