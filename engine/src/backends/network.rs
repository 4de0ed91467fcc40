//! The networks of this build: a variant each, in each of the types.
//!
//! A build without a network has enums without values, and its endpoints have no network.

#![allow(unsafe_code, reason = "passes memory on to the adapter, with its caller's promise")]

use super::settings::{NetworkSettings, network_settings};
use crate::Error;
use carrousel_options::{Settings, VerbsScope};
use carrousel_rank::RankId;
use carrousel_transport::{
    Arrival, Atomic, AtomicsUnsupportedError, Handler, Head, Keys, MemoryDomain, Name, Network, NetworkOut,
    Outbound, Payload, Read, Regions, Transport, Write, ZcopySource,
};
use carrousel_transport_verbs as verbs;
use std::fmt;
use std::time::Duration;

/// A transport between nodes.
#[derive(Debug)]
pub enum AnyNetwork {
    /// InfiniBand and RoCE.
    #[cfg(feature = "verbs")]
    Verbs(Box<verbs::Verbs>),
}

/// How a network knows peers that are not known ahead.
pub struct Introduced {
    /// How many ranks there are at most.
    pub most: u32,
    /// The number that only those know who were told the address.
    pub key: u64,
    /// Says which rank a peer is that introduces itself.
    pub name: Name,
}

impl fmt::Debug for Introduced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Introduced").field("most", &self.most).finish_non_exhaustive()
    }
}

/// The half of an [`AnyNetwork`] that takes operations.
#[derive(Debug)]
pub(crate) enum AnyNetworkOut<'a> {
    #[cfg(feature = "verbs")]
    Verbs(&'a mut verbs::Out),
    /// Uses the lifetime; has no value.
    #[cfg(not(feature = "verbs"))]
    Never(std::convert::Infallible, std::marker::PhantomData<&'a ()>),
}

/// Registers memory for an [`AnyNetwork`].
#[derive(Debug)]
pub(crate) enum AnyMemoryDomain {
    #[cfg(feature = "verbs")]
    Verbs(verbs::Registrations),
}

/// A registration of an [`AnyMemoryDomain`].
#[derive(Debug)]
pub(crate) enum AnyRegistration {
    #[cfg(feature = "verbs")]
    Verbs(verbs::MrGuard),
}

/// Handles arrivals from an [`AnyNetwork`].
pub(crate) trait NetworkHandler {
    /// The registered memory of this process.
    type Regions: Regions;

    /// The registered memory of this process.
    fn regions(&mut self) -> &mut Self::Regions;

    /// As [`Handler::arrival`].
    fn arrival(&mut self, arrival: Arrival, payload: &(impl Payload + ?Sized), out: AnyNetworkOut<'_>);
}

/// Makes a handler of arrivals from each network.
struct FromAny<'a, H>(&'a mut H);

#[cfg(feature = "verbs")]
impl<H: NetworkHandler> Handler<verbs::Out> for FromAny<'_, H> {
    type Regions = H::Regions;

    #[inline]
    fn regions(&mut self) -> &mut H::Regions {
        self.0.regions()
    }

    #[inline]
    fn arrival(&mut self, arrival: Arrival, payload: &(impl Payload + ?Sized), out: &mut verbs::Out) {
        self.0.arrival(arrival, payload, AnyNetworkOut::Verbs(out));
    }
}

/// Calls the implementation that a value has.
macro_rules! each {
    ($any:expr, $one:pat => $call:expr) => {
        match $any {
            #[cfg(feature = "verbs")]
            Self::Verbs($one) => $call,
        }
    };
    ($any:expr, $one:pat => $call:expr, never) => {
        match $any {
            #[cfg(feature = "verbs")]
            Self::Verbs($one) => $call,
            #[cfg(not(feature = "verbs"))]
            Self::Never(ref never, _) => match *never {},
        }
    };
}

impl AnyNetwork {
    /// The network of rank `me` of a job of `ranks`.
    pub(crate) fn new(
        me: RankId,
        ranks: u32,
        settings: &Settings,
        network: &NetworkSettings,
    ) -> Result<Self, String> {
        is_wanted(settings)?;
        #[cfg(feature = "verbs")]
        return verbs::Verbs::new(me, ranks, network).map(Self::from).map_err(|error| error.to_string());
        #[cfg(not(feature = "verbs"))]
        Err(verbs::NOT_BUILT.to_owned())
    }

    /// The network of an open endpoint, as the options say. The inner error says why there can be none.
    ///
    /// # Errors
    /// When options are wrong.
    pub fn by(
        settings: &Settings,
    ) -> Result<impl FnOnce(Introduced) -> Result<Option<Self>, String> + use<>, Error> {
        let (network, wanted) = (network_settings(settings)?, is_wanted(settings));
        Ok(move |introduced| wanted.and_then(|()| Self::open(introduced, &network)).map(Some))
    }

    fn open(introduced: Introduced, network: &NetworkSettings) -> Result<Self, String> {
        #[cfg(feature = "verbs")]
        {
            let Introduced { most, key, name } = introduced;
            let device = verbs::Device::open(&network.choice);
            let made = device.and_then(|device| verbs::Verbs::open(&device, most, key, name, network));
            made.map(Self::from).map_err(|error| error.to_string())
        }
        #[cfg(not(feature = "verbs"))]
        Err(verbs::NOT_BUILT.to_owned())
    }

    pub(crate) fn introduce_as(&mut self, text: &[u8]) {
        each!(*self, ref mut network => Network::introduce_as(&mut **network, text))
    }

    #[inline]
    pub(crate) fn out(&mut self) -> AnyNetworkOut<'_> {
        each!(*self, ref mut network => AnyNetworkOut::Verbs(network.out()))
    }

    /// As [`NetworkOut::zcopy_done`].
    #[inline]
    pub(crate) fn zcopy_done(&mut self) -> Option<u32> {
        each!(*self, ref mut network => network.out().zcopy_done())
    }

    #[inline]
    pub(crate) fn poll(&mut self, now: Duration, handler: &mut impl NetworkHandler) -> usize {
        each!(*self, ref mut network => network.poll(now, &mut FromAny(handler)))
    }

    pub(crate) fn next_poll(&self) -> Option<Duration> {
        each!(*self, ref network => network.next_poll())
    }

    pub(crate) fn sleep(
        &mut self,
        now: Duration,
        handler: &mut impl NetworkHandler,
        timeout: Duration,
    ) -> usize {
        each!(*self, ref mut network => Network::sleep(&mut **network, now, &mut FromAny(handler), timeout))
    }

    pub(crate) fn address(&self) -> String {
        each!(*self, ref network => Network::address(&**network))
    }

    /// The adapter, in words.
    pub(crate) fn describe(&self) -> String {
        each!(*self, ref network => network.device().describe())
    }

    pub(crate) fn memory_domain(&self) -> AnyMemoryDomain {
        each!(*self, ref network => AnyMemoryDomain::Verbs(network.memory_domain()))
    }

    pub(crate) fn largest_eager(&self) -> u64 {
        each!(*self, ref network => Network::largest_eager(&**network))
    }

    pub(crate) fn finish(&mut self) {
        each!(*self, ref mut network => Network::finish(&mut **network));
    }

    pub(crate) fn leave(&mut self) {
        each!(*self, ref mut network => Network::leave(&mut **network));
    }

    pub(crate) fn unacknowledged(&mut self) -> Vec<RankId> {
        each!(*self, ref mut network => Network::unacknowledged(&mut **network))
    }
}

/// Whether the options allow a network.
///
/// # Errors
/// When they do not.
fn is_wanted(settings: &Settings) -> Result<(), String> {
    match settings.verbs().scope {
        VerbsScope::None => {
            Err("the option `verbs` is off, and there is no other transport between nodes".to_owned())
        }
        _ => Ok(()),
    }
}

#[cfg(feature = "verbs")]
impl From<verbs::Verbs> for AnyNetwork {
    fn from(network: verbs::Verbs) -> Self {
        Self::Verbs(Box::new(network))
    }
}

impl AnyNetworkOut<'_> {
    /// The same, for as long as this is borrowed.
    #[inline]
    pub(crate) fn reborrow(&mut self) -> AnyNetworkOut<'_> {
        each!(*self, ref mut out => AnyNetworkOut::Verbs(out), never)
    }
}

impl Outbound for AnyNetworkOut<'_> {
    #[inline]
    fn send(&mut self, to: RankId, head: &Head, data: &[u8]) {
        each!(*self, ref mut out => out.send(to, head, data), never);
    }

    #[inline]
    fn write(&mut self, write: &Write, regions: &mut impl Regions) {
        each!(*self, ref mut out => out.write(write, regions), never);
    }

    #[inline]
    fn read(&mut self, read: &Read, regions: &mut impl Regions) {
        each!(*self, ref mut out => out.read(read, regions), never);
    }

    #[inline]
    fn atomic(&mut self, atomic: &Atomic) -> Result<(), AtomicsUnsupportedError> {
        each!(*self, ref mut out => out.atomic(atomic), never)
    }
}

impl NetworkOut for AnyNetworkOut<'_> {
    type AddressError = String;

    fn connect(&mut self, peer: RankId, address: &str) -> Result<(), String> {
        each!(
            *self,
            ref mut out => NetworkOut::connect(*out, peer, address).map_err(|error| error.to_string()),
            never
        )
    }

    #[inline]
    fn is_known(&self, peer: RankId) -> bool {
        each!(*self, ref out => out.is_known(peer), never)
    }

    fn loss_of(&self, peer: RankId) -> Option<&dyn fmt::Display> {
        each!(*self, ref out => NetworkOut::loss_of(&**out, peer), never)
    }

    fn abandon(&mut self, peer: RankId) {
        each!(*self, ref mut out => out.abandon(peer), never);
    }

    fn has_ended(&mut self, peer: RankId) {
        each!(*self, ref mut out => out.has_ended(peer), never);
    }

    fn receives(&self, peer: RankId) -> bool {
        each!(*self, ref out => out.receives(peer), never)
    }

    #[inline]
    fn send_zcopy(&mut self, to: RankId, head: &Head, data: &[u8], source: ZcopySource) -> bool {
        each!(*self, ref mut out => out.send_zcopy(to, head, data, source), never)
    }

    #[inline]
    fn zcopy_done(&mut self) -> Option<u32> {
        each!(*self, ref mut out => out.zcopy_done(), never)
    }
}

impl MemoryDomain for AnyMemoryDomain {
    type Registration = AnyRegistration;
    type Error = String;

    unsafe fn register(
        &mut self,
        start: *mut u8,
        len: usize,
        writable: bool,
    ) -> Result<AnyRegistration, String> {
        each!(*self, ref mut domain => {
            // SAFETY: as the caller promises.
            let registration = unsafe { domain.register(start, len, writable) };
            registration.map(AnyRegistration::Verbs).map_err(|error| error.to_string())
        })
    }

    #[inline]
    unsafe fn register_often_used(&mut self, start: *mut u8, len: usize) -> Option<AnyRegistration> {
        each!(*self, ref mut domain => {
            // SAFETY: as the caller promises.
            unsafe { domain.register_often_used(start, len) }.map(AnyRegistration::Verbs)
        })
    }

    #[inline]
    fn keys(&self, registration: &AnyRegistration) -> Keys {
        match (self, registration) {
            #[cfg(feature = "verbs")]
            (Self::Verbs(domain), AnyRegistration::Verbs(registration)) => domain.keys(registration),
            #[cfg(not(feature = "verbs"))]
            (domain, _) => match *domain {},
        }
    }

    fn release(&mut self, registration: AnyRegistration) {
        match (self, registration) {
            #[cfg(feature = "verbs")]
            (Self::Verbs(domain), AnyRegistration::Verbs(registration)) => domain.release(registration),
        }
    }
}

/// What ranks of different nodes talk over here, as far as the options decide, in words; or why they cannot.
///
/// # Errors
/// When they cannot; the error says why, and what would help.
pub fn describe_verbs(settings: &Settings) -> Result<String, String> {
    let settings = network_settings(settings).map_err(|error| error.to_string())?;
    #[cfg(feature = "verbs")]
    return verbs::Verbs::describe(&settings).map_err(|error| error.to_string());
    #[cfg(not(feature = "verbs"))]
    Err(verbs::NOT_BUILT.to_owned())
}
