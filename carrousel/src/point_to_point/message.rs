//! Messages that are claimed before they are received (MPI-4.1, 3.8.2 and 3.8.3).

use super::blocking;
use super::request::Request;
use super::status::{Source, Status};
use super::tags::Tag;
use crate::{Communicator, Element, Error};
use carrousel_engine::ClaimedMessage;
use carrousel_rank::Handle;
use zerocopy::IntoBytes;

/// A message that was claimed (`MPI_Message`): no other receive gets it, and the next message of its sender can be
/// received before it.
///
/// A message that is dropped is discarded: its sender goes on as if it had been received.
#[derive(Debug)]
#[must_use = "a message that is dropped is lost: receive it"]
pub struct Message {
    communicator: Communicator,
    /// The request that has claimed it, until its receive has begun.
    request: Option<Handle>,
    status: Status,
}

impl Communicator {
    /// Waits for a message that such a receive would get, and claims it (`MPI_Mprobe`). The buffer can be made as long as
    /// the message, and no other thread or library of this rank receives it meanwhile.
    ///
    /// ```no_run
    /// # let job = carrousel::init()?;
    /// # let world = job.world();
    /// let message = world.mprobe(carrousel::Any, 7)?;
    /// let mut values = vec![0.0f64; message.status().count::<f64>()?];
    /// message.recv(&mut values)?;
    /// # Ok::<(), carrousel::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Communicator::probe`].
    #[track_caller]
    pub fn mprobe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Message, Error> {
        let caller = self.caller();
        let (from, tag) = self.wanted(caller, "probe", from, tag)?;
        let claimed = self.shared.with(|endpoint| endpoint.wait_to_claim(caller, from, tag));
        Ok(self.message(claimed?))
    }

    /// Claims a message if such a message can be received now (`MPI_Improbe`). Makes progress.
    ///
    /// # Errors
    /// As [`Communicator::iprobe`].
    #[track_caller]
    pub fn improbe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Option<Message>, Error> {
        let caller = self.caller();
        let (from, tag) = self.wanted(caller, "probe", from, tag)?;
        let claimed = self.shared.with(|endpoint| endpoint.claim_now(caller, from, tag))?;
        Ok(claimed.map(|claimed| self.message(claimed)))
    }

    fn message(&self, claimed: ClaimedMessage) -> Message {
        let status = self.with_comm_rank(claimed.found.into());
        Message { communicator: self.of_request(), request: Some(claimed.request), status }
    }
}

impl Message {
    /// Its sender, tag and length.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Receives it into the beginning of `buffer` (`MPI_Mrecv`).
    ///
    /// # Errors
    /// When it is longer than the buffer, or the peer is gone.
    #[track_caller]
    pub fn recv<T: Element>(mut self, buffer: &mut [T]) -> Result<Status, Error> {
        let request = self.request.take().ok_or(Error::Ended)?;
        let (bytes, caller) = (buffer.as_mut_bytes(), self.communicator.caller());
        let got = self
            .communicator
            .shared
            .with(|endpoint| blocking::receive_claimed(endpoint, bytes, caller, request));
        Ok(self.communicator.with_comm_rank(got?))
    }

    /// Starts to receive it into `buffer` (`MPI_Imrecv`), which comes back from [`Request::wait`].
    ///
    /// # Errors
    /// When the message has ended. What goes wrong with it later is an error of the request.
    #[track_caller]
    pub fn irecv<T: Element>(mut self, buffer: Vec<T>) -> Result<Request<T>, Error> {
        let request = self.request.take().ok_or(Error::Ended)?;
        self.communicator.receive_claimed(buffer, request)
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        if let Some(request) = self.request {
            // There is nobody to return an error to.
            let _ = self.communicator.shared.with(|endpoint| {
                let site = endpoint.started_at(request);
                endpoint.discard(request, site)
            });
        }
    }
}
