//! What an object has for its host to do, one thing at a time.

use crate::error::{Fault, carrousel_error};
use core::mem::MaybeUninit;

/// The outputs of an input that the host has not taken.
pub(crate) struct Outputs<T> {
    all: Vec<T>,
    taken: usize,
}

impl<T: Copy> Outputs<T> {
    pub(crate) fn new() -> Self {
        Self { all: Vec::with_capacity(16), taken: 0 }
    }

    /// Where the outputs of an input go. The driver's law: all of those before are taken.
    #[inline]
    pub(crate) fn begin(&mut self) -> Result<&mut Vec<T>, carrousel_error> {
        self.check_taken()?;
        self.all.clear();
        self.taken = 0;
        Ok(&mut self.all)
    }

    /// Whether all are taken.
    #[inline]
    pub(crate) fn check_taken(&self) -> Result<(), carrousel_error> {
        if self.taken < self.all.len() { Err(carrousel_error::WorkLeft) } else { Ok(()) }
    }

    /// Gives the host the next one, if one is left.
    #[inline]
    pub(crate) fn next<C: From<T>>(&mut self, out: Option<&mut MaybeUninit<C>>) -> Result<(), Fault> {
        self.next_by(out, |next, out| {
            // Written where it stays: an `Option` of it would be copied first.
            out.write(C::from(*next));
        })
    }

    /// As [`Outputs::next`], where it is not written as a whole.
    #[inline]
    pub(crate) fn next_by<C>(
        &mut self,
        out: Option<&mut MaybeUninit<C>>,
        write: impl FnOnce(&T, &mut MaybeUninit<C>),
    ) -> Result<(), Fault> {
        let Some(next) = self.all.get(self.taken) else { return Err(carrousel_error::Empty.into()) };
        write(next, out.ok_or(carrousel_error::NullPointer)?);
        self.taken += 1;
        Ok(())
    }
}

/// Writes a result that is there, and says if none is.
#[inline]
pub(crate) fn tell<T>(result: Option<T>, out: Option<&mut MaybeUninit<T>>) -> Result<(), Fault> {
    let out = out.ok_or(carrousel_error::NullPointer)?;
    match result {
        Some(result) => {
            out.write(result);
            Ok(())
        }
        None => Err(carrousel_error::Empty.into()),
    }
}
