//! A core for each rank.

use crate::error::PinError;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Keeps the calling thread on the `index`-th of the cores that it may use, counted around, and returns how
/// many these are. The other libraries are pinned by the same rule (xtask/peers/measure.h), so that none
/// has the better place.
///
/// # Errors
/// When the kernel refuses.
pub fn pin(index: u32) -> Result<usize, PinError> {
    let allowed = sched_getaffinity(None).map_err(PinError)?;
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    let Some(core) = (index as usize).checked_rem(cores.len()).and_then(|at| cores.get(at)) else {
        return Err(PinError(rustix::io::Errno::INVAL));
    };
    let mut chosen = CpuSet::new();
    chosen.set(*core);
    sched_setaffinity(None, &chosen).map_err(PinError)?;
    Ok(cores.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_dealt_to_the_cores_in_turn() {
        // A thread of its own: it stays where it is pinned.
        let pinned = |index| {
            let core = move || {
                let cores = pin(index).expect("it may");
                let now = sched_getaffinity(None).expect("it may");
                (cores, (0..CpuSet::MAX_CPU).find(|core| now.is_set(*core)), now.count())
            };
            std::thread::spawn(core).join().expect("it ends")
        };
        let (cores, first, count) = pinned(0);
        assert_eq!(count, 1);
        assert_eq!(pinned(cores as u32).1, first);
        assert_eq!(pinned(1).1 == first, cores == 1);
    }
}
