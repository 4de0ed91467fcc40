//! What there is in a build without the feature `verbs`: the same names, and no way to make one of them.
//!
//! So whoever uses this crate is written once. A type without values costs nothing, and neither does code for it.

use crate::{Access, Address, Choice, Settings};
use carrousel_reuse::{Path, Policy};
use carrousel_transport::{Handler, Head, Keys, Outbound, RankId, Read, Regions, Transport, Write};
use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// Why there is no transport.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VerbsError {
    /// This program was built without it.
    #[error(
        "this build has no transport between nodes (build it with `--features verbs`, on a machine with libibverbs-dev, \
         librdmacm-dev and libclang-dev)"
    )]
    NotBuilt,
}

/// Why a peer is lost.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("")]
pub enum Loss {}

/// An open device and one of its ports.
#[derive(Debug)]
pub enum Device {}

/// Registered memory of the application.
#[derive(Debug)]
pub enum Registrations {}

/// Memory of the program that is registered to see what that costs.
#[derive(Debug)]
pub enum Trial<'a> {
    /// There is none.
    Never(Infallible, PhantomData<&'a mut [u8]>),
}

/// Registered memory that is in use.
#[derive(Debug)]
pub enum Held {}

/// The transport between this rank and its peers on other nodes.
#[derive(Debug)]
pub enum Verbs {}

/// The half of a [`Verbs`] that takes operations.
#[derive(Debug)]
pub enum Out {}

impl Device {
    /// There are none that this build could use.
    ///
    /// # Errors
    /// Always.
    pub fn describe(_: &Settings) -> Result<String, VerbsError> {
        Err(VerbsError::NotBuilt)
    }

    /// There are none.
    ///
    /// # Errors
    /// Always.
    pub fn names() -> Result<Vec<String>, VerbsError> {
        Err(VerbsError::NotBuilt)
    }

    /// There is none.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: &Choice) -> Result<Arc<Self>, VerbsError> {
        Err(VerbsError::NotBuilt)
    }

    /// It has none.
    pub fn name(&self) -> &str {
        match *self {}
    }
}

impl<'a> Trial<'a> {
    /// There is no device.
    ///
    /// # Errors
    /// Never.
    pub fn new(device: &Arc<Device>, _: &'a mut [u8]) -> Result<Self, VerbsError> {
        match **device {}
    }

    /// There was none.
    pub fn end(self) {
        match self {
            Self::Never(never, _) => match never {},
        }
    }
}

#[allow(missing_docs, reason = "the module that it stands for has them")]
impl Registrations {
    pub fn new(device: &Arc<Device>, _: bool, _: Option<Policy>) -> Self {
        match **device {}
    }

    /// # Safety
    ///
    /// There is no device.
    ///
    /// # Errors
    /// Never.
    #[allow(unsafe_code, reason = "the signatures are those of the module that it stands for")]
    pub unsafe fn acquire(&mut self, _: *mut u8, _: usize, _: Access) -> Result<Held, VerbsError> {
        match *self {}
    }

    /// # Safety
    ///
    /// There is no device.
    #[allow(unsafe_code, reason = "the signatures are those of the module that it stands for")]
    pub unsafe fn acquire_often_used(&mut self, _: *mut u8, _: usize, _: Path) -> Option<Held> {
        match *self {}
    }

    pub fn release(&mut self, held: Held) {
        match held {}
    }
}

#[allow(missing_docs, reason = "the module that it stands for has them")]
impl Held {
    pub fn keys(&self) -> Keys {
        match *self {}
    }
}

#[allow(missing_docs, reason = "the module that it stands for has them")]
impl Verbs {
    /// # Errors
    /// Always.
    pub fn new(_: RankId, _: u32, _: &Settings) -> Result<Self, VerbsError> {
        Err(VerbsError::NotBuilt)
    }

    /// # Errors
    /// Never.
    pub fn over(device: &Arc<Device>, _: RankId, _: u32, _: &Settings) -> Result<Self, VerbsError> {
        match **device {}
    }

    pub fn address(&self) -> Address {
        match *self {}
    }

    pub fn registrations(&self) -> Registrations {
        match *self {}
    }

    pub fn largest_eager(&self) -> u64 {
        match *self {}
    }

    pub fn finish(&mut self) {
        match *self {}
    }

    pub fn is_busy(&mut self) -> bool {
        match *self {}
    }

    pub fn sleep(&mut self, _: Duration, _: &mut impl Handler<Out>, _: Duration) -> usize {
        match *self {}
    }
}

impl Transport for Verbs {
    type Out = Out;

    fn out(&mut self) -> &mut Out {
        match *self {}
    }

    fn poll(&mut self, _: Duration, _: &mut impl Handler<Out>) -> usize {
        match *self {}
    }

    fn next_poll(&self) -> Option<Duration> {
        match *self {}
    }
}

#[allow(missing_docs, reason = "the module that it stands for has them")]
impl Out {
    pub fn connect(&mut self, _: RankId, _: &Address) {
        match *self {}
    }

    pub fn is_known(&self, _: RankId) -> bool {
        match *self {}
    }

    pub fn loss_of(&self, _: RankId) -> Option<&Loss> {
        match *self {}
    }

    pub fn abandon(&mut self, _: RankId) {
        match *self {}
    }

    pub fn has_ended(&mut self, _: RankId) {
        match *self {}
    }

    pub fn is_waiting(&self) -> bool {
        match *self {}
    }

    pub fn lend(&mut self, _: RankId, _: &Head, _: &[u8], _: (u32, u32)) -> bool {
        match *self {}
    }

    pub fn returned(&mut self) -> Option<u32> {
        match *self {}
    }
}

impl Outbound for Out {
    fn send(&mut self, _: RankId, _: &Head, _: &[u8]) {
        match *self {}
    }

    fn write(&mut self, _: &Write, _: &mut impl Regions) {
        match *self {}
    }

    fn read(&mut self, _: &Read, _: &mut impl Regions) {
        match *self {}
    }
}
