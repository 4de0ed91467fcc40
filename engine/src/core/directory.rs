//! Where peers are, looked up when they are first needed.

use super::ways::Ways;
use crate::Error;
use carrousel_rank::RankId;
use carrousel_transport_shm::{self as shm, ConnectError};
use carrousel_transport_verbs as verbs;
use std::fmt;

/// Finds what a rank has published: its address on its node and, behind a space, that for other nodes, if it has one.
pub(crate) type LookUp = Box<dyn FnMut(RankId) -> Result<String, Error>>;

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
    pub(crate) fn connect(&mut self, rank: RankId, ways: &mut Ways<'_>, trouble: &mut Option<Error>) -> bool {
        match self.try_connect(rank, ways) {
            Ok(()) => true,
            Err(error) => {
                trouble.get_or_insert(error);
                ways.abandon(rank);
                false
            }
        }
    }

    fn try_connect(&mut self, rank: RankId, ways: &mut Ways<'_>) -> Result<(), Error> {
        let addresses = (self.look_up)(rank)?;
        let (near, far) = addresses.split_once(' ').unwrap_or((&addresses, ""));
        let fail = |why: String| Error::Connect { rank: rank.0, why };
        match &mut ways.far {
            Some(out) if !ways.near.serves(rank) => {
                if far.is_empty() {
                    return Err(fail("it has no transport between nodes".to_owned()));
                }
                let address: verbs::Address = far.parse().map_err(|error| fail(format!("{error}")))?;
                out.connect(rank, &address);
                Ok(())
            }
            _ => {
                let address: shm::Address = near.parse().map_err(|error| fail(format!("{error}")))?;
                ways.near.connect(rank, &address).map_err(|error| match error {
                    ConnectError::Gone(rank) => Error::PeerLost { rank: rank.0, why: None },
                    other => fail(other.to_string()),
                })
            }
        }
    }
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Directory")
    }
}
