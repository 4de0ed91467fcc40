//! Calls that open epochs.

use super::epochs::{AccessEpoch, ExposureEpoch, FenceEpoch, LockAllEpoch, LockEpoch};
use super::own::Window;
use carrousel::{Element, Error};
use carrousel_rank::RankId;
use carrousel_rank::epoch::{Call, Mode};
use std::future::Future;
use std::panic::Location;

impl<T: Element> Window<T> {
    /// Opens a fence epoch, in which every rank accesses every rank (`MPI_Win_fence`). All ranks call it.
    ///
    /// # Errors
    /// If another epoch is open.
    #[track_caller]
    pub fn fence(&self) -> impl Future<Output = Result<FenceEpoch<'_, T>, Error>> {
        let place = Location::caller();
        async move {
            self.block(Call::Fence, place).await?;
            Ok(FenceEpoch::new(self))
        }
    }

    /// Opens an access epoch to these targets (`MPI_Win_start`). Returns at once: what is accessed moves when the target has
    /// posted.
    ///
    /// # Errors
    /// If a rank does not exist or is named twice, or an open epoch is in the way.
    #[track_caller]
    pub fn start(&self, targets: &[u32]) -> impl Future<Output = Result<AccessEpoch<'_, T>, Error>> {
        let place = Location::caller();
        let targets: Vec<RankId> = targets.iter().copied().map(RankId).collect();
        async move {
            self.block(Call::Start(&targets), place).await?;
            Ok(AccessEpoch::new(self))
        }
    }

    /// Opens an exposure epoch to these origins (`MPI_Win_post`).
    ///
    /// # Errors
    /// As [`Window::start`].
    #[track_caller]
    pub fn post(&self, origins: &[u32]) -> impl Future<Output = Result<ExposureEpoch<'_, T>, Error>> {
        let place = Location::caller();
        let origins: Vec<RankId> = origins.iter().copied().map(RankId).collect();
        async move {
            self.block(Call::Post(&origins), place).await?;
            Ok(ExposureEpoch::new(self))
        }
    }

    /// Opens a lock epoch: nobody else accesses the target's memory until its end (`MPI_Win_lock`, exclusive).
    ///
    /// # Errors
    /// If the rank does not exist, or an open epoch is in the way.
    #[track_caller]
    pub fn lock(&self, target: u32) -> impl Future<Output = Result<LockEpoch<'_, T>, Error>> {
        self.lock_as(target, Mode::Exclusive, true)
    }

    /// As [`Window::lock`], beside others that share it.
    ///
    /// # Errors
    /// As [`Window::lock`].
    #[track_caller]
    pub fn lock_shared(&self, target: u32) -> impl Future<Output = Result<LockEpoch<'_, T>, Error>> {
        self.lock_as(target, Mode::Shared, true)
    }

    /// As [`Window::lock`], without waiting even where the lock is that of this rank's own memory.
    ///
    /// # Errors
    /// As [`Window::lock`].
    #[track_caller]
    pub fn ilock(&self, target: u32) -> impl Future<Output = Result<LockEpoch<'_, T>, Error>> {
        self.lock_as(target, Mode::Exclusive, false)
    }

    /// As [`Window::lock_shared`], without waiting.
    ///
    /// # Errors
    /// As [`Window::lock`].
    #[track_caller]
    pub fn ilock_shared(&self, target: u32) -> impl Future<Output = Result<LockEpoch<'_, T>, Error>> {
        self.lock_as(target, Mode::Shared, false)
    }

    #[track_caller]
    fn lock_as(
        &self,
        target: u32,
        mode: Mode,
        blocking: bool,
    ) -> impl Future<Output = Result<LockEpoch<'_, T>, Error>> {
        let place = Location::caller();
        async move {
            let call = Call::Lock { target: RankId(target), mode };
            if blocking {
                self.block(call, place).await?;
            } else {
                // Opening an epoch is complete at once.
                self.request(call, place).await.map(drop)?;
            }
            Ok(LockEpoch::new(self, target))
        }
    }

    /// Opens a lock epoch of all ranks, shared (`MPI_Win_lock_all`).
    ///
    /// # Errors
    /// If an open epoch is in the way.
    #[track_caller]
    pub fn lock_all(&self) -> impl Future<Output = Result<LockAllEpoch<'_, T>, Error>> {
        let place = Location::caller();
        async move {
            self.block(Call::LockAll, place).await?;
            Ok(LockAllEpoch::new(self))
        }
    }
}
