//! A libfabric provider: MPI libraries, and other programs, that talk by libfabric run on Carrousel's protocols
//! unchanged.
//!
//! libfabric loads `libcarrousel-fi.so` from `FI_PROVIDER_PATH`, a link beside the cdylib, whose name cargo does not
//! let end so, and calls [`fi_prov_ini`]. An endpoint of libfabric's is an open endpoint of the engine: matching,
//! rendezvous, announcements and adaptation are the engine's. What a domain, an endpoint or a completion queue owes to
//! its host, libfabric's pages say (fi_endpoint(3), fi_tagged(3), fi_cq(3), ..).
//!
//! Messages with tags, messages without, packets of one-sided operations and their data are four communicators. In the
//! first two, a host's peers come and go: a receive from anybody outlasts the loss of any. `untagged` makes a chain of
//! receives of a buffer for many messages. `rma` and `rma_target` are the two sides of a one-sided operation: a packet,
//! carried out when its target makes progress, and an answer; `atomics` are the operations on memory.
//!
//! **Promises.**
//! - What is refused is refused with the error that the pages name. What a host has allocated is read and written as
//!   far as the host's version of the interface knows it: 1.17 to 2.5.
//! - One symbol is exported, [`fi_prov_ini`], and no libfabric is linked.
//! - A host may use the objects of a domain from several threads if it asks for `FI_THREAD_SAFE`.
//! - Nothing is matched here. What is kept back is a receive behind a buffer for many messages, until that is used up.
//! - What an endpoint has sent has arrived when it has closed, or its receiver is lost, has finished, closes, too
//!   (`Endpoint::leave`), or is of this process (`ep`). Nothing else ends that wait, since MPICH has no barrier at its
//!   end.
//! - A message from or into one buffer costs no allocation here, and no look-up in a map. Lists of buffers (`pieces`)
//!   go through a copy.
//! - An address is 64 bytes for both transports (`state/av`): the key of the datagram queue is the number of the shared
//!   memory, so that both fit.
//!
//! **Leaves to others.** When messages move: in the host's calls (`FI_PROGRESS_MANUAL`).
//! **Entry point.** [`fi_prov_ini`], then `info` for what is offered, and `state` for what an endpoint does, by
//! position in the tables of its domain, behind one lock; `state/crowd` counts the processes and processors of this
//! node. `fabric`, `domain`, `av`, `cq`, `cntr`, `eq`, `mr` and `ep` are the tables of functions by which a host calls,
//! `object` and `parts` what it holds. `host` is what can be known of the host's job, for traces, hang reports, and the line
//! of `report`.
//! `bindings` is made by `bindings/generate.sh`. docs/other-mpis.md is the page for users.
#![deny(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn)]

mod av;
#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    dead_code,
    unreachable_pub,
    unsafe_code,
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::undocumented_unsafe_blocks,
    reason = "made of libfabric's headers"
)]
#[rustfmt::skip]
pub mod bindings;
mod cntr;
mod cq;
mod domain;
mod ep;
mod eq;
mod fabric;
mod fi;
mod host;
mod info;
mod lock;
mod mr;
mod object;
mod params;
mod parts;
mod refused;
mod report;
mod settings;
mod state;
mod tell;
mod timeout;
mod timer;

pub use fabric::fi_prov_ini;
