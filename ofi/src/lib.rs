//! A libfabric provider: MPI libraries, and other programs, that talk by libfabric run on Carrousel's protocols unchanged.
//!
//! libfabric loads `libcarrousel-fi.so` from `FI_PROVIDER_PATH` and calls [`fi_prov_ini`], the only symbol of the library.
//! Matching, rendezvous, announcements and adaptation are those of the engine; what a domain, an endpoint or a completion
//! queue owes to its host, libfabric's pages say (fi_endpoint(3), fi_tagged(3), fi_cq(3), ..).
//!
//! **Promises.** What is refused is refused with the error that the pages name. A host may use the objects of a domain
//! from several threads if it asks for `FI_THREAD_SAFE`. Structures that a host has allocated are read and written as far
//! as its version of the interface knows them: 1.17 to 2.5.
//! **Leaves to others.** When messages move: in the host's calls (`FI_PROGRESS_MANUAL`).
//! **Entry point.** [`fi_prov_ini`], then `info` for what is offered, `state` for what an endpoint does; the other modules
//! are the tables of functions by which a host calls.
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
mod settings;
mod state;
mod tell;
mod timeout;
mod timer;

pub use fabric::fi_prov_ini;
