//! Receives that are complete when their call returns, and need no request: their message is here, or is the next one that
//! comes.

use super::Endpoint;
use super::arrivals::Wanted;
use super::pending::What;
use super::registry::Registry;
use super::transports::Transports;
use super::wait_strategy::WaitStep;
use crate::error::BoxedError;
use crate::site::Caller;
use carrousel_rank::{Receive, Source, Status, TagSelector, UsageError};

impl Endpoint {
    /// Receives a message that has arrived with its data, or waits for the next one to arrive from a rank of this node, and
    /// receives that. `None` if it is another one, or none comes for long: then the receive has to be started. `read` takes what
    /// the caller needs of its status.
    #[inline]
    pub fn receive_at_once<T>(
        &mut self,
        bytes: &mut [u8],
        caller: Caller<'_>,
        from: Source,
        tag: TagSelector,
        read: impl FnOnce(&Status) -> T,
    ) -> Result<Option<T>, BoxedError> {
        let (len, communicator) = (bytes.len() as u64, caller.id());
        // A larger one may be for a rendezvous, before which everything that has arrived is taken in. A receive that is
        // recorded has a request. Its call site needs none: a receive that waits for long has one.
        if len > self.eager_threshold || self.driver.is_recorded() {
            return Ok(None);
        }
        // The bytes are not lent to the library for longer than this call, so they need not be registered.
        let receive = Receive { from, tag, communicator, len, memory: Registry::NONE };
        let status = if self.driver.rank.has_unexpected() {
            match self.receive_kept(&receive, bytes) {
                Ok(status) => status,
                Err(mistake) => {
                    return Err(self.refused(mistake, &What::Receive { from, tag, len }, caller));
                }
            }
        } else {
            self.receive_next(&receive, bytes)
        };
        match status {
            None => Ok(None),
            Some(status) if status.failure.is_none() => Ok(Some(read(&status))),
            Some(status) => self.failed_receive(status, from, tag, caller).map(|status| Some(read(&status))),
        }
    }

    /// Fails as the start of a receive from this source would.
    ///
    /// # Errors
    /// If there is no such rank, or it cannot be reached.
    #[inline]
    pub fn check_receive(
        &self,
        caller: Caller<'_>,
        from: Source,
        tag: TagSelector,
    ) -> Result<(), BoxedError> {
        let refused = |mistake| self.refused(mistake, &What::Receive { from, tag, len: 0 }, caller);
        self.driver.rank.check_peer(from).map_err(refused)?;
        match from {
            Source::Rank(rank) if !self.is_reachable(rank.0) => Err(self.unreachable(rank.0)),
            _ => Ok(()),
        }
    }

    /// Receives a message that has arrived.
    #[inline]
    fn receive_kept(&mut self, receive: &Receive, room: &mut [u8]) -> Result<Option<Status>, UsageError> {
        let transports = &mut Transports::of(&mut self.node, &mut self.net);
        let status = self.driver.receive_kept(receive, room, transports)?;
        if status.is_some() {
            self.poll_seldom();
        }
        Ok(status)
    }

    /// Receives the next message.
    #[inline]
    fn receive_next(&mut self, receive: &Receive, room: &mut [u8]) -> Option<Status> {
        // Earlier receives come first; and what comes from another node is no frame of a ring.
        if self.driver.rank.has_posted() || !self.comes_from_node(receive.from) {
            return None;
        }
        let mut wanted = Wanted { receive, room, status: None };
        if self.poll_next(&mut wanted) { wanted.status } else { self.wait_for_next(wanted) }
    }

    /// Waits for the next message, which is not there yet.
    #[inline(never)]
    fn wait_for_next(&mut self, mut wanted: Wanted<'_>) -> Option<Status> {
        let mut strategy = self.strategy();
        loop {
            if self.poll_next(&mut wanted) {
                return wanted.status;
            }
            // A long wait needs a request: reports name it, and it fails with its peer.
            if strategy.empty_poll() != WaitStep::Spin {
                return None;
            }
        }
    }

    /// Whether messages of a source come from ranks of this node only.
    #[inline]
    fn comes_from_node(&self, from: Source) -> bool {
        self.net.is_none()
            || matches!(from, Source::Rank(rank) if self.neighbours.binary_search(&rank).is_ok())
    }
}
