//! Epochs: each is open as long as its value is there, and closed by what consumes it.

use super::access::{Access, PassiveAccess};
use super::own::Window;
use super::pending::WindowRequest;
use carrousel::{Element, Error};
use carrousel_rank::RankId;
use carrousel_rank::epoch::Call;
use std::future::Future;
use std::ops::Deref;
use std::panic::Location;

/// An epoch that begins and ends with a fence: every rank accesses every rank.
#[derive(Debug)]
#[must_use = "an epoch ends when it is closed: by `fence`, `ifence` or `end`"]
pub struct FenceEpoch<'w, T: Element>(Access<'w, T>);

impl<'w, T: Element> Deref for FenceEpoch<'w, T> {
    type Target = Access<'w, T>;

    fn deref(&self) -> &Access<'w, T> {
        &self.0
    }
}

impl<'w, T: Element> FenceEpoch<'w, T> {
    pub(super) fn new(window: &'w Window<T>) -> Self {
        Self(Access { window })
    }

    /// Closes the epoch, and opens the next: when this returns, all data has arrived everywhere (`MPI_Win_fence`).
    ///
    /// # Errors
    /// If a rank is gone.
    #[track_caller]
    pub fn fence(self) -> impl Future<Output = Result<Self, Error>> {
        let place = Location::caller();
        async move {
            self.0.window.block(Call::Fence, place).await?;
            Ok(self)
        }
    }

    /// The same without waiting: the request is complete when all data has arrived here, and this rank's elsewhere.
    ///
    /// # Errors
    /// If a rank is gone.
    #[track_caller]
    pub fn ifence(self) -> impl Future<Output = Result<(WindowRequest, Self), Error>> {
        let place = Location::caller();
        async move {
            let request = self.0.window.request(Call::Fence, place).await?;
            Ok((request, self))
        }
    }

    /// Closes the epoch by the last fence: all ranks call this, or [`FenceEpoch::fence`], and access nothing afterwards.
    ///
    /// # Errors
    /// If a rank is gone.
    #[track_caller]
    pub fn end(self) -> impl Future<Output = Result<(), Error>> {
        let place = Location::caller();
        async move { self.0.window.block(Call::Fence, place).await }
    }
}

/// An epoch in which this rank accesses the targets of its `start`.
#[derive(Debug)]
#[must_use = "an epoch ends when it is closed: by `complete` or `icomplete`"]
pub struct AccessEpoch<'w, T: Element>(Access<'w, T>);

impl<'w, T: Element> Deref for AccessEpoch<'w, T> {
    type Target = Access<'w, T>;

    fn deref(&self) -> &Access<'w, T> {
        &self.0
    }
}

impl<'w, T: Element> AccessEpoch<'w, T> {
    pub(super) fn new(window: &'w Window<T>) -> Self {
        Self(Access { window })
    }

    /// Closes the epoch, and waits until its operations are complete (`MPI_Win_complete`).
    ///
    /// # Errors
    /// If a target is gone.
    #[track_caller]
    pub fn complete(self) -> impl Future<Output = Result<(), Error>> {
        let place = Location::caller();
        async move { self.0.window.block(Call::Complete, place).await }
    }

    /// Closes the epoch without waiting.
    ///
    /// # Errors
    /// If a target is gone.
    #[track_caller]
    pub fn icomplete(self) -> impl Future<Output = Result<WindowRequest, Error>> {
        let place = Location::caller();
        async move { self.0.window.request(Call::Complete, place).await }
    }
}

/// An epoch in which the origins of its `post` access this rank's memory.
#[derive(Debug)]
#[must_use = "an epoch ends when it is closed: by `wait` or `iwait`"]
pub struct ExposureEpoch<'w, T: Element>(&'w Window<T>);

impl<'w, T: Element> ExposureEpoch<'w, T> {
    pub(super) fn new(window: &'w Window<T>) -> Self {
        Self(window)
    }

    /// Closes the epoch, and waits until every origin has closed its own, and all data is here (`MPI_Win_wait`).
    ///
    /// # Errors
    /// If an origin is gone.
    #[track_caller]
    pub fn wait(self) -> impl Future<Output = Result<(), Error>> {
        let place = Location::caller();
        async move { self.0.block(Call::Wait, place).await }
    }

    /// Closes the epoch without waiting.
    ///
    /// # Errors
    /// If an origin is gone.
    #[track_caller]
    pub fn iwait(self) -> impl Future<Output = Result<WindowRequest, Error>> {
        let place = Location::caller();
        async move { self.0.request(Call::Wait, place).await }
    }
}

/// An epoch in which this rank has the lock of one target.
#[derive(Debug)]
#[must_use = "a lock is released by `unlock` or `iunlock`"]
pub struct LockEpoch<'w, T: Element> {
    access: PassiveAccess<'w, T>,
    target: u32,
}

impl<'w, T: Element> Deref for LockEpoch<'w, T> {
    type Target = PassiveAccess<'w, T>;

    fn deref(&self) -> &PassiveAccess<'w, T> {
        &self.access
    }
}

impl<'w, T: Element> LockEpoch<'w, T> {
    pub(super) fn new(window: &'w Window<T>, target: u32) -> Self {
        Self { access: PassiveAccess(Access { window }), target }
    }

    /// Completes the operations, and releases the lock (`MPI_Win_unlock`).
    ///
    /// # Errors
    /// If the target is gone.
    #[track_caller]
    pub fn unlock(self) -> impl Future<Output = Result<(), Error>> {
        let place = Location::caller();
        async move { self.access.window.block(Call::Unlock(RankId(self.target)), place).await }
    }

    /// The same without waiting: the lock is released behind the data.
    ///
    /// # Errors
    /// If the target is gone.
    #[track_caller]
    pub fn iunlock(self) -> impl Future<Output = Result<WindowRequest, Error>> {
        let place = Location::caller();
        async move { self.access.window.request(Call::Unlock(RankId(self.target)), place).await }
    }
}

/// An epoch in which this rank shares the locks of all ranks.
#[derive(Debug)]
#[must_use = "locks are released by `unlock_all` or `iunlock_all`"]
pub struct LockAllEpoch<'w, T: Element>(PassiveAccess<'w, T>);

impl<'w, T: Element> Deref for LockAllEpoch<'w, T> {
    type Target = PassiveAccess<'w, T>;

    fn deref(&self) -> &PassiveAccess<'w, T> {
        &self.0
    }
}

impl<'w, T: Element> LockAllEpoch<'w, T> {
    pub(super) fn new(window: &'w Window<T>) -> Self {
        Self(PassiveAccess(Access { window }))
    }

    /// Completes the operations, and releases all locks (`MPI_Win_unlock_all`).
    ///
    /// # Errors
    /// If a rank is gone.
    #[track_caller]
    pub fn unlock_all(self) -> impl Future<Output = Result<(), Error>> {
        let place = Location::caller();
        async move { self.0.window.block(Call::UnlockAll, place).await }
    }

    /// The same without waiting.
    ///
    /// # Errors
    /// If a rank is gone.
    #[track_caller]
    pub fn iunlock_all(self) -> impl Future<Output = Result<WindowRequest, Error>> {
        let place = Location::caller();
        async move { self.0.window.request(Call::UnlockAll, place).await }
    }
}
