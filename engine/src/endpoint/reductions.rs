//! The operations of reductions that are under way, each by its request.
#![allow(unsafe_code, reason = "a function without bytes is called without its value")]

use carrousel_rank::Handle;
use std::ptr::NonNull;
use std::sync::Arc;

/// The operation of a reduction (MPI-4.1, 6.9): it replaces the first bytes by the combination of both. It is associative
/// and commutative.
#[derive(Clone)]
pub struct ReduceOp(Op);

/// An operation whose state only it knows.
type Captured = dyn Fn(&mut [u8], &[u8]) + Send + Sync;

#[derive(Clone)]
enum Op {
    /// A function without state, as most sums are. Allocating memory for one, and releasing it, would be a tenth of the
    /// instructions of a small allreduce.
    Bare(fn(&mut [u8], &[u8])),
    Captured(Arc<Captured>),
}

impl ReduceOp {
    /// The operation that this function is.
    pub fn new<F: Fn(&mut [u8], &[u8]) + Send + Sync + 'static>(op: F) -> Self {
        if size_of::<F>() > 0 || std::mem::needs_drop::<F>() {
            return Self(Op::Captured(Arc::new(op)));
        }
        std::mem::forget(op);
        Self(Op::Bare(|into, from| {
            // SAFETY: a value without bytes is at every aligned address. There is one of this type: `op`, which was not dropped,
            // and of which there are only shared references, in any thread as it is `Sync`.
            // Noticed by: the test below, under Miri.
            let op = unsafe { NonNull::<F>::dangling().as_ref() };
            op(into, from);
        }))
    }

    /// Replaces `into` by the combination of both.
    #[inline]
    pub fn combine(&self, into: &mut [u8], from: &[u8]) {
        match &self.0 {
            Op::Bare(op) => op(into, from),
            Op::Captured(op) => op(into, from),
        }
    }
}

/// The operations of all collectives that are under way and have one.
#[derive(Default)]
pub(super) struct Reductions {
    open: Vec<(Handle, ReduceOp)>,
    /// The operation of the collective that is being started: it may combine data before its request has a name.
    starting: Option<ReduceOp>,
}

impl Reductions {
    /// A collective with this operation is about to start.
    pub(super) fn start(&mut self, op: Option<ReduceOp>) {
        self.starting = op;
    }

    /// It has started, or has failed to.
    pub(super) fn started(&mut self, request: Option<Handle>) {
        self.open.extend(request.zip(self.starting.take()));
    }

    /// A collective has ended.
    pub(super) fn end(&mut self, request: Handle) {
        self.open.retain(|(open, _)| *open != request);
    }

    /// The operation of a request.
    pub(super) fn of(&self, request: Handle) -> Option<&ReduceOp> {
        let open = self.open.iter().find(|(open, _)| *open == request).map(|(_, op)| op);
        open.or(self.starting.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn each_request_has_the_operation_that_it_was_started_with() {
        let op = |add: u8| -> Option<ReduceOp> {
            Some(ReduceOp::new(move |into: &mut [u8], from: &[u8]| into[0] += add * from[0]))
        };
        let handle = |index| Handle { index, generation: 0 };
        let combined = |reductions: &Reductions, request| {
            let mut into = [0];
            reductions.of(handle(request)).map(|op| op.combine(&mut into, &[1]))?;
            Some(into[0])
        };
        let mut reductions = Reductions::default();
        reductions.start(op(1));
        assert_eq!(combined(&reductions, 7), Some(1), "its name is not known yet");
        reductions.started(Some(handle(7)));
        reductions.start(op(2));
        assert_eq!((combined(&reductions, 7), combined(&reductions, 8)), (Some(1), Some(2)));
        reductions.started(Some(handle(8)));
        reductions.end(handle(7));
        assert_eq!((combined(&reductions, 7), combined(&reductions, 8)), (None, Some(2)));
        // A collective that could not be started leaves nothing.
        reductions.start(op(3));
        reductions.started(None);
        assert_eq!(combined(&reductions, 9), None);
    }

    #[test]
    fn an_operation_that_has_captured_nothing_and_one_that_has_are_called_alike() {
        let bare = ReduceOp::new(|into: &mut [u8], from: &[u8]| into[0] += from[0]);
        let times = Arc::new(3);
        let held = Arc::clone(&times);
        let captured = ReduceOp::new(move |into: &mut [u8], from: &[u8]| into[0] += *held * from[0]);
        assert!(matches!((&bare.0, &captured.0), (Op::Bare(_), Op::Captured(_))));
        let mut into = [1];
        for op in [&bare, &captured, &bare.clone(), &captured.clone()] {
            op.combine(&mut into, &[2]);
        }
        assert_eq!(into, [1 + 2 + 6 + 2 + 6]);
        drop((bare, captured));
        assert_eq!(Arc::strong_count(&times), 1, "what was captured is dropped with the operation");
    }

    #[test]
    fn what_has_no_bytes_and_is_dropped_is_dropped_with_the_operation() {
        static DROPPED: AtomicU32 = AtomicU32::new(0);
        struct Token;
        impl Drop for Token {
            fn drop(&mut self) {
                DROPPED.fetch_add(1, Ordering::Relaxed);
            }
        }
        let token = Token;
        let op = ReduceOp::new(move |into: &mut [u8], _: &[u8]| {
            let _held = &token;
            into[0] = 9;
        });
        let mut into = [0];
        op.clone().combine(&mut into, &[0]);
        assert_eq!((into[0], DROPPED.load(Ordering::Relaxed)), (9, 0));
        drop(op);
        assert_eq!(DROPPED.load(Ordering::Relaxed), 1);
    }
}
