//! Messages between nodes, over InfiniBand and RoCE: the contract of `carrousel-transport` over libibverbs.
//!
//! `Verbs` makes a reliable connection to each peer when it is first used; packets arrive in receive buffers that all
//! peers share; writes and reads are done by the adapter, directly between the memory of the ranks. Packets without
//! data may have a service level of their own, and go by a second connection then. `carrousel-connection` decides when
//! a connection is up, when a packet may go, by which rail, and in which order packets are taken;
//! `carrousel-registration` when a registration ends.
//!
//! **Promises.**
//! - No call waits for a peer. What cannot be posted is kept, in order, and goes when there is room. Packets arrive
//!   once, whole, in order. A peer that does not look for a long time makes its senders wait, never fail.
//! - A small message of steady state is one doorbell, and neither an allocation nor a system call (`tests/posting.rs`),
//!   but for one that asks whether lent memory can be written to, where the adapter pages on demand. No packet has to
//!   fit what a device copies into a work request. A connected peer takes at most 8 KiB beside its queue pair
//!   (`tests/memory.rs`).
//! - A read and its notice are posted by the call that asks for them, as far as there is room: data moves while the
//!   rank computes. Soft-RoCE, whose fences do not survive a retransmission, starts one read at a time
//!   (`Limits::fences`).
//! - Data is not copied: the adapter uses it where the application has it, until the operation is reported as complete;
//!   that of `Out::send_zcopy` until `Out::zcopy_done` names it, whatever becomes of the peer.
//! - A registration is kept only while something tells of every page of it that goes, before whoever unmapped it goes
//!   on: on-demand paging, or userfaultfd, which does so of private anonymous memory alone. A test shows the stale
//!   bytes otherwise.
//! - A peer that is gone is a loss in bounded time, also for a rank that only waits for it, if it polls with the time.
//!   The loss is told when the adapter has let go of all memory for that peer, or has failed. A peer that was given up
//!   is not heard any more. What a peer sends may be anything: at worst it is the loss of that peer. A datagram without
//!   this process's key, or from a sender without a name here, is not answered (`tests/open.rs`).
//! - All that calls libibverbs is in `ibv`; `unsafe` is there, in `registrations` and in `memory_hooks`. Most tests
//!   need no device: `tests/fake` stands for libibverbs, and the rest is what is shipped.
//!
//! **Leaves to others.** The nodes of ranks; registering the application's memory (`Region`, which a
//! [`Regions`](carrousel_transport::Regions) names by its keys); which transport reaches a peer. Of small puts and
//! gets: `Registrations::acquire_often_used`, once for each, staging memory, and the release of a registration when
//! its transfer is complete, not before.
//! **Limits.** A peer that was told a key can write there until the registration ends; one that is kept is of whole
//! pages, for writing too. Guard pages (`MADV_GUARD_INSTALL`, since Linux 6.13) go unnoticed without on-demand paging,
//! with which memory that has been sent from remains writable. Datagrams are not encrypted. Peers in another subnet of
//! InfiniBand are addressed by GID, and with their own LID. InfiniBand and on-demand paging are tested with
//! `tests/fake` alone.
//! **Entry point.** `Verbs::new`; begin reading at `Verbs::poll` and `Peer::send`. `outbound` takes operations,
//! `rail` is a queue pair, `shared` what all peers share, `control` the second connection, `frame` what a packet is,
//! `wireup` the thread that makes connections by the datagrams of `wireup_message`, `network` what endpoints see.
//!
//! `choosing` decides which device, port and global identifier are used, and `adapters` is what the system's files say
//! of them: the latter is for people (`carrousel info`).
//!
//! Without the feature `verbs`, which needs libibverbs, there are only settings, addresses and adapters, and
//! [`NOT_BUILT`], which says why.
#![deny(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn)]

mod access;
mod adapters;
mod address;
#[cfg(feature = "verbs")]
mod atomics;
#[cfg(feature = "verbs")]
mod attempts;
mod choosing;
#[cfg(feature = "verbs")]
mod control;
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
mod sysfs;
#[cfg(feature = "verbs")]
mod verbs;
#[cfg(feature = "verbs")]
mod wireup;

pub use access::Access;
pub use adapters::{Adapter, Adapters, Gid, Port, Selected};
pub use address::{Address, AddressError};
pub use choosing::{GidRank, LinkLayer, PortState};
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
