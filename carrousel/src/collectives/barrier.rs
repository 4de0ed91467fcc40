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
        if let Some(request) = self.checked_ibarrier(site)? {
            return Ok(request);
        }
        let handle = self.shared.with(|endpoint| endpoint.collective(barrier, None, Kind::Barrier, site))?;
        Ok(Request::of_nothing(self.of_request(), handle, None))
    }

    /// A non-blocking barrier that checks that all ranks have called it; `None` if `check_usage` does not ask for it.
    fn checked_ibarrier(&self, site: CallSite) -> Result<Option<Request<u8>>, Error> {
        if self.shared.read(Endpoint::check_usage) == CheckUsage::Off {
            return Ok(None);
        }
        let begin = |endpoint: &mut Endpoint| begin_agreement(endpoint, self.id(), Joint::Ibarrier, site);
        let agreement = self.shared.with(|endpoint| uninterrupted(|| begin(endpoint)))?;
        Ok(Some(Request::of_nothing(self.of_request(), agreement.request, Some(Box::new(agreement)))))
    }
}
