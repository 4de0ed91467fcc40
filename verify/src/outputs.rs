//! The outputs of a rank, until they are performed.

use carrousel_rank::{Sink, Work};
use smallvec::SmallVec;

/// Outputs of one input.
#[derive(Default)]
pub(crate) struct Outputs {
    pub(crate) work: SmallVec<[Work; 4]>,
    pub(crate) decline: bool,
}

impl Sink for Outputs {
    fn work(&mut self, work: Work) {
        self.work.push(work);
    }

    fn agree_to_write(&mut self) -> bool {
        !self.decline
    }
}
