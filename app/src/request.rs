//! Messages on their way.

use carrousel::{CallSite, Element, Error, Status};
use carrousel_rank::{Failure, mpi};
use carrousel_transport_sim::{Ended, Flight, Port};
use std::future::Future;
use std::panic::Location;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use zerocopy::IntoBytes;

/// A message on its way, and its buffer. Awaiting it returns the buffer, and the status of the message, if this is a
/// receive that got one. A receive that was cancelled got none.
///
/// Awaiting it fails if the message was too long for the buffer, or the peer is gone; the buffer is gone then, too. A
/// request that is dropped before its end is waited for; a receive without a message is cancelled first.
#[derive(Debug)]
#[must_use = "a request that is dropped is waited for: keep it, and await it when there is nothing else to do"]
pub struct Request<T: Element>(RequestKind<T>);

#[derive(Debug)]
enum RequestKind<T: Element> {
    Real(carrousel::Request<T>),
    /// The buffer is here until the request has ended.
    Simulated(Port, Flight, Option<Vec<T>>),
}

/// A request is known by its name, so it may be moved.
impl<T: Element> Unpin for Request<T> {}

impl<T: Element> Request<T> {
    pub(crate) fn real(request: carrousel::Request<T>) -> Self {
        Self(RequestKind::Real(request))
    }

    pub(crate) fn simulated(port: Port, flight: Flight, buffer: Vec<T>) -> Self {
        Self(RequestKind::Simulated(port, flight, Some(buffer)))
    }

    /// Whether it is complete (`MPI_Test`). Makes progress.
    #[track_caller]
    pub fn test(&mut self) -> impl Future<Output = bool> {
        let place = Location::caller();
        async move {
            match &mut self.0 {
                RequestKind::Real(request) => request.test(),
                RequestKind::Simulated(port, flight, _) => port.test(flight, place).await,
            }
        }
    }

    /// Asks for a receive to be cancelled (`MPI_Cancel`): it is complete soon, with a message or without. A send is
    /// not changed.
    #[track_caller]
    pub fn cancel(&mut self) -> impl Future<Output = ()> {
        let place = Location::caller();
        async move {
            match &mut self.0 {
                RequestKind::Real(request) => request.cancel_at(CallSite::Source(place)),
                RequestKind::Simulated(port, flight, _) => port.cancel(flight, place).await,
            }
        }
    }

    /// Its name in the simulation, if it is simulated.
    pub(crate) fn flight(&self) -> Option<(&Port, &Flight)> {
        match &self.0 {
            RequestKind::Real(_) => None,
            RequestKind::Simulated(port, flight, _) => Some((port, flight)),
        }
    }
}

impl<T: Element> Future for Request<T> {
    type Output = Result<(Vec<T>, Option<Status>), Error>;

    // The caller of `request.await` is that expression itself.
    #[track_caller]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().poll_at(context, Location::caller())
    }
}

impl<T: Element> Request<T> {
    /// One poll for the task that awaits it at `place`.
    pub(crate) fn poll_at(
        &mut self,
        context: &mut Context<'_>,
        place: &'static Location<'static>,
    ) -> Poll<<Self as Future>::Output> {
        match &mut self.0 {
            RequestKind::Real(request) => request.poll_at(context, CallSite::Source(place)),
            RequestKind::Simulated(_, flight, buffer) => pin!(flight.end()).poll(context).map(|ended| {
                let ended: Ended = ended.ok_or(Error::Ended)?;
                let mut buffer = buffer.take().ok_or(Error::Ended)?;
                let status = received(&ended, &mut buffer)?;
                Ok((buffer, status))
            }),
        }
    }
}

/// The status of a request that has ended. Copies its bytes to the beginning of `buffer`.
pub(crate) fn received<T: Element>(ended: &Ended, buffer: &mut [T]) -> Result<Option<Status>, Error> {
    let Ended { status, bytes } = ended;
    match status.failure {
        None => {}
        Some(Failure::Cancelled) => return Ok(None),
        Some(Failure::Truncated { sent }) => {
            return Err(Error::Truncated { sent, room: status.len, call: None });
        }
        Some(Failure::PeerLost(rank)) => return Err(Error::PeerLost { rank: rank.0, why: None }),
    }
    let Some((source, tag)) = status.message else { return Ok(None) };
    let len = status.len as usize;
    if let (Some(into), Some(from)) = (buffer.as_mut_bytes().get_mut(..len), bytes.get(..len)) {
        into.copy_from_slice(from);
    }
    Ok(Some(Status { source: source.0, tag: mpi::number(tag), bytes: status.len }))
}
