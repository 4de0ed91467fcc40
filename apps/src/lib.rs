//! Applications of one-sided communication, one source for real runs and simulations.
//!
//! Each is an `async fn` of its [`World`](carrousel_app::World), with a configuration, and checks its own result: it
//! returns an error if that is wrong. [`lu`] decomposes a matrix, [`radix`] sorts, [`transactions`] updates random
//! ranks under exclusive locks, [`table`] is a distributed hash table, and [`halo`] exchanges borders by puts. The
//! programs of the same names run them: `carrousel sim -n 64 --app target/release/lu`.
//!
//! **Promises.** The result does not depend on the [`Closing`] of epochs, by which a figure compares one program with
//! itself, nor on the network. No clock is asked, and random numbers come from seeds. Only `carrousel-app` is known
//! here.
//! **Leaves to others.** Which machine: `carrousel sim` says, and `carrousel run`, once windows run for real.
//! **Entry point.** [`Closing`], then any of the modules.
#![forbid(unsafe_code)]

pub mod halo;
pub mod lu;
mod numbers;
pub mod radix;
pub mod table;
pub mod transactions;

use carrousel_app::{Error, Flags};
use thiserror::Error;

/// How an application closes its epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Closing {
    /// It waits in the call that closes.
    Blocking,
    /// It goes on, and waits later.
    Nonblocking,
    /// The same, and epochs need not wait for those before them (`access_after_access`).
    Reordered,
}

impl Closing {
    /// Whether it waits in the call.
    pub fn blocks(self) -> bool {
        self == Self::Blocking
    }

    /// The flags of its windows.
    pub fn flags(self) -> Flags {
        Flags { access_after_access: self == Self::Reordered, ..Flags::default() }
    }
}

/// Why an application has failed.
#[derive(Debug, Error)]
pub enum AppError {
    /// A call has failed.
    #[error(transparent)]
    Call(#[from] Error),
    /// Its result is wrong.
    #[error("rank {rank}: the result is wrong: {what}")]
    Wrong {
        /// The rank that has found it.
        rank: u32,
        /// What is wrong.
        what: String,
    },
}
