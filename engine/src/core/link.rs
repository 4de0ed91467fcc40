//! The connection to the launcher, which several parts of a rank use.

use crate::Error;
use carrousel_launch::{Client, News};
use carrousel_rank::RankId;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The connection to the launcher, if there is one and this rank has not left the job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Link(Arc<Mutex<Option<Client>>>);

impl Link {
    pub(crate) fn new(client: Option<Client>) -> Self {
        Self(Arc::new(Mutex::new(client)))
    }

    /// What a call that has panicked leaves is a connection: what is wrong with it shows when it is used.
    fn client(&self) -> MutexGuard<'_, Option<Client>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, ask: impl FnOnce(&mut Client) -> Result<T, Error>) -> Result<Option<T>, Error> {
        self.client().as_mut().map(ask).transpose()
    }

    /// What a rank has published.
    pub(crate) fn get(&self, key: &str) -> Result<Option<String>, Error> {
        Ok(self.with(|client| Ok(client.get(key)?))?.flatten())
    }

    /// Publishes something, for when all ranks have published what [`Link::publish`] waits for.
    pub(crate) fn put(&self, key: &str, value: &str) -> Result<(), Error> {
        self.with(|client| Ok(client.put(key, value)?)).map(|_| ())
    }

    /// Publishes something, and waits until all ranks have.
    pub(crate) fn publish(&self, key: &str, value: &str) -> Result<(), Error> {
        self.with(|client| {
            client.put(key, value)?;
            Ok(client.barrier()?)
        })
        .map(|_| ())
    }

    /// Waits until all ranks have come here.
    pub(crate) fn barrier(&self) -> Result<(), Error> {
        self.with(|client| Ok(client.barrier()?)).map(|_| ())
    }

    /// Tells our own launcher something; false if it is another one's job to listen, or nobody's.
    pub(crate) fn report(&self, json: &str) -> Result<bool, Error> {
        let told = self.with(|client| {
            client.report(json)?;
            Ok(client.is_watched())
        })?;
        Ok(told.unwrap_or(false))
    }

    /// The ranks that have ended since this was last called.
    pub(crate) fn lost(&self) -> Result<Vec<RankId>, Error> {
        let rank = |news: News| match news {
            News::Lost { rank, .. } => Some(RankId(rank)),
            _ => None,
        };
        let news = self.with(|client| Ok(client.news()?))?.unwrap_or_default();
        Ok(news.into_iter().filter_map(rank).collect())
    }

    /// Leaves the job.
    pub(crate) fn finalize(&self) -> Result<(), Error> {
        match self.client().take() {
            Some(client) => Ok(client.finalize()?),
            None => Ok(()),
        }
    }

    /// Ends the job.
    pub(crate) fn abort(&self, code: i32, message: &str) -> Result<(), Error> {
        self.with(|client| Ok(client.abort(code, message)?)).map(|_| ())
    }
}
