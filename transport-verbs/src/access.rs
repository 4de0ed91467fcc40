//! What registered memory is for.

/// What an adapter may do with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// This process's own operations may read from it.
    Own,
    /// Packets may be received into it: peers put them where this process says, and have no key of it.
    Receive,
    /// Those of peers may, too.
    Read,
    /// Operations of this process and its peers may read, write and change it atomically. The last if the adapter has atomics,
    /// and, where it pages on demand, only if it can do that there, too.
    Write,
}
