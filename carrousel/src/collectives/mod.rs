//! Collectives (MPI-4.1, chapter 6): calls that return when this rank's part is done.

mod agreement;
mod barrier;
mod carry_out;
mod reduce_op;

pub(crate) use self::agreement::{Agreement, agree, end_agreement};

#[doc(hidden)]
pub use self::reduce_op::on_bytes;
#[doc(hidden)]
pub use carrousel_engine::ReduceOp;

use self::carry_out::carry_out;
use crate::usage::Joint;
use crate::{Communicator, Element, Error, RankOrTag};
use carrousel_engine::{CallSite, Endpoint};
use carrousel_rank::{Collective, Kind};
use zerocopy::IntoBytes;

/// Takes part in a collective on these bytes, and waits until this rank's part is done.
fn collect(
    endpoint: &mut Endpoint,
    call: Collective,
    source: &[u8],
    target: &mut [u8],
    op: Option<ReduceOp>,
    site: CallSite,
) -> Result<(), Error> {
    agree(endpoint, call.communicator, Joint::Collective(call.signature()), site)?;
    Ok(carry_out(endpoint, call, source, target, op, call.kind, site)?)
}

/// The call of member `me` of `members` with these buffers, in the world and without memory yet. A broadcast has one empty
/// buffer: the target at the root, the source elsewhere.
///
/// # Errors
/// When there is no such rank, or a buffer has a wrong length.
#[doc(hidden)]
pub fn part<T: Element>(
    kind: Kind,
    (me, members): (u32, u32),
    root: u32,
    source: &[T],
    target: &[T],
) -> Result<Collective, Error> {
    if root >= members {
        return Err(Error::NoSuchRank { rank: root, ranks: members, call: None });
    }
    let (own, all) = (source.len(), source.len() * members as usize);
    let expected = match kind {
        Kind::Barrier => 0,
        Kind::Broadcast => target.len(),
        Kind::Reduce | Kind::Gather if me != root => 0,
        Kind::Reduce | Kind::AllReduce | Kind::AllToAll => own,
        Kind::Gather | Kind::AllGather => all,
    };
    if target.len() != expected {
        return Err(Error::BufferLength { found: target.len(), expected, call: None });
    }
    // Bytes of a contribution, and of an element, which no algorithm divides.
    let (len, element) = match kind {
        Kind::Broadcast => (size_of_val(source).max(size_of_val(target)), 1),
        Kind::Reduce | Kind::AllReduce => (size_of_val(source), size_of::<T>()),
        Kind::AllToAll => match own % members as usize {
            0 => (size_of_val(source) / members as usize, 1),
            found => return Err(Error::BufferLength { found: own, expected: own - found, call: None }),
        },
        Kind::Barrier | Kind::Gather | Kind::AllGather => (size_of_val(source), 1),
    };
    let world = Collective::barrier(carrousel_rank::Communicator::WORLD);
    Ok(Collective { kind, root, len: len as u64, element: element as u32, ..world })
}

impl Communicator {
    /// Takes part in a collective of any kind; see [`part`].
    ///
    /// # Errors
    /// Those of the kind.
    #[doc(hidden)]
    #[track_caller]
    pub fn collective<T: Element>(
        &self,
        kind: Kind,
        root: u32,
        source: &[T],
        target: &mut [T],
        op: Option<ReduceOp>,
    ) -> Result<(), Error> {
        let site = self.site();
        let call = part(kind, (self.rank(), self.size()), root, source, target);
        let call = call.map_err(|error| error.of(|| self.failed_call(site, kind.name(), None, None)))?;
        let call = Collective { communicator: self.id(), ..call };
        let (source, target) = (source.as_bytes(), target.as_mut_bytes());
        // The last handle of the operation is dropped here, outside of the library: what it has captured may call it.
        self.shared.with(|endpoint| collect(endpoint, call, source, target, op.clone(), site))
    }

    /// Waits until all ranks have called it (`MPI_Barrier`).
    ///
    /// # Errors
    /// When a rank is gone.
    #[track_caller]
    pub fn barrier(&self) -> Result<(), Error> {
        let (site, call) = (self.site(), Collective::barrier(self.id()));
        self.shared.with(|endpoint| collect(endpoint, call, &[], &mut [], None, site))
    }

    /// Copies the `data` of `root` to all other ranks (`MPI_Bcast`).
    ///
    /// # Errors
    /// When there is no such rank, or one is gone. The buffers of all ranks have to have the same length.
    #[track_caller]
    pub fn broadcast<T: Element>(&self, data: &mut [T], root: impl Into<RankOrTag>) -> Result<(), Error> {
        let root = RankOrTag::of(root);
        let (source, target): (&[T], &mut [T]) =
            if self.rank() == root { (data, &mut []) } else { (&[], data) };
        self.collective(Kind::Broadcast, root, source, target, None)
    }

    /// Combines the elements of all ranks at `root`, element by element (`MPI_Reduce`). `combine` has to be associative and
    /// commutative, and must not call the library; the order of its application depends on sizes only, not on time.
    /// `target` is empty at all ranks but the root.
    ///
    /// # Errors
    /// When there is no such rank, one is gone, or the root's buffers differ in length.
    #[track_caller]
    pub fn reduce<T: Element>(
        &self,
        source: &[T],
        target: &mut [T],
        root: impl Into<RankOrTag>,
        combine: impl Fn(T, T) -> T + Send + Sync + 'static,
    ) -> Result<(), Error> {
        self.collective(Kind::Reduce, RankOrTag::of(root), source, target, Some(on_bytes(combine)))
    }

    /// Combines the elements of all ranks, as [`Communicator::reduce`], with the result at every rank (`MPI_Allreduce`). All
    /// ranks get the same bytes.
    ///
    /// # Errors
    /// When a rank is gone, or the buffers differ in length.
    #[track_caller]
    pub fn allreduce<T: Element>(
        &self,
        source: &[T],
        target: &mut [T],
        combine: impl Fn(T, T) -> T + Send + Sync + 'static,
    ) -> Result<(), Error> {
        self.collective(Kind::AllReduce, 0, source, target, Some(on_bytes(combine)))
    }

    /// Gathers the elements of all ranks at `root`, in the order of the ranks (`MPI_Gather`). `target` is empty at all ranks
    /// but the root.
    ///
    /// # Errors
    /// When there is no such rank, one is gone, or the root's target does not have exactly the length of all sources.
    #[track_caller]
    pub fn gather<T: Element>(
        &self,
        source: &[T],
        target: &mut [T],
        root: impl Into<RankOrTag>,
    ) -> Result<(), Error> {
        self.collective(Kind::Gather, RankOrTag::of(root), source, target, None)
    }

    /// Gathers the elements of all ranks at every rank, in the order of the ranks (`MPI_Allgather`).
    ///
    /// # Errors
    /// When a rank is gone, or the target does not have exactly the length of all sources.
    #[track_caller]
    pub fn allgather<T: Element>(&self, source: &[T], target: &mut [T]) -> Result<(), Error> {
        self.collective(Kind::AllGather, 0, source, target, None)
    }

    /// Sends the `i`-th block of `source` to rank `i`, one equal block for each rank, and receives the blocks for this rank in
    /// the order of the ranks (`MPI_Alltoall`).
    ///
    /// # Errors
    /// When a rank is gone, the source cannot be divided into equal blocks, or the buffers differ in length.
    #[track_caller]
    pub fn alltoall<T: Element>(&self, source: &[T], target: &mut [T]) -> Result<(), Error> {
        self.collective(Kind::AllToAll, 0, source, target, None)
    }
}
