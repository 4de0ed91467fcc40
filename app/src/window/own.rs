//! A window of a rank: its memory here, and its calls.

use super::memory::{Memory, MemoryMut};
use super::pending::WindowRequest;
use crate::world::{World, WorldKind};
use carrousel::{Element, Error};
use carrousel_rank::epoch::{Call, Flags};
use carrousel_rank::{UsageError, WindowIndex};
use carrousel_transport_sim::{Operand, Port, SharedMemory, WindowMemory};
use std::cell::RefCell;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::rc::Rc;

pub(super) type Place = &'static Location<'static>;

/// A window: memory of each rank that all ranks of the job can access (`MPI_Win`).
#[derive(Debug)]
pub struct Window<T: Element> {
    port: Port,
    index: WindowIndex,
    memory: SharedMemory,
    /// By rank, its elements.
    lengths: Rc<[u64]>,
    element: PhantomData<T>,
}

impl World {
    /// Makes a window of so many elements at this rank, all zero (`MPI_Win_allocate`). All ranks call it, in the same
    /// order; each may give another length.
    ///
    /// # Errors
    /// If a rank is gone, or this is a real run.
    #[track_caller]
    pub fn window<T: Element>(&self, len: usize) -> impl Future<Output = Result<Window<T>, Error>> {
        self.window_with(len, Flags::default())
    }

    /// As [`World::window`]. The flags say which epochs need not wait for each other: a promise that they touch different
    /// memory.
    ///
    /// # Errors
    /// As [`World::window`].
    #[track_caller]
    pub fn window_with<T: Element>(
        &self,
        len: usize,
        flags: Flags,
    ) -> impl Future<Output = Result<Window<T>, Error>> {
        self.make_window(len, flags, len)
    }

    /// As [`World::window_with`], but nothing stands in the window's memory: operations take the time that they would
    /// take, and move no bytes ([`put_blank`](crate::Access::put_blank)). For simulations of jobs whose data no machine
    /// could hold.
    ///
    /// # Errors
    /// As [`World::window`].
    #[track_caller]
    pub fn window_without_bytes<T: Element>(
        &self,
        len: usize,
        flags: Flags,
    ) -> impl Future<Output = Result<Window<T>, Error>> {
        self.make_window(len, flags, 0)
    }

    #[track_caller]
    fn make_window<T: Element>(
        &self,
        len: usize,
        flags: Flags,
        kept: usize,
    ) -> impl Future<Output = Result<Window<T>, Error>> {
        let place = Location::caller();
        async move {
            let WorldKind::Simulated(port) = &self.0 else {
                return Err(Error::SimulatedOnly("a window"));
            };
            let mut lengths = vec![0; self.size() as usize];
            self.allgather(&[len as u64], &mut lengths).await?;
            let memory = Rc::new(RefCell::new(WindowMemory::new(kept * size_of::<T>())));
            let index = port.create_window(flags, Rc::clone(&memory), place).await;
            // Nobody accesses a window that another has not made.
            self.barrier().await?;
            Ok(Window { port: port.clone(), index, memory, lengths: lengths.into(), element: PhantomData })
        }
    }
}

impl<T: Element> Window<T> {
    /// How many elements a rank has.
    ///
    /// # Errors
    /// If there is no such rank.
    pub fn len_at(&self, rank: u32) -> Result<usize, Error> {
        let ranks = self.lengths.len() as u32;
        let len = self.lengths.get(rank as usize).ok_or(Error::NoSuchRank { rank, ranks, call: None })?;
        Ok(*len as usize)
    }

    /// This rank's memory, to read. While the guard lives, no operation of another rank may change the memory: that would
    /// be a race, and ends a simulation with an error.
    ///
    /// # Panics
    /// If this rank has a guard to write.
    pub fn memory(&self) -> Memory<'_, T> {
        Memory::new(&self.memory)
    }

    /// This rank's memory, to read and write. While the guard lives, no operation of another rank may access the memory.
    ///
    /// # Panics
    /// If this rank has another guard.
    pub fn memory_mut(&self) -> MemoryMut<'_, T> {
        MemoryMut::new(&self.memory)
    }

    /// A call that waits.
    pub(super) async fn block(&self, call: Call<'_>, place: Place) -> Result<(), Error> {
        Ok(self.port.call_window(self.index, call, place).await?)
    }

    /// A call that does not wait.
    pub(super) async fn request(&self, call: Call<'_>, place: Place) -> Result<WindowRequest, Error> {
        self.start_with(call, None, place).await
    }

    pub(super) async fn start_with(
        &self,
        call: Call<'_>,
        operand: Option<Operand>,
        place: Place,
    ) -> Result<WindowRequest, Error> {
        let flight = self.port.start_on_window(self.index, call, operand, place).await;
        Ok(WindowRequest::new(self.port.clone(), flight.map_err(refused)?))
    }
}

fn refused(error: UsageError) -> Error {
    error.into()
}
