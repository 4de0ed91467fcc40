//! Blocking calls that open an epoch. The library returns at once from all of them but one: it gives a program the lock of
//! its own memory before the call that asks for it returns, because the program may access that memory by itself from then
//! on (MPI-4.1, 12.5.3). What the weakest MPI may do is told in [`weakest`](crate::weakest).

use crate::program::Synchronization;
use crate::state::Proc;
use carrousel_rank::{Protocol, WindowIndex};

/// Whether a call that opens an epoch has to wait for the lock of the memory of its own rank.
pub(crate) fn lacks_own_lock<P: Protocol>(proc: &Proc<P>, opening: &Synchronization) -> bool {
    let window = proc.rank.window(WindowIndex(u32::from(opening.window)));
    window.is_some_and(|it| it.lacks_own_lock(opening.call()))
}
