//! The transport as endpoints see every network.

use crate::{Address, AddressError, Out, Registrations, Verbs};
use carrousel_transport::{Handler, Head, Network, NetworkOut, RankId, ZcopySource};
use std::fmt;
use std::time::Duration;

impl Network for Verbs {
    type MemoryDomain = Registrations;

    fn address(&self) -> String {
        self.address().to_string()
    }

    fn introduce_as(&mut self, text: &[u8]) {
        Self::introduce_as(self, text);
    }

    fn memory_domain(&self) -> Registrations {
        self.registrations()
    }

    fn largest_eager(&self) -> u64 {
        self.largest_eager()
    }

    fn finish(&mut self) {
        self.finish();
    }

    fn leave(&mut self) {
        self.leave();
    }

    fn unacknowledged(&mut self) -> Vec<RankId> {
        self.unacknowledged()
    }

    fn sleep(&mut self, now: Duration, handler: &mut impl Handler<Out>, timeout: Duration) -> usize {
        self.sleep(now, handler, timeout)
    }
}

impl NetworkOut for Out {
    type AddressError = AddressError;

    fn connect(&mut self, peer: RankId, address: &str) -> Result<(), AddressError> {
        let address: Address = address.parse()?;
        self.connect(peer, &address);
        Ok(())
    }

    #[inline]
    fn is_known(&self, peer: RankId) -> bool {
        self.is_known(peer)
    }

    fn loss_of(&self, peer: RankId) -> Option<&dyn fmt::Display> {
        self.loss_of(peer).map(|loss| loss as &dyn fmt::Display)
    }

    fn abandon(&mut self, peer: RankId) {
        self.abandon(peer);
    }

    fn has_ended(&mut self, peer: RankId) {
        self.has_ended(peer);
    }

    fn receives(&self, peer: RankId) -> bool {
        self.receives(peer)
    }

    fn send_zcopy(&mut self, to: RankId, head: &Head, data: &[u8], source: ZcopySource) -> bool {
        self.send_zcopy(to, head, data, source)
    }

    #[inline]
    fn zcopy_done(&mut self) -> Option<u32> {
        self.zcopy_done()
    }
}
