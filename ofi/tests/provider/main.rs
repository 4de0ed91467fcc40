//! The provider, driven by its tables of functions as libfabric and a host drive it.
#![allow(unsafe_code, reason = "a host calls by pointers")]

mod atomics;
mod children;
mod crowd;
mod host;
mod info;
mod lists;
mod messages;
mod objects;
mod processes;
mod report;
mod rma;
mod search;
mod silence;
mod traces;
mod untagged;
