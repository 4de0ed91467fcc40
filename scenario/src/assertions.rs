//! What a program promises of its use of a window at one call (MPI-4.1 12.5.5).

use std::fmt;

/// One promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Assertion {
    /// `nocheck`: the other side is ready. At `start`, all targets have posted, and their `post` says it as well; at
    /// `lock` and `lock_all`, no other rank has or wants a lock that excludes this one.
    NoCheck,
    /// `nostore`: the program has not stored into its own memory since its last synchronization.
    NoStore,
    /// `noput`: nobody puts or accumulates into this rank's memory in the epoch that begins.
    NoPut,
    /// `noprecede`: the fence completes no access. All ranks say it, or none.
    NoPrecede,
    /// `nosucceed`: no access follows in the epoch that the fence begins. All ranks say it, or none.
    NoSucceed,
}

impl Assertion {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::NoCheck, Self::NoStore, Self::NoPut, Self::NoPrecede, Self::NoSucceed];

    /// The word for it in a file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoCheck => "nocheck",
            Self::NoStore => "nostore",
            Self::NoPut => "noput",
            Self::NoPrecede => "noprecede",
            Self::NoSucceed => "nosucceed",
        }
    }
}

/// A set of promises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Assertions(u8);

impl Assertions {
    /// The same and one more.
    #[must_use]
    pub const fn with(self, assertion: Assertion) -> Self {
        Self(self.0 | 1 << assertion as u8)
    }

    /// Whether this one is among them.
    pub const fn has(self, assertion: Assertion) -> bool {
        self.0 & (1 << assertion as u8) != 0
    }

    /// Whether nothing is promised.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those in it, in the order of [`Assertion::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Assertion> {
        Assertion::ALL.into_iter().filter(move |assertion| self.has(*assertion))
    }
}

impl FromIterator<Assertion> for Assertions {
    fn from_iter<I: IntoIterator<Item = Assertion>>(all: I) -> Self {
        all.into_iter().fold(Self::default(), Self::with)
    }
}

/// As a statement has them: `noput nostore`.
impl fmt::Display for Assertions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().enumerate().try_for_each(|(at, assertion)| {
            let blank = if at == 0 { "" } else { " " };
            write!(f, "{blank}{}", assertion.name())
        })
    }
}
