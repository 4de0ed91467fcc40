//! Collectives: calls that return when this rank's part is done, and the memory that is lent for them.

use super::blocking::uninterrupted;
use crate::core::{Core, Operation};
use crate::{Communicator, Element, Error};
use carrousel_rank::{Collective, Kind};
use zerocopy::IntoBytes;

impl Core {
    /// Carries out a collective on these bytes, and waits until this rank's part is done.
    fn collect(
        &mut self,
        call: Collective,
        source: &[u8],
        target: &mut [u8],
        operation: Option<Operation>,
    ) -> Result<(), Error> {
        let needed = self.scratch_len(&call)? as usize;
        let mut scratch = std::mem::take(self.scratch());
        if scratch.len() < needed {
            scratch.resize(needed, 0);
        }
        let result = uninterrupted(|| {
            let registry = self.registry();
            // SAFETY: `source` is borrowed until this function returns, which is after the request has ended
            // and the key is released. Noticed by: tests/collectives.rs, under AddressSanitizer.
            let source = unsafe { registry.register(source.as_ptr(), source.len()) };
            // SAFETY: as for `source`; borrowed mutably, so nobody else uses it.
            let target = unsafe { registry.register_mut(target.as_mut_ptr(), target.len()) };
            // SAFETY: as for `target`: this function has the memory until it returns.
            let scratch = unsafe { registry.register_mut(scratch.as_mut_ptr(), needed) };
            let call = Collective { source, target, scratch, ..call };
            let result = self.collective(call, operation).and_then(|request| self.wait(request));
            for memory in [source, target, scratch] {
                self.registry().release(memory.key);
            }
            result.map(|_| ())
        });
        *self.scratch() = scratch;
        result
    }
}

/// The operation on bytes that `combine` is on elements. Scratch is aligned for bytes only.
#[doc(hidden)]
pub fn on_bytes<T: Element>(combine: impl Fn(T, T) -> T + 'static) -> Operation {
    Box::new(move |into: &mut [u8], from: &[u8]| {
        let size = size_of::<T>().max(1);
        for (into, from) in into.chunks_exact_mut(size).zip(from.chunks_exact(size)) {
            // Both have the size of an element, so both are one.
            if let (Ok(left), Ok(right)) = (T::read_from_bytes(into), T::read_from_bytes(from)) {
                into.copy_from_slice(combine(left, right).as_bytes());
            }
        }
    })
}

/// That a rank exists, and that buffers have the lengths that they must have.
#[doc(hidden)]
pub fn fits(ranks: u32, root: u32, lengths: &[(usize, usize)]) -> Result<(), Error> {
    if root >= ranks {
        return Err(Error::NoSuchRank { rank: root, ranks });
    }
    match lengths.iter().find(|(found, expected)| found != expected) {
        Some((found, expected)) => Err(Error::BufferLength { found: *found, expected: *expected }),
        None => Ok(()),
    }
}

impl Communicator {
    fn collective(&self, kind: Kind, root: u32, bytes: usize, element: usize) -> Collective {
        let (root, len, element) = (root, bytes as u64, element as u32);
        Collective { kind, root, len, element, ..Collective::barrier(self.id) }
    }

    fn fits(&self, root: u32, lengths: &[(usize, usize)]) -> Result<(), Error> {
        fits(self.size(), root, lengths)
    }

    /// Waits until all ranks have called it (`MPI_Barrier`).
    ///
    /// # Errors
    /// When a rank is gone.
    pub fn barrier(&self) -> Result<(), Error> {
        let call = Collective::barrier(self.id);
        self.shared.with(|core| core.collect(call, &[], &mut [], None))
    }

    /// Makes every rank's `data` that of `root` (`MPI_Bcast`).
    ///
    /// # Errors
    /// When there is no such rank, or one is gone. The buffers of all ranks have one length.
    pub fn broadcast<T: Element>(&self, data: &mut [T], root: u32) -> Result<(), Error> {
        self.fits(root, &[])?;
        let bytes = data.as_mut_bytes();
        let call = self.collective(Kind::Broadcast, root, bytes.len(), 1);
        let (source, target): (&[u8], &mut [u8]) =
            if self.rank() == root { (bytes, &mut []) } else { (&[], bytes) };
        self.shared.with(|core| core.collect(call, source, target, None))
    }

    /// Combines the elements of all ranks at `root`, place by place (`MPI_Reduce`). `combine` is associative
    /// and commutative; in which order it is applied depends on sizes only, not on time. `target` is
    /// empty at all ranks but the root.
    ///
    /// # Errors
    /// When there is no such rank, or one is gone, or the root's buffers have not the same length.
    pub fn reduce<T: Element>(
        &self,
        source: &[T],
        target: &mut [T],
        root: u32,
        combine: impl Fn(T, T) -> T + 'static,
    ) -> Result<(), Error> {
        let expected = if self.rank() == root { source.len() } else { 0 };
        self.fits(root, &[(target.len(), expected)])?;
        let call = self.collective(Kind::Reduce, root, size_of_val(source), size_of::<T>());
        let (source, target) = (source.as_bytes(), target.as_mut_bytes());
        self.shared.with(|core| core.collect(call, source, target, Some(on_bytes(combine))))
    }

    /// Combines the elements of all ranks at every rank, as [`Communicator::reduce`] (`MPI_Allreduce`). All
    /// get the same bytes.
    ///
    /// # Errors
    /// When a rank is gone, or the buffers have not the same length.
    pub fn allreduce<T: Element>(
        &self,
        source: &[T],
        target: &mut [T],
        combine: impl Fn(T, T) -> T + 'static,
    ) -> Result<(), Error> {
        self.fits(0, &[(target.len(), source.len())])?;
        let call = self.collective(Kind::AllReduce, 0, size_of_val(source), size_of::<T>());
        let (source, target) = (source.as_bytes(), target.as_mut_bytes());
        self.shared.with(|core| core.collect(call, source, target, Some(on_bytes(combine))))
    }

    /// Puts the elements of all ranks side by side at `root`, in the order of the ranks (`MPI_Gather`).
    /// `target` is empty at all ranks but the root.
    ///
    /// # Errors
    /// When there is no such rank, or one is gone, or the root's buffer has not room for exactly all.
    pub fn gather<T: Element>(&self, source: &[T], target: &mut [T], root: u32) -> Result<(), Error> {
        let expected = if self.rank() == root { source.len() * self.size() as usize } else { 0 };
        self.fits(root, &[(target.len(), expected)])?;
        let call = self.collective(Kind::Gather, root, size_of_val(source), 1);
        let (source, target) = (source.as_bytes(), target.as_mut_bytes());
        self.shared.with(|core| core.collect(call, source, target, None))
    }

    /// Puts the elements of all ranks side by side at every rank, in the order of the ranks
    /// (`MPI_Allgather`).
    ///
    /// # Errors
    /// When a rank is gone, or the buffer has not room for exactly all.
    pub fn allgather<T: Element>(&self, source: &[T], target: &mut [T]) -> Result<(), Error> {
        self.fits(0, &[(target.len(), source.len() * self.size() as usize)])?;
        let call = self.collective(Kind::AllGather, 0, size_of_val(source), 1);
        let (source, target) = (source.as_bytes(), target.as_mut_bytes());
        self.shared.with(|core| core.collect(call, source, target, None))
    }

    /// Sends the `i`-th of as many equal parts as there are ranks to rank `i`, and puts what comes side by
    /// side in the order of the ranks (`MPI_Alltoall`).
    ///
    /// # Errors
    /// When a rank is gone, the elements cannot be parted equally, or the buffers have not the same length.
    pub fn alltoall<T: Element>(&self, source: &[T], target: &mut [T]) -> Result<(), Error> {
        let ranks = self.size() as usize;
        self.fits(0, &[(target.len(), source.len()), (source.len() % ranks, 0)])?;
        let call = self.collective(Kind::AllToAll, 0, size_of_val(source) / ranks, 1);
        let (source, target) = (source.as_bytes(), target.as_mut_bytes());
        self.shared.with(|core| core.collect(call, source, target, None))
    }
}
