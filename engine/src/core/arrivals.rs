//! What takes arrivals from each of the two transports: what follows from one may go out by either.

use super::hands::Hands;
use super::registry::Registry;
use super::ways::Ways;
use carrousel_transport::{Arrival, Handler, Payload};
use carrousel_transport_shm as shm;
use carrousel_transport_verbs as verbs;

/// Takes what comes from the ranks of the node, and posts what follows either way.
pub(super) struct FromNear<'a> {
    pub(super) hands: &'a mut Hands,
    pub(super) far: Option<&'a mut verbs::Out>,
}

impl Handler<shm::Out> for FromNear<'_> {
    type Regions = Registry;

    #[inline]
    fn regions(&mut self) -> &mut Registry {
        self.hands.registry()
    }

    #[inline]
    fn arrival(&mut self, arrival: Arrival, data: &(impl Payload + ?Sized), out: &mut shm::Out) {
        let ways = &mut Ways { near: out, far: self.far.as_deref_mut() };
        self.hands.arrival(arrival, data, ways);
    }
}

/// Takes what comes from other nodes.
pub(super) struct FromFar<'a> {
    pub(super) hands: &'a mut Hands,
    pub(super) near: &'a mut shm::Out,
}

impl Handler<verbs::Out> for FromFar<'_> {
    type Regions = Registry;

    #[inline]
    fn regions(&mut self) -> &mut Registry {
        self.hands.registry()
    }

    #[inline]
    fn arrival(&mut self, arrival: Arrival, data: &(impl Payload + ?Sized), out: &mut verbs::Out) {
        let ways = &mut Ways { near: self.near, far: Some(out) };
        self.hands.arrival(arrival, data, ways);
    }
}
