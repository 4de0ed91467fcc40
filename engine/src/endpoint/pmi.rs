//! The connection to the launcher by PMI-1, which several parts of a rank share.

use crate::Error;
use carrousel_launch::{Client, Ending, PeerEvent};
use carrousel_rank::RankId;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The connection to the launcher, if there is one and this rank has not left the job.
#[derive(Clone, Debug, Default)]
pub struct PmiConnection(Arc<Mutex<Option<Client>>>);

impl PmiConnection {
    /// The connection of this process; `None` for a process that no launcher has started.
    pub fn new(client: Option<Client>) -> Self {
        Self(Arc::new(Mutex::new(client)))
    }

    /// A panic during a call leaves a connection whose next use shows what is wrong with it.
    fn client(&self) -> MutexGuard<'_, Option<Client>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, ask: impl FnOnce(&mut Client) -> Result<T, Error>) -> Result<Option<T>, Error> {
        self.client().as_mut().map(ask).transpose()
    }

    /// The value that a rank has published under `key`.
    pub fn get(&self, key: &str) -> Result<Option<String>, Error> {
        Ok(self.with(|client| Ok(client.get(key)?))?.flatten())
    }

    /// Publishes a value, which the others see after the next [`PmiConnection::publish`].
    pub fn put(&self, key: &str, value: &str) -> Result<(), Error> {
        self.with(|client| Ok(client.put(key, value)?)).map(|_| ())
    }

    /// Publishes a value, and waits until all ranks have published theirs.
    pub fn publish(&self, key: &str, value: &str) -> Result<(), Error> {
        self.with(|client| {
            client.put(key, value)?;
            Ok(client.barrier()?)
        })
        .map(|_| ())
    }

    /// Waits until all ranks have called this.
    pub fn barrier(&self) -> Result<(), Error> {
        self.with(|client| Ok(client.barrier()?)).map(|_| ())
    }

    /// Sends a report to the launcher; false if it is not ours, and does not understand reports.
    pub fn report(&self, json: &str) -> Result<bool, Error> {
        let told = self.with(|client| {
            client.report(json)?;
            Ok(client.is_watched())
        })?;
        Ok(told.unwrap_or(false))
    }

    /// The ranks that were lost since this was last called, each with whether its process goes on without it.
    pub fn lost(&self) -> Result<Vec<(RankId, bool)>, Error> {
        let rank = |event: PeerEvent| match event {
            PeerEvent::Lost { rank, how } => Some((RankId(rank), matches!(how, Ending::Disconnected { .. }))),
            _ => None,
        };
        let events = self.with(|client| Ok(client.peer_events()?))?.unwrap_or_default();
        Ok(events.into_iter().filter_map(rank).collect())
    }

    /// Why a rank is lost, as far as the launcher has told: that another one was lost before it, which is the cause, most
    /// likely; or that its process goes on without it.
    pub(super) fn cause_of_loss(&self, rank: RankId) -> Option<String> {
        match self.client().as_mut()?.first_lost()? {
            (first, ending) if first != rank.0 => Some(format!("before, rank {first} {ending}")),
            (_, ending @ Ending::Disconnected { .. }) => Some(format!("it {ending}")),
            _ => None,
        }
    }

    /// Tells the launcher that this rank lets go of what its peers use, if it has not left the job.
    pub(super) fn leave(&self) {
        // A launcher that cannot be told sees the end of the process.
        let _ = self.with(|client| Ok(client.leave()?));
    }

    /// Leaves the job.
    pub fn finalize(&self) -> Result<(), Error> {
        match self.client().take() {
            Some(client) => Ok(client.finalize()?),
            None => Ok(()),
        }
    }

    /// Ends the job.
    pub fn abort(&self, code: i32, message: &str) -> Result<(), Error> {
        self.with(|client| Ok(client.abort(code, message)?)).map(|_| ())
    }
}
