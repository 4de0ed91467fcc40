//! Collectives.

use crate::request::Request;
use crate::world::{Kind, World};
use carrousel::{Element, Error};
use carrousel_rank::{self as rank, Collective, Communicator};
use carrousel_transport_sim::{Gathering, Operation, Port};
use std::future::Future;
use std::panic::Location;
use zerocopy::IntoBytes;

type Place = &'static Location<'static>;

/// What a simulated collective is made of.
struct Call<'a, T: Element> {
    kind: rank::Kind,
    root: u32,
    /// Bytes of a contribution, and of an element that is not divided.
    len: usize,
    element: usize,
    source: &'a [T],
    target: &'a mut [T],
}

/// Takes part in a collective in the simulator.
async fn collect<T: Element>(
    port: &Port,
    call: Call<'_, T>,
    operation: Option<Operation>,
    place: Place,
) -> Result<(), Error> {
    let Call { kind, root, len, element, source, target } = call;
    let barrier = Collective::barrier(Communicator::WORLD);
    let call = Collective { kind, root, len: len as u64, element: element as u32, ..barrier };
    let (source, room) = (source.as_bytes().to_vec(), vec![0; size_of_val(target)]);
    let gathering = Gathering { call, source, target: room, operation };
    let ended = port.collective(gathering, place).await?;
    target.as_mut_bytes().copy_from_slice(&ended.bytes);
    Ok(())
}

/// The operation on bytes that `combine` is on elements.
fn on_bytes<T: Element>(combine: impl Fn(T, T) -> T + 'static) -> Option<Operation> {
    Some(carrousel::on_bytes(combine))
}

impl World {
    /// That a rank exists, and that buffers have the lengths that they must have.
    fn fits(&self, root: u32, lengths: &[(usize, usize)]) -> Result<(), Error> {
        carrousel::fits(self.size(), root, lengths)
    }

    /// How many elements the root's buffer has, if this is the root.
    fn if_root(&self, root: u32, elements: usize) -> usize {
        if self.rank() == root { elements } else { 0 }
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
                Kind::Real(world, _) => world.barrier(),
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
                Kind::Real(world, _) => world.ibarrier().map(Request::real),
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
        let place = Location::caller();
        async move {
            let port = match &self.0 {
                Kind::Real(world, _) => return world.broadcast(data, root),
                Kind::Simulated(port) => port,
            };
            self.fits(root, &[])?;
            let len = size_of_val(data);
            let (source, target): (&[T], &mut [T]) =
                if self.rank() == root { (data, &mut []) } else { (&[], data) };
            let call = Call { kind: rank::Kind::Broadcast, root, len, element: 1, source, target };
            collect(port, call, None, place).await
        }
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
        combine: impl Fn(T, T) -> T + 'static,
    ) -> impl Future<Output = Result<(), Error>> {
        let place = Location::caller();
        async move {
            let port = match &self.0 {
                Kind::Real(world, _) => return world.reduce(source, target, root, combine),
                Kind::Simulated(port) => port,
            };
            self.fits(root, &[(target.len(), self.if_root(root, source.len()))])?;
            let (len, element) = (size_of_val(source), size_of::<T>());
            let call = Call { kind: rank::Kind::Reduce, root, len, element, source, target };
            collect(port, call, on_bytes(combine), place).await
        }
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
        combine: impl Fn(T, T) -> T + 'static,
    ) -> impl Future<Output = Result<(), Error>> {
        let place = Location::caller();
        async move {
            let port = match &self.0 {
                Kind::Real(world, _) => return world.allreduce(source, target, combine),
                Kind::Simulated(port) => port,
            };
            self.fits(0, &[(target.len(), source.len())])?;
            let (len, element) = (size_of_val(source), size_of::<T>());
            let call = Call { kind: rank::Kind::AllReduce, root: 0, len, element, source, target };
            collect(port, call, on_bytes(combine), place).await
        }
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
        let place = Location::caller();
        async move {
            let port = match &self.0 {
                Kind::Real(world, _) => return world.gather(source, target, root),
                Kind::Simulated(port) => port,
            };
            self.fits(root, &[(target.len(), self.if_root(root, source.len() * self.size() as usize))])?;
            let len = size_of_val(source);
            collect(
                port,
                Call { kind: rank::Kind::Gather, root, len, element: 1, source, target },
                None,
                place,
            )
            .await
        }
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
        let place = Location::caller();
        async move {
            let port = match &self.0 {
                Kind::Real(world, _) => return world.allgather(source, target),
                Kind::Simulated(port) => port,
            };
            self.fits(0, &[(target.len(), source.len() * self.size() as usize)])?;
            let len = size_of_val(source);
            let call = Call { kind: rank::Kind::AllGather, root: 0, len, element: 1, source, target };
            collect(port, call, None, place).await
        }
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
        let place = Location::caller();
        async move {
            let port = match &self.0 {
                Kind::Real(world, _) => return world.alltoall(source, target),
                Kind::Simulated(port) => port,
            };
            let ranks = self.size() as usize;
            self.fits(0, &[(target.len(), source.len()), (source.len() % ranks, 0)])?;
            let len = size_of_val(source) / ranks;
            let call = Call { kind: rank::Kind::AllToAll, root: 0, len, element: 1, source, target };
            collect(port, call, None, place).await
        }
    }
}

/// A barrier in the simulator.
fn barrier() -> Gathering {
    let call = Collective::barrier(Communicator::WORLD);
    Gathering { call, source: Vec::new(), target: Vec::new(), operation: None }
}
