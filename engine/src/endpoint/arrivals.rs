//! The handlers of arrivals, one for each transport: what follows from an arrival may go out by either of them.

use super::driver::Driver;
use super::registry::Registry;
use super::transports::Transports;
use crate::backends::{AnyNetworkOut, NetworkHandler, shm};
use carrousel_rank::{Receive, Status};
use carrousel_transport::{Arrival, Handler, Payload};

/// Handles arrivals from the ranks of this node.
pub(super) struct FromShm<'a> {
    pub(super) driver: &'a mut Driver,
    pub(super) net: Option<AnyNetworkOut<'a>>,
    /// Whether only messages are wanted that have a receive. Others stay in their ring, from where their receive will get
    /// them without a copy in between.
    pub(super) only_expected: bool,
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

    #[inline]
    fn has_enough(&self) -> bool {
        self.only_expected && !self.driver.rank.has_posted()
    }
}

/// A receive whose call waits for it, and that has no request: the next message may be for it.
pub(super) struct Wanted<'a> {
    pub(super) receive: &'a Receive,
    pub(super) room: &'a mut [u8],
    /// How it has ended, once it has.
    pub(super) status: Option<Status>,
}

/// Handles arrivals from the ranks of this node while a receive is wanted.
pub(super) struct NextFromShm<'a, 'b, 'c> {
    pub(super) shm: FromShm<'a>,
    pub(super) wanted: &'b mut Wanted<'c>,
}

impl Handler<shm::Out> for NextFromShm<'_, '_, '_> {
    type Regions = Registry;

    #[inline]
    fn regions(&mut self) -> &mut Registry {
        self.shm.regions()
    }

    #[inline]
    fn arrival(&mut self, arrival: Arrival, payload: &(impl Payload + ?Sized), out: &mut shm::Out) {
        let Self { shm, wanted } = self;
        if wanted.status.is_none() {
            let transports = &mut Transports { shm: out, net: shm.net.as_mut().map(AnyNetworkOut::reborrow) };
            wanted.status =
                shm.driver.receive_next(wanted.receive, wanted.room, arrival, payload, transports);
            if wanted.status.is_some() {
                return;
            }
        }
        shm.arrival(arrival, payload, out);
    }

    #[inline]
    fn has_enough(&self) -> bool {
        true
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
