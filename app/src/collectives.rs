//! Collectives.

use crate::request::Request;
use crate::world::{Kind, World};
use carrousel::{CallSite, Element, Error, on_bytes, part};
use carrousel_rank::{self as rank, Collective, Communicator};
use carrousel_transport_sim::{CollectiveCall, ReduceOp};
use std::future::Future;
use std::panic::Location;
use zerocopy::IntoBytes;

/// A barrier in the simulator.
fn barrier() -> CollectiveCall {
    let call = Collective::barrier(Communicator::WORLD);
    CollectiveCall { call, source: Vec::new(), target: Vec::new(), op: None }
}

impl World {
    /// Takes part in a collective of any kind.
    #[track_caller]
    fn collective<T: Element>(
        &self,
        kind: rank::Kind,
        root: u32,
        source: &[T],
        target: &mut [T],
        op: Option<ReduceOp>,
    ) -> impl Future<Output = Result<(), Error>> {
        let place = Location::caller();
        async move {
            match &self.0 {
                Kind::Real(world, _) => {
                    world.at(CallSite::Source(place)).collective(kind, root, source, target, op)
                }
                Kind::Simulated(port) => {
                    let call = part(kind, (port.rank(), port.size()), root, source, target)?;
                    let (source, room) = (source.as_bytes().to_vec(), vec![0; size_of_val(target)]);
                    let collective = CollectiveCall { call, source, target: room, op };
                    let ended = port.collective(collective, place).await?;
                    target.as_mut_bytes().copy_from_slice(&ended.bytes);
                    Ok(())
                }
            }
        }
    }

    /// Waits until all ranks have called it (`MPI_Barrier`).
    ///
    /// # Errors
    /// When a rank is gone.
    #[track_caller]
    pub fn barrier(&self) -> impl Future<Output = Result<(), Error>> {
        let place = Location::caller();
        async move {
            match &self.0 {
                Kind::Real(world, _) => world.at(CallSite::Source(place)).barrier(),
                Kind::Simulated(port) => {
                    port.collective(barrier(), place).await?;
                    Ok(())
                }
            }
        }
    }

    /// Enters a barrier, and goes on (`MPI_Ibarrier`): the request is complete when all ranks have entered.
    ///
    /// # Errors
    /// When a rank cannot be reached.
    #[track_caller]
    pub fn ibarrier(&self) -> impl Future<Output = Result<Request<u8>, Error>> {
        let place = Location::caller();
        async move {
            match &self.0 {
                Kind::Real(world, _) => world.at(CallSite::Source(place)).ibarrier().map(Request::real),
                Kind::Simulated(port) => {
                    let flight = port.start_collective(barrier(), place).await?;
                    Ok(Request::simulated(port.clone(), flight, Vec::new()))
                }
            }
        }
    }

    /// Makes every rank's `data` that of `root` (`MPI_Bcast`).
    ///
    /// # Errors
    /// When there is no such rank, or one is gone. The buffers of all ranks have one length.
    #[track_caller]
    pub fn broadcast<T: Element>(
        &self,
        data: &mut [T],
        root: u32,
    ) -> impl Future<Output = Result<(), Error>> {
        let (source, target): (&[T], &mut [T]) =
            if self.rank() == root { (data, &mut []) } else { (&[], data) };
        self.collective(rank::Kind::Broadcast, root, source, target, None)
    }

    /// Combines the elements of all ranks at `root`, place by place (`MPI_Reduce`). `combine` is associative
    /// and commutative; in which order it is applied depends on sizes only, not on time. `target` is empty at all
    /// ranks but the root.
    ///
    /// # Errors
    /// When there is no such rank, or one is gone, or the root's buffers have not the same length.
    #[track_caller]
    pub fn reduce<T: Element>(
        &self,
        source: &[T],
        target: &mut [T],
        root: u32,
        combine: impl Fn(T, T) -> T + Send + Sync + 'static,
    ) -> impl Future<Output = Result<(), Error>> {
        self.collective(rank::Kind::Reduce, root, source, target, Some(on_bytes(combine)))
    }

    /// Combines the elements of all ranks at every rank, as [`World::reduce`] (`MPI_Allreduce`). All get the
    /// same bytes.
    ///
    /// # Errors
    /// When a rank is gone, or the buffers have not the same length.
    #[track_caller]
    pub fn allreduce<T: Element>(
        &self,
        source: &[T],
        target: &mut [T],
        combine: impl Fn(T, T) -> T + Send + Sync + 'static,
    ) -> impl Future<Output = Result<(), Error>> {
        self.collective(rank::Kind::AllReduce, 0, source, target, Some(on_bytes(combine)))
    }

    /// Puts the elements of all ranks side by side at `root`, in the order of the ranks (`MPI_Gather`).
    /// `target` is empty at all ranks but the root.
    ///
    /// # Errors
    /// When there is no such rank, or one is gone, or the root's buffer has not room for exactly all.
    #[track_caller]
    pub fn gather<T: Element>(
        &self,
        source: &[T],
        target: &mut [T],
        root: u32,
    ) -> impl Future<Output = Result<(), Error>> {
        self.collective(rank::Kind::Gather, root, source, target, None)
    }

    /// Puts the elements of all ranks side by side at every rank, in the order of the ranks
    /// (`MPI_Allgather`).
    ///
    /// # Errors
    /// When a rank is gone, or the buffer has not room for exactly all.
    #[track_caller]
    pub fn allgather<T: Element>(
        &self,
        source: &[T],
        target: &mut [T],
    ) -> impl Future<Output = Result<(), Error>> {
        self.collective(rank::Kind::AllGather, 0, source, target, None)
    }

    /// Sends the `i`-th of as many equal parts as there are ranks to rank `i`, and puts what comes side by
    /// side in the order of the ranks (`MPI_Alltoall`).
    ///
    /// # Errors
    /// When a rank is gone, the elements cannot be parted equally, or the buffers have not the same length.
    #[track_caller]
    pub fn alltoall<T: Element>(
        &self,
        source: &[T],
        target: &mut [T],
    ) -> impl Future<Output = Result<(), Error>> {
        self.collective(rank::Kind::AllToAll, 0, source, target, None)
    }
}
