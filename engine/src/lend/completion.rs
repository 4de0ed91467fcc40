//! Waiting for one of several requests, or for all of them, and awaiting one.

use super::completable::Completable;
use super::request::Request;
use super::scope::ScopedRequest;
use crate::endpoint::{Awaited, WaitStrategy};
use crate::{CallSite, Element, Error, Status};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// A [`Request`] or a [`ScopedRequest`]: what [`wait_any`] and [`wait_all`] wait for.
#[expect(private_bounds, reason = "requests are the library's: nobody else makes them")]
pub trait Outstanding: Completable<Outcome = <Self as Outstanding>::Output> {
    /// What its `wait` returns.
    type Output;
}

impl<T: Element> Outstanding for Request<T> {
    type Output = (Vec<T>, Option<Status>);
}

impl Outstanding for ScopedRequest<'_> {
    type Output = Option<Status>;
}

/// Waits until one of these requests is complete (`MPI_Waitany`), and takes it out of the list: returns the
/// place where it was, and what its `wait` would have returned. The others keep their order. `None` if
/// there are none. It takes time in proportion to the list: see [`wait_some`].
#[track_caller]
pub fn wait_any<R: Outstanding>(requests: &mut Vec<R>) -> Option<(usize, Result<R::Output, Error>)> {
    let site = CallSite::caller();
    let mut strategy: Option<WaitStrategy> = None;
    let mut turn = 0;
    loop {
        let complete = (0..).zip(requests.iter_mut()).find_map(|(at, request)| Some((at, request.finish()?)));
        if let Some((at, outcome)) = complete {
            // Ended: dropping it does nothing.
            drop(requests.remove(at));
            return Some((at, outcome));
        }
        if requests.is_empty() {
            return None;
        }
        turn = move_messages(requests, turn, &mut strategy, site);
    }
}

/// Waits until at least one of these requests is complete (`MPI_Waitsome`), and takes all that are out of the list: each
/// with the place where it was, and what its `wait` would have returned, in the order of the list, which the others keep.
/// Empty if there are none. Where thousands of requests are open, this looks at the list once for many of them, and
/// [`wait_any`] for each.
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

/// Lets messages move. Requests of different ranks can be in one list; each rank has its turn: that of the next call is
/// returned.
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
            endpoint.progress_or_wait(strategy, Awaited::Any, site);
        });
    }
    turn
}

/// Waits until all of these requests are complete (`MPI_Waitall`), whatever becomes of each, and returns
/// what their `wait` would have returned, in their order.
///
/// # Errors
/// The first error of a request, in their order. All have ended then, too; where each result matters, wait for
/// each, or use [`wait_any`].
#[track_caller]
pub fn wait_all<R: Outstanding>(requests: impl IntoIterator<Item = R>) -> Result<Vec<R::Output>, Error> {
    let site = CallSite::caller();
    let ended: Vec<_> = requests.into_iter().map(|request| request.wait_and_end(site)).collect();
    ended.into_iter().collect()
}

/// A request may be awaited: what comes is what [`Request::wait`] returns.
///
/// Messages move while it is polled, and only then, so it has to be polled until it is complete: it asks for
/// that by waking its task each time, and any executor will do. [`block_on`] is the least of them.
impl<T: Element> Future for Request<T> {
    type Output = Result<(Vec<T>, Option<Status>), Error>;

    // Of `request.await` the caller is that very expression.
    #[track_caller]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().poll_at(context, CallSite::caller())
    }
}

/// It is its handle that matters, not where it stands.
impl<T: Element> Unpin for Request<T> {}

/// Set by whoever wakes a task.
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// Runs a future to its end in this thread, which looks for messages as it does in a call that waits.
///
/// A future that waits for something else may be woken by another thread; this thread offers the processor to
/// others until then.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let flag = Arc::new(Flag(AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&flag));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        while !flag.0.swap(false, Ordering::Acquire) {
            std::thread::yield_now();
        }
    }
}
