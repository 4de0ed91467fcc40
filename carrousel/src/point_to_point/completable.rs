//! The common part of the library's requests.

use super::status::{Status, received};
use crate::Error;
use crate::shared::Shared;
use carrousel_engine::{BoxedError, CallSite};
use carrousel_rank::Handle;

/// The state of a request, as the request knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It is open: the rank knows it by this handle.
    Open(Handle),
    /// It was complete when it was started: the rank has no handle of it. It was not waited for yet.
    Sent,
    /// Its outcome has been taken.
    Ended,
}

/// The common part of the library's requests.
pub(super) trait Completable: Sized {
    /// The result of its `wait`.
    type Outcome;

    /// Its rank.
    fn shared(&self) -> &Shared;

    /// Its state.
    fn stage(&mut self) -> &mut Stage;

    /// The outcome of a request that has ended; `got` is the message, if it is a receive that got one.
    fn outcome(&mut self, got: Option<Status>) -> Self::Outcome;

    /// Whether it is complete; makes progress if it is not.
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
            Stage::Ended => return Some(Err(Error::Ended)),
        };
        Some(self.ended(got))
    }

    /// Waits for it and ends it.
    fn wait_and_end(mut self, site: CallSite) -> Result<Self::Outcome, Error> {
        let got = match *self.stage() {
            Stage::Open(handle) => self.shared().with(|endpoint| endpoint.wait(handle, site, received)),
            Stage::Sent => Ok(None),
            Stage::Ended => return Err(Error::Ended),
        };
        self.ended(got)
    }

    /// Takes the result of a request that has ended.
    fn ended(&mut self, got: Result<Option<Status>, BoxedError>) -> Result<Self::Outcome, Error> {
        *self.stage() = Stage::Ended;
        Ok(self.outcome(got?))
    }
}
