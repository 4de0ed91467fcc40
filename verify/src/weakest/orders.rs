//! The orders that the weakest MPI is taken to keep.

use std::fmt;
use std::str::FromStr;

macro_rules! orders {
    ($($(#[$meaning:meta])* $order:ident = $name:literal),* $(,)?) => {
        /// An order between calls, or between a call and an access, that every MPI keeps. `orders.toml` gives the section
        /// that promises it, and the scenario that needs it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Order {
            $($(#[$meaning])* $order),*
        }

        impl Order {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$order),*];

            /// Its name, in the register and for `--without`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$order => $name),*
                }
            }
        }
    };
}

orders! {
    /// Accumulates of one origin to one place take effect in the order of their calls.
    AccumulatesOfOneOrigin = "ACCUMULATES_OF_ONE_ORIGIN",
    /// Accumulates with one operation are atomic towards each other.
    AccumulatesOfOneOperation = "ACCUMULATES_OF_ONE_OPERATION",
    /// An access with `start` comes behind the `post` of its target.
    PostExposes = "POST_EXPOSES",
    /// An access between fences comes behind the fence of its target that begins the epoch.
    FenceExposes = "FENCE_EXPOSES",
    /// An access with a lock comes behind its grant.
    LockComesFirst = "LOCK_COMES_FIRST",
    /// Two exposures of a rank's memory in one window follow each other.
    ExposuresAreApart = "EXPOSURES_ARE_APART",
    /// When what was fetched is at its origin, the access is over.
    FetchedIsOver = "FETCHED_IS_OVER",
    /// When a flush returns, its accesses are over.
    FlushCompletesAtTarget = "FLUSH_COMPLETES_AT_TARGET",
    /// When an unlock returns, or its lock goes to another, its accesses are over.
    UnlockCompletesAtTarget = "UNLOCK_COMPLETES_AT_TARGET",
    /// When the `wait_epoch` of a target returns, the accesses to it are over.
    WaitCompletesAtTarget = "WAIT_COMPLETES_AT_TARGET",
    /// When the fence of a target returns, the accesses to it are over.
    FenceCompletesAtTarget = "FENCE_COMPLETES_AT_TARGET",
    /// A `wait_epoch` returns when all origins have called `complete`.
    WaitWaitsForOrigins = "WAIT_WAITS_FOR_ORIGINS",
    /// A fence that ends an epoch returns when all ranks have called it.
    FenceWaitsForRanks = "FENCE_WAITS_FOR_RANKS",
    /// Two locks of which one is exclusive are not held together.
    LocksExclude = "LOCKS_EXCLUDE",
    /// A blocking lock of the own memory is held when it returns.
    OwnLockIsHeld = "OWN_LOCK_IS_HELD",
    /// An epoch that was closed without waiting is complete before later ones of its window begin.
    ClosedEpochsComeFirst = "CLOSED_EPOCHS_COME_FIRST",
    /// A barrier, and a collective that needs the data of all, returns when all have entered.
    CollectivesWait = "COLLECTIVES_WAIT",
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The register: for each order its section, what it says, and a scenario that needs it.
pub const REGISTER: &str = include_str!("orders.toml");

/// No order has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no order is called `{0}`")]
pub struct NoSuchOrder(pub String);

impl FromStr for Order {
    type Err = NoSuchOrder;
    fn from_str(name: &str) -> Result<Self, NoSuchOrder> {
        Self::ALL
            .iter()
            .copied()
            .find(|order| order.name() == name)
            .ok_or_else(|| NoSuchOrder(name.to_owned()))
    }
}
