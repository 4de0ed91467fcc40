//! Kinds of epochs, the flags of a window, and which two epochs may be active together.

use crate::rules::EpochRules;
use core::fmt;

/// The kind of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EpochKind {
    /// The access epoch of general active target synchronization: start and complete.
    Access,
    /// An access epoch with a lock on one target: lock and unlock.
    Lock,
    /// The exposure epoch of general active target synchronization: post and wait, or test.
    Exposure,
    /// Between two fences: access and exposure, with every rank of the window.
    Fence,
    /// An access epoch with a shared lock on every target: lock_all and unlock_all.
    LockAll,
}

impl EpochKind {
    /// All kinds, in the order of the table of [`may_overlap`].
    pub const ALL: [Self; 5] = [Self::Access, Self::Lock, Self::Exposure, Self::Fence, Self::LockAll];

    /// Whether the epoch lets this rank access others.
    pub const fn accesses(self) -> bool {
        !matches!(self, Self::Exposure)
    }

    /// Whether the epoch lets others access this rank, without a lock.
    pub const fn exposes(self) -> bool {
        matches!(self, Self::Exposure | Self::Fence)
    }

    /// Whether the epoch needs locks.
    pub const fn locks(self) -> bool {
        matches!(self, Self::Lock | Self::LockAll)
    }
}

impl fmt::Display for EpochKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Access => "access epoch",
            Self::Lock => "lock epoch",
            Self::Exposure => "exposure epoch",
            Self::Fence => "fence epoch",
            Self::LockAll => "lock_all epoch",
        })
    }
}

/// The promises of the program about a window, by which epochs need not wait for each other: epochs that are active
/// together touch disjoint memory (nonblocking-rma-epochs VI-B). All are off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    /// `A_A_A_R`: an access may be active beside an earlier access.
    pub access_after_access: bool,
    /// `A_A_E_R`: an access may be active beside an earlier exposure.
    pub access_after_exposure: bool,
    /// `E_A_E_R`: an exposure may be active beside an earlier exposure.
    pub exposure_after_exposure: bool,
    /// `E_A_A_R`: an exposure may be active beside an earlier access.
    pub exposure_after_access: bool,
}

impl Flags {
    /// All on.
    pub const ALL: Self = Self {
        access_after_access: true,
        access_after_exposure: true,
        exposure_after_exposure: true,
        exposure_after_access: true,
    };

    /// Every setting: none first, and all last.
    pub fn every() -> impl DoubleEndedIterator<Item = Self> {
        (0..16_u8).map(|bits| Self {
            access_after_access: bits & 1 != 0,
            access_after_exposure: bits & 2 != 0,
            exposure_after_exposure: bits & 4 != 0,
            exposure_after_access: bits & 8 != 0,
        })
    }

    /// The flag for an epoch behind another. A fence epoch counts as an access here, a lock as one, too.
    const fn of(self, active: EpochKind, candidate: EpochKind) -> bool {
        match (active.accesses(), candidate.accesses()) {
            (true, true) => self.access_after_access,
            (false, true) => self.access_after_exposure,
            (false, false) => self.exposure_after_exposure,
            (true, false) => self.exposure_after_access,
        }
    }
}

/// How a candidate stands to an epoch that is active and was opened before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Relation {
    /// The candidate was opened while the active epoch was open.
    pub is_nested: bool,
    /// The active epoch has no operation.
    pub is_inert: bool,
    /// Both access a common target.
    pub has_common_target: bool,
}

/// Whether `candidate` may be activated while `active` is, which was opened before it.
///
/// | active, below; candidate, right | Access | Lock | Exposure | Fence | LockAll |
/// | --- | --- | --- | --- | --- | --- |
/// | Access | `A_A_A_R` | `A_A_A_R`, no common target | `E_A_A_R` or nested | no | no |
/// | Lock | `A_A_A_R`, no common target | `A_A_A_R` or nested, no common target | `E_A_A_R` or nested | no | no |
/// | Exposure | `A_A_E_R` or nested | `A_A_E_R` or nested | `E_A_E_R` | no | no |
/// | Fence | if it has no operation | the same | the same | no | the same |
/// | LockAll | no | no | no | no | no |
pub fn may_overlap<R: EpochRules>(
    active: EpochKind,
    candidate: EpochKind,
    flags: Flags,
    relation: Relation,
) -> bool {
    use EpochKind::{Access, Exposure, Fence, Lock, LockAll};
    let flag = flags.of(active, candidate) || !R::serial_default();
    let is_nested = relation.is_nested && R::nested();
    let is_apart = !relation.has_common_target;
    match (active, candidate) {
        (Access, Access) => flag,
        (Access, Lock) | (Lock, Access) => flag && (is_apart || !R::lock_beside_access_defers()),
        (Lock, Lock) => (flag || is_nested) && (is_apart || !R::same_target_defers()),
        (Access | Lock, Exposure) | (Exposure, Access | Lock) => flag || is_nested,
        // Two exposures are never open at once.
        (Exposure, Exposure) => flag,
        // A closed one holds back, too, as the fence that closes it has opened the next.
        (Fence, Access | Lock | Exposure | LockAll) if R::inert_fence() && relation.is_inert => true,
        (Fence | LockAll, _) | (_, Fence | LockAll) => {
            // VI-B: beside a fence or lock_all, the window could be locked and exposed at once, or a lock taken twice.
            !R::flags_exclude_fence() && flags.of(active, candidate)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::AllEpochRules;
    use EpochKind::{Access, Exposure, Fence, Lock, LockAll};
    use alloc::vec;
    use alloc::vec::Vec;

    /// The condition of a cell.
    #[derive(Clone, Copy)]
    struct Cell {
        flag: Option<fn(&Flags) -> bool>,
        nested: bool,
        apart: bool,
        inert: bool,
    }

    const NO: Cell = Cell { flag: None, nested: false, apart: false, inert: false };
    const INERT: Cell = Cell { inert: true, ..NO };

    fn on(flag: fn(&Flags) -> bool) -> Cell {
        Cell { flag: Some(flag), ..NO }
    }

    fn cell(active: EpochKind, candidate: EpochKind) -> Cell {
        let aaar = on(|flags| flags.access_after_access);
        let aaer = on(|flags| flags.access_after_exposure);
        let eaer = on(|flags| flags.exposure_after_exposure);
        let eaar = on(|flags| flags.exposure_after_access);
        let nested = |cell| Cell { nested: true, ..cell };
        let apart = |cell| Cell { apart: true, ..cell };
        match (active, candidate) {
            (Access, Access) => aaar,
            (Access, Lock) => apart(aaar),
            (Access, Exposure) => nested(eaar),
            (Lock, Access) => apart(aaar),
            (Lock, Lock) => apart(nested(aaar)),
            (Lock, Exposure) => nested(eaar),
            (Exposure, Access) => nested(aaer),
            (Exposure, Lock) => nested(aaer),
            (Exposure, Exposure) => eaer,
            (Fence, Fence) => NO,
            (Fence, _) => INERT,
            (_, Fence | LockAll) | (LockAll, _) => NO,
        }
    }

    fn all_relations() -> impl Iterator<Item = Relation> {
        (0..8).map(|bits| Relation {
            is_nested: bits & 1 != 0,
            is_inert: bits & 2 != 0,
            has_common_target: bits & 4 != 0,
        })
    }

    #[test]
    fn every_cell_is_as_the_table_says() {
        for active in EpochKind::ALL {
            for candidate in EpochKind::ALL {
                let cell = cell(active, candidate);
                for flags in Flags::every() {
                    for relation in all_relations() {
                        let flag = cell.flag.is_some_and(|flag| flag(&flags));
                        let expected = ((flag || (cell.nested && relation.is_nested))
                            && !(cell.apart && relation.has_common_target))
                            || (cell.inert && relation.is_inert);
                        let found = may_overlap::<AllEpochRules>(active, candidate, flags, relation);
                        assert_eq!(found, expected, "{active}, {candidate}, {flags:?}, {relation:?}");
                    }
                }
            }
        }
    }

    /// Each rule that the table has, off, changes cells of its own and no others.
    #[test]
    fn a_rule_that_is_off_changes_its_cells_only() {
        fn changed<R: EpochRules>() -> Vec<(EpochKind, EpochKind)> {
            let pairs = EpochKind::ALL.into_iter().flat_map(|a| EpochKind::ALL.map(|b| (a, b)));
            let differs = |(a, b): &(EpochKind, EpochKind)| {
                Flags::every().any(|flags| {
                    all_relations().any(|relation| {
                        may_overlap::<R>(*a, *b, flags, relation)
                            != may_overlap::<AllEpochRules>(*a, *b, flags, relation)
                    })
                })
            };
            pairs.filter(differs).collect()
        }
        macro_rules! off {
            ($rule:ident) => {{
                #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
                enum Without {}
                impl EpochRules for Without {
                    fn $rule() -> bool {
                        false
                    }
                }
                changed::<Without>()
            }};
        }
        let sorted = |mut pairs: Vec<_>| {
            pairs.sort();
            pairs
        };
        assert_eq!(off!(same_target_defers), [(Lock, Lock)]);
        assert_eq!(off!(lock_beside_access_defers), [(Access, Lock), (Lock, Access)]);
        let nested =
            vec![(Access, Exposure), (Lock, Lock), (Lock, Exposure), (Exposure, Access), (Exposure, Lock)];
        assert_eq!(off!(nested), sorted(nested.clone()));
        let serial = [(Access, Access), (Access, Lock), (Lock, Access), (Exposure, Exposure)];
        assert_eq!(off!(serial_default), sorted([nested, serial.to_vec()].concat()));
        let inert = [Access, Lock, Exposure, LockAll].map(|candidate| (Fence, candidate));
        assert_eq!(off!(inert_fence), inert);
        let excluded = off!(flags_exclude_fence);
        assert!(
            excluded.len() == 16
                && excluded.iter().all(|(a, b)| [a, b].iter().any(|k| matches!(k, Fence | LockAll)))
        );
    }
}
