//! Waiting for one of several requests, or for all of them, and awaiting one.

use super::completable::Completable;
use super::request::Request;
use super::scope::ScopedRequest;
use super::status::Status;
use crate::{Element, Error};
use carrousel_engine::{Awaited, CallSite, WaitStrategy};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A [`Request`] or a [`ScopedRequest`]: what [`wait_any`] and [`wait_all`] wait for.
#[expect(private_bounds, reason = "requests are the library's: nobody else makes them")]
pub trait Outstanding: Completable<Outcome = <Self as Outstanding>::Output> {
    /// The result of its `wait`.
    type Output;
}

impl<T: Element> Outstanding for Request<T> {
    type Output = (Vec<T>, Option<Status>);
}

impl Outstanding for ScopedRequest<'_> {
    type Output = Option<Status>;
}

/// Waits until one of these requests is complete (`MPI_Waitany`), and removes it from the list. Returns its index
/// there, and the result of its `wait`; `None` if the list is empty. The others keep their order. The time is linear
/// in the list's length: see [`wait_some`].
#[track_caller]
pub fn wait_any<R: Outstanding>(requests: &mut Vec<R>) -> Option<(usize, Result<R::Output, Error>)> {
    let site = CallSite::caller();
    let mut strategy: Option<WaitStrategy> = None;
    let mut turn = 0;
    loop {
        let complete = (0..).zip(requests.iter_mut()).find_map(|(at, request)| Some((at, request.finish()?)));
        if let Some((at, outcome)) = complete {
            // The request has ended: dropping it does nothing.
            drop(requests.remove(at));
            return Some((at, outcome));
        }
        if requests.is_empty() {
            return None;
        }
        turn = move_messages(requests, turn, &mut strategy, site);
    }
}

/// Waits until at least one of these requests is complete (`MPI_Waitsome`), and removes all complete ones from the
/// list. Returns each with its index there and the result of its `wait`, in the order of the list; an empty result if
/// the list is empty. The others keep their order. If thousands of requests are open, this passes over the list once
/// for many of them, [`wait_any`] once for each.
#[track_caller]
pub fn wait_some<R: Outstanding>(requests: &mut Vec<R>) -> Vec<(usize, Result<R::Output, Error>)> {
    let site = CallSite::caller();
    let mut strategy: Option<WaitStrategy> = None;
    let mut turn = 0;
    loop {
        let (mut complete, mut at) = (Vec::new(), 0);
        requests.retain_mut(|request| {
            let outcome = request.finish();
            let is_open = outcome.is_none();
            complete.extend(outcome.map(|outcome| (at, outcome)));
            at += 1;
            is_open
        });
        if !complete.is_empty() || requests.is_empty() {
            return complete;
        }
        turn = move_messages(requests, turn, &mut strategy, site);
    }
}

/// Makes progress. Requests of different ranks can be in one list, so each call gives the next request's rank a turn;
/// returns the turn after it.
fn move_messages<R: Outstanding>(
    requests: &[R],
    turn: usize,
    strategy: &mut Option<WaitStrategy>,
    site: CallSite,
) -> usize {
    let turn = if turn + 1 < requests.len() { turn + 1 } else { 0 };
    if let Some(request) = requests.get(turn) {
        request.shared().with(|endpoint| {
            let strategy = strategy.get_or_insert_with(|| endpoint.strategy());
            endpoint.poll_or_block(strategy, Awaited::Any, site);
        });
    }
    turn
}

/// Waits until all of these requests are complete (`MPI_Waitall`), whether or not they succeed, and returns the
/// results of their `wait`, in their order.
///
/// # Errors
/// The first error of a request, in their order; all requests have ended then, too. Where each result matters, wait for
/// each, or use [`wait_any`].
#[track_caller]
pub fn wait_all<R: Outstanding>(requests: impl IntoIterator<Item = R>) -> Result<Vec<R::Output>, Error> {
    let site = CallSite::caller();
    let ended: Vec<_> = requests.into_iter().map(|request| request.wait_and_end(site)).collect();
    ended.into_iter().collect()
}

/// A request may be awaited: its output is what [`Request::wait`] returns.
///
/// Progress happens only while it is polled, so it wakes its task each time until it is complete. Any executor will do;
/// [`block_on`] is the smallest one.
impl<T: Element> Future for Request<T> {
    type Output = Result<(Vec<T>, Option<Status>), Error>;

    // The caller of `request.await` is that expression itself.
    #[track_caller]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().poll_at(context, CallSite::caller())
    }
}

/// The library knows a request by its handle, so it may be moved.
impl<T: Element> Unpin for Request<T> {}

/// Runs a future to its end in this thread, with the same progress as in a call that waits.
///
/// A future that waits for something else may be woken by another thread; until then this thread sleeps.
pub fn block_on<F: Future>(future: F) -> F::Output {
    pollster::block_on(future)
}
