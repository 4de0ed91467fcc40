//! A replay follows what a job really did, and finds every place in which a trace says something else.
//!
//! The job is two ranks and queues between them that this file makes itself, so that the trace is the same in every
//! run. Jobs of real processes are traced and replayed by the tests of the command.

mod changes;
mod corrupted;
mod endpoints;
mod followed;
mod pair;
