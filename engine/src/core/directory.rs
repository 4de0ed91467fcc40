//! Where peers are, looked up when they are first needed.

use super::trouble::Trouble;
use super::ways::Ways;
use crate::Error;
use carrousel_rank::RankId;
use carrousel_transport_shm::{self as shm, ConnectError};
use carrousel_transport_verbs as verbs;
use std::fmt;

/// Finds what a rank has published: its address on its node and, behind a space, that for other nodes, if it has one.
pub(crate) type LookUp = Box<dyn FnMut(RankId) -> Result<String, Error> + Send>;

/// Where peers are.
pub(crate) struct Directory {
    look_up: LookUp,
}

impl Directory {
    pub(crate) fn new(look_up: LookUp) -> Self {
        Self { look_up }
    }

    /// Connects to `rank`. False if that is not possible: then it is lost, and `trouble` says why.
    #[cold]
    pub(crate) fn connect(&mut self, rank: RankId, ways: &mut Ways<'_>, trouble: &mut Trouble) -> bool {
        match self.try_connect(rank, ways) {
            Ok(()) => true,
            Err(error) => {
                trouble.with(rank, error);
                ways.abandon(rank);
                false
            }
        }
    }

    /// Has the end of `rank` noticed. A peer of this node takes no memory for that, as a connection would; to others there
    /// is one. What goes wrong is as for [`Directory::connect`].
    #[cold]
    pub(crate) fn watch(&mut self, rank: RankId, ways: &mut Ways<'_>, trouble: &mut Trouble) {
        if !ways.near.serves(rank) {
            self.connect(rank, ways, trouble);
            return;
        }
        let watch = |addresses: String| {
            let (near, _) = split(&addresses);
            let address: shm::Address = near.parse().map_err(|error| refused(rank, &error))?;
            ways.near.watch(rank, &address).map_err(|error| unconnected(rank, &error))
        };
        if let Err(error) = (self.look_up)(rank).and_then(watch) {
            trouble.with(rank, error);
            ways.abandon(rank);
        }
    }

    fn try_connect(&mut self, rank: RankId, ways: &mut Ways<'_>) -> Result<(), Error> {
        let addresses = (self.look_up)(rank)?;
        let (near, far) = split(&addresses);
        let fail = |error: &dyn fmt::Display| refused(rank, error);
        match &mut ways.far {
            Some(out) if !ways.near.serves(rank) => {
                if far.is_empty() {
                    return Err(fail(&"it has no transport between nodes"));
                }
                let address: verbs::Address = far.parse().map_err(|error: verbs::BadAddress| fail(&error))?;
                out.connect(rank, &address);
                Ok(())
            }
            _ => {
                let address: shm::Address = near.parse().map_err(|error: shm::BadAddress| fail(&error))?;
                ways.near.connect(rank, &address).map_err(|error| unconnected(rank, &error))
            }
        }
    }
}

/// What a rank has published, in its parts: see [`LookUp`].
fn split(addresses: &str) -> (&str, &str) {
    addresses.split_once(' ').unwrap_or((addresses, ""))
}

fn refused(rank: RankId, why: &dyn fmt::Display) -> Error {
    Error::Connect { rank: rank.0, why: why.to_string() }
}

/// Why a peer of this node is not connected.
fn unconnected(rank: RankId, error: &ConnectError) -> Error {
    match error {
        ConnectError::Gone(rank) => Error::PeerLost { rank: rank.0, why: None },
        shortage if shortage.is_shortage() => Error::Memory(shortage.to_string()),
        other => refused(rank, other),
    }
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Directory")
    }
}
