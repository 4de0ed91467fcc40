//! What is not complete yet: closed epochs, flushes, operations, and what these fetch.

use carrousel::{Element, Error};
use carrousel_transport_sim::{self as sim, Flight, Port};
use std::cell::RefCell;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};
use zerocopy::IntoBytes;

/// A closed epoch, a flush, or an operation with a request of its own, which may not be complete. Await it; a request that
/// is dropped is waited for.
#[derive(Debug)]
#[must_use = "a request that is dropped is waited for: keep it, and await it when there is nothing else to do"]
pub struct WindowRequest {
    port: Port,
    /// Until it has ended; none if it was complete from the beginning.
    flight: Option<Flight>,
}

impl WindowRequest {
    pub(super) fn new(port: Port, flight: Option<Flight>) -> Self {
        Self { port, flight }
    }

    /// Whether it is complete (`MPI_Test`). Makes progress.
    #[track_caller]
    pub fn test(&mut self) -> impl Future<Output = bool> {
        let place = Location::caller();
        async move {
            match &self.flight {
                Some(flight) => self.port.test(flight, place).await,
                None => true,
            }
        }
    }

    /// Waits for all of these, in one call (`MPI_Waitall`).
    ///
    /// # Errors
    /// If one of them has failed.
    #[track_caller]
    pub fn wait_all(requests: Vec<Self>) -> impl Future<Output = Result<(), Error>> {
        let place = Location::caller();
        async move {
            if let Some(request) = requests.first() {
                let flights = requests.iter().filter_map(|request| request.flight.as_ref());
                request.port.wait_all(flights, place).await;
            }
            for request in requests {
                request.await?;
            }
            Ok(())
        }
    }
}

impl Future for WindowRequest {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let request = self.get_mut();
        let Some(flight) = &mut request.flight else { return Poll::Ready(Ok(())) };
        let ended = pin!(flight.end()).poll(context);
        ended.map(|ended| {
            request.flight = None;
            match ended.and_then(|ended| ended.status.failure) {
                Some(carrousel_rank::Failure::PeerLost(rank)) => {
                    Err(Error::PeerLost { rank: rank.0, why: None })
                }
                _ => Ok(()),
            }
        })
    }
}

/// What an operation fetches: it is here when the operation's epoch is complete, or a flush that covers it.
#[derive(Debug)]
#[must_use = "an operation whose result nobody takes need not fetch it"]
pub struct Fetched<T: Element> {
    bytes: sim::Fetched,
    element: PhantomData<T>,
}

impl<T: Element> Fetched<T> {
    /// A place for the result, and its name for the operation.
    pub(super) fn new() -> (Self, sim::Fetched) {
        let bytes = Rc::new(RefCell::new(None));
        (Self { bytes: Rc::clone(&bytes), element: PhantomData }, bytes)
    }

    /// The elements.
    ///
    /// # Errors
    /// If the operation is not complete.
    pub fn take(self) -> Result<Vec<T>, Error> {
        let bytes = self.bytes.take().ok_or(Error::NotFetched)?;
        let mut elements = vec![T::new_zeroed(); bytes.len() / size_of::<T>().max(1)];
        let room = elements.as_mut_slice().as_mut_bytes();
        if room.len() == bytes.len() {
            room.copy_from_slice(&bytes);
        }
        Ok(elements)
    }

    /// The first element.
    ///
    /// # Errors
    /// If the operation is not complete.
    pub fn take_one(self) -> Result<T, Error> {
        self.take()?.into_iter().next().ok_or(Error::NotFetched)
    }
}

/// An operation with a request of its own that fetches elements (`MPI_Rget`). Awaiting it returns these.
#[derive(Debug)]
#[must_use = "a request that is dropped is waited for: keep it, and await it when there is nothing else to do"]
pub struct FetchRequest<T: Element> {
    pub(super) request: WindowRequest,
    pub(super) fetched: Option<Fetched<T>>,
}

impl<T: Element> FetchRequest<T> {
    /// Whether it is complete (`MPI_Test`). Makes progress.
    #[track_caller]
    pub fn test(&mut self) -> impl Future<Output = bool> {
        self.request.test()
    }
}

/// It is known by its name, so it may be moved.
impl<T: Element> Unpin for FetchRequest<T> {}

impl<T: Element> Future for FetchRequest<T> {
    type Output = Result<Vec<T>, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        Pin::new(&mut this.request).poll(context).map(|ended| {
            ended?;
            this.fetched.take().ok_or(Error::Ended)?.take()
        })
    }
}
