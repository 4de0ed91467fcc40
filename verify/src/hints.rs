//! The flags of windows under the weakest MPI, where they are hints: an MPI may use a flag or ignore it.
//!
//! What it does is its own property: it does the same at all ranks, and for the whole job. It may differ for flags, and
//! for windows, which may be in different memory.

use carrousel_rank::epoch::Flags;

/// The most flags that are set in all windows together: each one doubles the states in which a job begins.
pub(crate) const SET_MAX: usize = 8;

/// Every way in which an MPI may take the flags of these windows.
pub(crate) fn taken(windows: &[Flags]) -> Vec<Vec<Flags>> {
    windows.iter().fold(vec![Vec::new()], |before, set| {
        let with = |some: Flags| before.iter().map(move |before| [&before[..], &[some]].concat());
        Flags::every().filter(|some| is_part(*some, *set)).flat_map(with).collect()
    })
}

/// How many flags are set in all windows together.
pub(crate) fn count(windows: impl Iterator<Item = Flags>) -> usize {
    windows.map(|set| each(set).into_iter().filter(|is_set| *is_set).count()).sum()
}

fn is_part(some: Flags, set: Flags) -> bool {
    each(some).into_iter().zip(each(set)).all(|(some, set)| set || !some)
}

fn each(flags: Flags) -> [bool; 4] {
    let Flags { access_after_access, access_after_exposure, exposure_after_exposure, exposure_after_access } =
        flags;
    [access_after_access, access_after_exposure, exposure_after_exposure, exposure_after_access]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flag_of_each_window_is_used_and_ignored() {
        let none = Flags::default();
        let one = Flags { exposure_after_access: true, ..none };
        let two = Flags { access_after_access: true, ..one };
        assert_eq!(taken(&[]), [vec![]]);
        assert_eq!(taken(&[none, none]), [vec![none, none]]);
        assert_eq!(taken(&[one]), [vec![none], vec![one]]);
        let all = taken(&[two, one]);
        assert_eq!(all.len(), 1 << count([two, one].into_iter()));
        for (at, ways) in all.iter().enumerate() {
            assert!(is_part(ways[0], two) && is_part(ways[1], one), "{ways:?}");
            assert!(!all[..at].contains(ways), "{ways:?} is there twice");
        }
        assert_eq!(taken(&[Flags::ALL]).len(), 16);
    }
}
