//! The handlers of arrivals, one for each transport: what follows from an arrival may go out by either of them.

use super::driver::Driver;
use super::registry::Registry;
use super::transports::Transports;
use crate::backends::{AnyNetworkOut, NetworkHandler, shm};
use carrousel_transport::{Arrival, Handler, Payload};

/// Handles arrivals from the ranks of this node.
pub(super) struct FromShm<'a> {
    pub(super) driver: &'a mut Driver,
    pub(super) net: Option<AnyNetworkOut<'a>>,
}

impl Handler<shm::Out> for FromShm<'_> {
    type Regions = Registry;

    #[inline]
    fn regions(&mut self) -> &mut Registry {
        self.driver.registry()
    }

    #[inline]
    fn arrival(&mut self, arrival: Arrival, payload: &(impl Payload + ?Sized), out: &mut shm::Out) {
        let transports = &mut Transports { shm: out, net: self.net.as_mut().map(AnyNetworkOut::reborrow) };
        self.driver.arrival(arrival, payload, transports);
    }
}

/// Handles arrivals from other nodes.
pub(super) struct FromNet<'a> {
    pub(super) driver: &'a mut Driver,
    pub(super) shm: &'a mut shm::Out,
}

impl NetworkHandler for FromNet<'_> {
    type Regions = Registry;

    #[inline]
    fn regions(&mut self) -> &mut Registry {
        self.driver.registry()
    }

    #[inline]
    fn arrival(&mut self, arrival: Arrival, payload: &(impl Payload + ?Sized), out: AnyNetworkOut<'_>) {
        let transports = &mut Transports { shm: self.shm, net: Some(out) };
        self.driver.arrival(arrival, payload, transports);
    }
}
