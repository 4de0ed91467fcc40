//! Waiting for one of several requests, or for all of them.

use crate::request::Request;
use carrousel::{Element, Error, Status};
use carrousel_transport_sim::Flight;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::task::Poll;

/// The result of a request: its buffer, and the status of the message, if it is a receive that got one.
type Got<T> = (Vec<T>, Option<Status>);

/// Waits until one of these requests is complete (`MPI_Waitany`), and removes it from the list. Returns its index
/// there, and the result of awaiting it; `None` if the list is empty. The others keep their order.
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

/// Waits until all of these requests are complete (`MPI_Waitall`), whether or not they succeed, and returns the
/// results of awaiting them, in their order.
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
