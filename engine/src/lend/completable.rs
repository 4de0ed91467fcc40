//! What the requests of this library have in common.

use crate::error::BoxedError;
use crate::shared::{Shared, received};
use crate::{CallSite, Error, Status};
use carrousel_rank::Handle;

/// How far a request is, as far as it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The rank knows it under this name.
    Open(Handle),
    /// It was complete when it was started, and the rank knows it no more; nobody has waited for it.
    Sent,
    /// Its outcome has been taken.
    Ended,
}

/// What the requests of this library have in common.
pub(super) trait Completable: Sized {
    /// What it comes to.
    type Outcome;

    /// Its rank.
    fn shared(&self) -> &Shared;

    /// How far it is.
    fn stage(&mut self) -> &mut Stage;

    /// It has ended, and got this, if it is a receive.
    fn outcome(&mut self, got: Option<Status>) -> Self::Outcome;

    /// Whether it is complete; lets messages move if it is not.
    fn is_complete(&mut self) -> bool {
        match *self.stage() {
            Stage::Open(handle) => self.shared().with(|endpoint| endpoint.test(handle)),
            Stage::Sent | Stage::Ended => true,
        }
    }

    /// Ends it, if it is complete.
    fn finish(&mut self) -> Option<Result<Self::Outcome, Error>> {
        let got = match *self.stage() {
            Stage::Open(handle) => self.shared().with(|endpoint| endpoint.finish(handle, received))?,
            Stage::Sent => Ok(None),
            Stage::Ended => Err(Error::Ended.into()),
        };
        Some(self.ended(got))
    }

    /// Waits for it and ends it.
    fn wait_and_end(mut self, site: CallSite) -> Result<Self::Outcome, Error> {
        let got = match *self.stage() {
            Stage::Open(handle) => self.shared().with(|endpoint| endpoint.wait(handle, site, received)),
            Stage::Sent => Ok(None),
            Stage::Ended => Err(Error::Ended.into()),
        };
        self.ended(got)
    }

    /// It has ended so.
    fn ended(&mut self, got: Result<Option<Status>, BoxedError>) -> Result<Self::Outcome, Error> {
        *self.stage() = Stage::Ended;
        Ok(self.outcome(got?))
    }
}
