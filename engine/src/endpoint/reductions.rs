//! The operations of reductions that are under way, each by its request.

use carrousel_rank::Handle;
use std::sync::Arc;

/// The operation of a reduction (MPI-4.1, 6.9): it replaces the first bytes by the combination of both. It is associative
/// and commutative.
pub type ReduceOp = Arc<dyn Fn(&mut [u8], &[u8]) + Send + Sync>;

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

    #[test]
    fn each_request_has_the_operation_that_it_was_started_with() {
        let op = |add: u8| -> Option<ReduceOp> {
            Some(Arc::new(move |into: &mut [u8], from: &[u8]| into[0] += add * from[0]))
        };
        let handle = |index| Handle { index, generation: 0 };
        let combined = |reductions: &Reductions, request| {
            let mut into = [0];
            reductions.of(handle(request)).map(|op| op(&mut into, &[1]))?;
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
}
