//! Waiting for one of several requests, or for all of them.

use crate::request::Request;
use carrousel::{Element, Error, Status};
use carrousel_transport_sim::Flight;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::task::Poll;

/// What comes of a request: its buffer, and what has been received, if it is a receive that got a message.
type Got<T> = (Vec<T>, Option<Status>);

/// Waits until one of these requests is complete (`MPI_Waitany`), and takes it out of the list: returns the
/// place where it was, and what awaiting it would have returned. The others keep their order. `None` if there
/// are none.
#[track_caller]
pub fn wait_any<T: Element>(
    requests: &mut Vec<Request<T>>,
) -> impl Future<Output = Option<(usize, Result<Got<T>, Error>)>> {
    let place = Location::caller();
    async move {
        if requests.is_empty() {
            return None;
        }
        let (at, outcome) = poll_fn(|context| {
            let polled = (0..).zip(requests.iter_mut()).find_map(|(at, request)| {
                match request.poll_at(context, place) {
                    Poll::Ready(outcome) => Some((at, outcome)),
                    Poll::Pending => None,
                }
            });
            polled.map_or(Poll::Pending, Poll::Ready)
        })
        .await;
        drop(requests.remove(at));
        Some((at, outcome))
    }
}

/// Waits until all of these requests are complete (`MPI_Waitall`), whatever becomes of each, and returns what
/// awaiting each would have returned, in their order.
///
/// # Errors
/// The first error of a request, in their order. All have ended then, too.
#[track_caller]
pub fn wait_all<T: Element>(
    requests: impl IntoIterator<Item = Request<T>>,
) -> impl Future<Output = Result<Vec<Got<T>>, Error>> {
    let place = Location::caller();
    let requests: Vec<Request<T>> = requests.into_iter().collect();
    async move {
        if let Some((port, _)) = requests.first().and_then(Request::flight) {
            let flights: Vec<&Flight> =
                requests.iter().filter_map(Request::flight).map(|(_, flight)| flight).collect();
            port.wait_all(flights, place).await;
        }
        let mut ended = Vec::with_capacity(requests.len());
        for mut request in requests {
            ended.push(poll_fn(|context| request.poll_at(context, place)).await);
        }
        ended.into_iter().collect()
    }
}
