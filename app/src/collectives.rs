//! Collectives.

use crate::request::Request;
use crate::world::{World, WorldKind};
use carrousel::{CallSite, Element, Error, RankOrTag, ReduceOp, on_bytes, part};
use carrousel_rank::{self as rank, Collective, Communicator};
use carrousel_transport_sim::{self as sim, CollectiveCall};
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;
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
                WorldKind::Real(world, _) => {
                    world.at(CallSite::Source(place)).collective(kind, root, source, target, op)
                }
                WorldKind::Simulated(port) => {
                    let call = part(kind, (port.rank(), port.size()), root, source, target)?;
                    let (source, room) = (source.as_bytes().to_vec(), vec![0; size_of_val(target)]);
                    let op =
                        op.map(|op| -> sim::ReduceOp { Arc::new(move |into, from| op.combine(into, from)) });
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
    /// If a rank is gone.
    #[track_caller]
    pub fn barrier(&self) -> impl Future<Output = Result<(), Error>> {
        let place = Location::caller();
        async move {
            match &self.0 {
                WorldKind::Real(world, _) => world.at(CallSite::Source(place)).barrier(),
                WorldKind::Simulated(port) => {
                    port.collective(barrier(), place).await?;
                    Ok(())
                }
            }
        }
    }

    /// Enters a barrier, and goes on (`MPI_Ibarrier`): the request is complete when all ranks have entered.
    ///
    /// # Errors
    /// If a rank cannot be reached.
    #[track_caller]
    pub fn ibarrier(&self) -> impl Future<Output = Result<Request<u8>, Error>> {
        let place = Location::caller();
        async move {
            match &self.0 {
                WorldKind::Real(world, _) => world.at(CallSite::Source(place)).ibarrier().map(Request::real),
                WorldKind::Simulated(port) => {
                    let flight = port.start_collective(barrier(), place).await?;
                    Ok(Request::simulated(port.clone(), flight, Vec::new()))
                }
            }
        }
    }

    /// Copies the `data` of `root` to all other ranks (`MPI_Bcast`).
    ///
    /// # Errors
    /// If there is no such rank, or one is gone. The buffers of all ranks must have the same length.
    #[track_caller]
    pub fn broadcast<T: Element>(
        &self,
        data: &mut [T],
        root: impl Into<RankOrTag>,
    ) -> impl Future<Output = Result<(), Error>> {
        let root = RankOrTag::of(root);
        let (source, target): (&[T], &mut [T]) =
            if self.rank() == root { (data, &mut []) } else { (&[], data) };
        self.collective(rank::Kind::Broadcast, root, source, target, None)
    }

    /// Combines the elements of all ranks at `root`, element by element (`MPI_Reduce`). `combine` has to be
    /// associative and commutative; the order of its application depends on sizes only, not on time. `target` is
    /// empty at all ranks but the root.
    ///
    /// # Errors
    /// If there is no such rank, one is gone, or the root's buffers differ in length.
    #[track_caller]
    pub fn reduce<T: Element>(
        &self,
        source: &[T],
        target: &mut [T],
        root: impl Into<RankOrTag>,
        combine: impl Fn(T, T) -> T + Send + Sync + 'static,
    ) -> impl Future<Output = Result<(), Error>> {
        self.collective(rank::Kind::Reduce, RankOrTag::of(root), source, target, Some(on_bytes(combine)))
    }

    /// Combines the elements of all ranks, as [`World::reduce`], with the result at every rank (`MPI_Allreduce`). All
    /// ranks get the same bytes.
    ///
    /// # Errors
    /// If a rank is gone, or the buffers differ in length.
    #[track_caller]
    pub fn allreduce<T: Element>(
        &self,
        source: &[T],
        target: &mut [T],
        combine: impl Fn(T, T) -> T + Send + Sync + 'static,
    ) -> impl Future<Output = Result<(), Error>> {
        self.collective(rank::Kind::AllReduce, 0, source, target, Some(on_bytes(combine)))
    }

    /// Gathers the elements of all ranks at `root`, in the order of the ranks (`MPI_Gather`). `target` is empty at
    /// all ranks but the root.
    ///
    /// # Errors
    /// If there is no such rank, one is gone, or the root's target does not have exactly the length of all sources.
    #[track_caller]
    pub fn gather<T: Element>(
        &self,
        source: &[T],
        target: &mut [T],
        root: impl Into<RankOrTag>,
    ) -> impl Future<Output = Result<(), Error>> {
        self.collective(rank::Kind::Gather, RankOrTag::of(root), source, target, None)
    }

    /// Gathers the elements of all ranks at every rank, in the order of the ranks (`MPI_Allgather`).
    ///
    /// # Errors
    /// If a rank is gone, or the target does not have exactly the length of all sources.
    #[track_caller]
    pub fn allgather<T: Element>(
        &self,
        source: &[T],
        target: &mut [T],
    ) -> impl Future<Output = Result<(), Error>> {
        self.collective(rank::Kind::AllGather, 0, source, target, None)
    }

    /// Sends the `i`-th block of the source to rank `i`, one equal block for each rank, and receives the blocks for
    /// this rank in the order of the ranks (`MPI_Alltoall`).
    ///
    /// # Errors
    /// If a rank is gone, the source cannot be divided into equal blocks, or the buffers differ in length.
    #[track_caller]
    pub fn alltoall<T: Element>(
        &self,
        source: &[T],
        target: &mut [T],
    ) -> impl Future<Output = Result<(), Error>> {
        self.collective(rank::Kind::AllToAll, 0, source, target, None)
    }
}
