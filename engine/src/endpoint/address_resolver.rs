//! Resolves the addresses of peers when they are first needed, and connects to them.

use super::first_error::FirstErrors;
use super::names::{LookUp, Names};
use super::transports::Transports;
use crate::Error;
use crate::backends::shm::{self, ConnectError};
use carrousel_rank::RankId;
use carrousel_transport::NetworkOut;
use std::fmt;

/// Resolves the addresses of peers.
pub(super) struct AddressResolver {
    look_up: LookUp,
    /// Says which peers are on this node, where it is not the same for all ranks that shared memory could serve.
    names: Option<Names>,
    /// Why there is no transport to other nodes, if there is none.
    why_near: Option<String>,
}

impl AddressResolver {
    pub(super) fn new(look_up: LookUp, names: Option<Names>, why_near: Option<String>) -> Self {
        Self { look_up, names, why_near }
    }

    /// Why there is no network, if there is a reason.
    pub(super) fn why_near(&self) -> Option<&str> {
        self.why_near.as_deref()
    }

    /// Whether a peer is reached by shared memory.
    fn is_near(&self, rank: RankId, transports: &Transports<'_>) -> bool {
        transports.shm.serves(rank) && self.names.as_ref().is_none_or(|names| names.is_near(rank))
    }

    /// The error for a peer that no transport leads to.
    pub(super) fn unreachable(&self, rank: RankId) -> Error {
        let none = "there is no transport between nodes";
        Error::Unreachable { rank: rank.0, why: self.why_near.clone().unwrap_or_else(|| none.to_owned()) }
    }

    /// Connects to `rank`. False if that is not possible: then the rank is lost, and `errors` has the reason.
    #[cold]
    pub(super) fn connect(
        &mut self,
        rank: RankId,
        transports: &mut Transports<'_>,
        errors: &mut FirstErrors,
    ) -> bool {
        match self.try_connect(rank, transports) {
            Ok(()) => true,
            Err(error) => {
                errors.with(rank, error);
                transports.abandon(rank);
                false
            }
        }
    }

    /// Watches `rank`, so that its end is noticed. A peer of this node is watched without a connection, which would take
    /// memory; a peer of another node is connected. Failures are as for [`AddressResolver::connect`].
    #[cold]
    pub(super) fn watch(&mut self, rank: RankId, transports: &mut Transports<'_>, errors: &mut FirstErrors) {
        if !self.is_near(rank, transports) {
            self.connect(rank, transports, errors);
            return;
        }
        let watch = |addresses: String| {
            let (shm, _) = split(&addresses);
            let address: shm::Address = shm.parse().map_err(|error| refused(rank, &error))?;
            transports.shm.watch(rank, &address).map_err(|error| unconnected(rank, &error))
        };
        if let Err(error) = (self.look_up)(rank).and_then(watch) {
            errors.with(rank, error);
            transports.abandon(rank);
        }
    }

    fn try_connect(&mut self, rank: RankId, transports: &mut Transports<'_>) -> Result<(), Error> {
        let addresses = (self.look_up)(rank)?;
        let (shm, net) = split(&addresses);
        let fail = |error: &dyn fmt::Display| refused(rank, error);
        if self.is_near(rank, transports) {
            let address: shm::Address = shm.parse().map_err(|error: shm::AddressError| fail(&error))?;
            return transports.shm.connect(rank, &address).map_err(|error| unconnected(rank, &error));
        }
        let Some(out) = &mut transports.net else { return Err(self.unreachable(rank)) };
        if net.is_empty() {
            return Err(fail(&"it has no transport between nodes"));
        }
        out.connect(rank, net).map_err(|error| fail(&error))
    }
}

/// The two parts of a published address, see [`LookUp`].
fn split(addresses: &str) -> (&str, &str) {
    addresses.split_once(' ').unwrap_or((addresses, ""))
}

fn refused(rank: RankId, why: &dyn fmt::Display) -> Error {
    Error::Connect { rank: rank.0, why: why.to_string() }
}

/// The error for a peer of this node that cannot be connected.
fn unconnected(rank: RankId, error: &ConnectError) -> Error {
    match error {
        ConnectError::ProcessEnded(rank) => Error::PeerLost { rank: rank.0, why: None },
        shortage if shortage.is_shortage() => Error::Memory(shortage.to_string()),
        other => refused(rank, other),
    }
}

impl fmt::Debug for AddressResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AddressResolver")
    }
}
