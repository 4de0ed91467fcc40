//! What the members of a communicator have to agree on when they call a collective.

use crate::Collective;
use carrousel_collective::Kind;
use core::fmt;

/// What all members of a communicator have to agree on in the collective that they call as their n-th (MPI-4.1, 6.1 and
/// 6.12: all call the same operations in the same order, with the same root and as much data).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// Which operation.
    pub kind: Kind,
    /// The root's `comm_rank` among the members, if the operation has one.
    pub root: Option<u32>,
    /// Bytes of one contribution; of an all-to-all, from each member to each.
    pub len: u64,
    /// Bytes of one element, if the operation combines elements.
    pub element: Option<u32>,
}

impl Collective {
    /// What the other members have to agree with.
    pub const fn signature(&self) -> Signature {
        let Self { kind, root, len, element, .. } = *self;
        let has_root = matches!(kind, Kind::Broadcast | Kind::Reduce | Kind::Gather);
        let combines = matches!(kind, Kind::Reduce | Kind::AllReduce);
        Signature {
            kind,
            root: if has_root { Some(root) } else { None },
            len,
            element: if combines { Some(element) } else { None },
        }
    }
}

impl Signature {
    /// The name of the call, as programs have it.
    pub const fn name(&self) -> &'static str {
        match self.kind {
            Kind::Broadcast => "broadcast",
            kind => kind.name(),
        }
    }
}

/// `broadcast of 8 bytes from root 0`, `allreduce of 8 bytes in elements of 4`.
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, root, len, element } = self;
        write!(f, "`{}`", self.name())?;
        if *kind == Kind::Barrier {
            return Ok(());
        }
        write!(f, " of {len} byte{}", if *len == 1 { "" } else { "s" })?;
        if let Some(element) = element {
            write!(f, " in elements of {element}")?;
        }
        if let Some(root) = root {
            let way = if *kind == Kind::Broadcast { "from" } else { "to" };
            write!(f, " {way} root {root}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use carrousel_matching::Communicator;

    #[test]
    fn a_signature_says_what_matters_to_the_others() {
        let of = |kind| {
            let barrier = Collective::barrier(Communicator::WORLD);
            Collective { kind, root: 2, len: 8, element: 4, ..barrier }.signature().to_string()
        };
        assert_eq!(of(Kind::Barrier), "`barrier`");
        assert_eq!(of(Kind::Broadcast), "`broadcast` of 8 bytes from root 2");
        assert_eq!(of(Kind::Reduce), "`reduce` of 8 bytes in elements of 4 to root 2");
        assert_eq!(of(Kind::AllReduce), "`allreduce` of 8 bytes in elements of 4");
        assert_eq!(of(Kind::Gather), "`gather` of 8 bytes to root 2");
        assert_eq!(of(Kind::AllToAll), "`alltoall` of 8 bytes");
    }
}
