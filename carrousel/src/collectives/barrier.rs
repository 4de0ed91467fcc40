//! Non-blocking barriers.

use super::agreement::begin_agreement;
use crate::uninterrupted::uninterrupted;
use crate::usage::Joint;
use crate::{CallSite, Communicator, Error, Request};
use carrousel_engine::Endpoint;
use carrousel_options::CheckUsage;
use carrousel_rank::{Collective, Kind};

impl Communicator {
    /// Enters a barrier without waiting (`MPI_Ibarrier`): the request is complete when all ranks have entered.
    ///
    /// # Errors
    /// When a rank cannot be reached.
    #[track_caller]
    pub fn ibarrier(&self) -> Result<Request<u8>, Error> {
        let (site, barrier) = (self.site(), Collective::barrier(self.id()));
        let unchecked = self.shared.with(|endpoint| match endpoint.check_usage() {
            CheckUsage::Off => endpoint.collective(barrier, None, Kind::Barrier, site).map(Some),
            _ => Ok(None),
        });
        match unchecked? {
            Some(handle) => Ok(Request::of_nothing(self.of_request(), handle, None)),
            None => self.checked_ibarrier(site),
        }
    }

    /// A non-blocking barrier that checks that all ranks have called it, as `check_usage` asks for.
    fn checked_ibarrier(&self, site: CallSite) -> Result<Request<u8>, Error> {
        let begin = |endpoint: &mut Endpoint| begin_agreement(endpoint, self.id(), Joint::Ibarrier, site);
        let agreement = self.shared.with(|endpoint| uninterrupted(|| begin(endpoint)))?;
        Ok(Request::of_nothing(self.of_request(), agreement.request, Some(Box::new(agreement))))
    }
}
