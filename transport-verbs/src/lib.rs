//! Messages between nodes, over InfiniBand and RoCE.
//!
//! [`Verbs`] is the contract of `carrousel-transport` over libibverbs: a reliable connection to each peer, made when it is
//! first used; packets through receive buffers that all peers share; writes and reads by the adapter, directly
//! between the memory of the ranks. Packets without data may have a service level of their own, and go by a second
//! connection then.
//!
//! **Promises.** No call waits for a peer. Packets of a peer arrive once, whole, in order. A packet costs one doorbell and
//! no allocation while nothing has to wait. What the adapter is asked for stays within its limits; a peer that does
//! not look for a long time makes its senders wait, never fail. A peer that is gone is a loss in bounded time, also
//! for a rank that only waits for it, if it polls with the time. What a peer sends may be anything: it is a loss of that
//! peer at worst.
//! A write takes its bytes from where the application has them, and a read brings them there, without a copy. The adapter is
//! done with that memory when the operation is reported as complete, also if that is because of a loss.
//! **Leaves to others.** The nodes of ranks; registering the application's memory (`Region`, which a
//! [`Regions`](carrousel_transport::Regions) has to name by its keys); which of several transports a peer is reached by.
//! Of small puts and gets: to ask [`Registrations::acquire_often_used`] once for each, as that counts the uses of buffers;
//! staging memory, registered for good, through which those are copied whose buffer has no registration ([`Out`] has some,
//! for packets alone); to release a registration when its transfer is complete, and not before.
//! **Limits.** A peer that was told the key of some memory can write there until the registration ends; one that is kept
//! is of whole pages, for writing too, and ends when room is needed or its pages are gone.
//! Where the adapter does not page on demand, only private anonymous memory stays registered. Guard pages that are put
//! into it and removed again (`MADV_GUARD_INSTALL`, since Linux 6.13) go unnoticed: what is sent is what was there before.
//! Where it pages on demand, memory that has been sent from remains writable: such a registration is for writing.
//! Connections are made by datagrams, which only those can send who were told the address; they are not encrypted.
//! InfiniBand, and on-demand paging, are tested with functions that stand for the library, not with adapters that have them.
//! Peers in another subnet of InfiniBand are addressed by GID, and with their own LID: that of a router on the way, which
//! the subnet's manager knows, is not asked for.
//! **Entry point.** [`Verbs::new`]; begin reading at `Verbs::poll` and `Peer::send`.
//!
//! Without the feature `verbs`, which needs libibverbs, there are only settings and addresses, and [`NOT_BUILT`], which says
//! why.
#![deny(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn)]

mod access;
mod address;
#[cfg(feature = "verbs")]
mod atomics;
#[cfg(feature = "verbs")]
mod attempts;
#[cfg(feature = "verbs")]
mod control;
#[cfg(feature = "verbs")]
mod error;
#[cfg(feature = "verbs")]
mod frame;
#[cfg(feature = "verbs")]
mod wireup_message;
// The library is in C: all that calls it is here, and nothing else is.
#[cfg(feature = "verbs")]
#[allow(unsafe_code, reason = "libibverbs is called there")]
mod ibv;
#[cfg(feature = "verbs")]
mod memory_hooks;
#[cfg(feature = "verbs")]
mod network;
#[cfg(feature = "verbs")]
mod outbound;
#[cfg(feature = "verbs")]
mod peer;
#[cfg(feature = "verbs")]
mod rail;
#[cfg(feature = "verbs")]
mod ready;
#[cfg(feature = "verbs")]
#[allow(unsafe_code, reason = "memory is handed to the adapter")]
mod registrations;
mod settings;
#[cfg(feature = "verbs")]
mod shared;
#[cfg(feature = "verbs")]
mod verbs;
#[cfg(feature = "verbs")]
mod wireup;

pub use access::Access;
pub use address::{Address, AddressError};
#[cfg(feature = "verbs")]
pub use error::{Loss, VerbsError};
#[cfg(feature = "verbs")]
pub use ibv::{Device, Region, Trial};
#[cfg(feature = "verbs")]
pub use outbound::Out;
#[cfg(feature = "verbs")]
pub use registrations::{MrGuard, Registrations};
pub use settings::{Choice, Settings};
#[cfg(feature = "verbs")]
pub use verbs::Verbs;
#[cfg(feature = "verbs")]
#[doc(hidden)]
pub use wireup_message::again as hello;

/// The error of a build without the feature `verbs`, wherever it would need an adapter.
pub const NOT_BUILT: &str = "this build has no transport between nodes (build it with `--features verbs`, on a machine with \
    libibverbs-dev, librdmacm-dev and libclang-dev)";
