//! Where peers are, looked up when they are first needed.

use crate::Error;
use carrousel_rank::RankId;
use carrousel_transport_shm::{Address, ConnectError, Out};
use std::fmt;

/// Finds what a rank has published as its address.
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
    pub(crate) fn connect(&mut self, rank: RankId, out: &mut Out, trouble: &mut Option<Error>) -> bool {
        match self.try_connect(rank, out) {
            Ok(()) => true,
            Err(error) => {
                trouble.get_or_insert(error);
                out.abandon(rank);
                false
            }
        }
    }

    fn try_connect(&mut self, rank: RankId, out: &mut Out) -> Result<(), Error> {
        let address = (self.look_up)(rank)?;
        let address: Address =
            address.parse().map_err(|error| Error::Connect { rank: rank.0, why: format!("{error}") })?;
        out.connect(rank, &address).map_err(|error| match error {
            ConnectError::Gone(rank) => Error::PeerLost { rank: rank.0 },
            other => Error::Connect { rank: rank.0, why: other.to_string() },
        })
    }
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Directory")
    }
}
