//! How the benchmarks of this folder count: in one function, but not in those that stand for the adapter's library.

use gungraun::prelude::*;
use gungraun::{Callgrind, EntryPoint, EventKind};

/// Messages until all lists are as long as they get.
pub(crate) const WARM_UP: u32 = 600;
/// Messages that are counted.
pub(crate) const MESSAGES: u32 = 1000;

/// Counts in a function, by its path. More instructions are an error, and so is one that locks the bus, by which a lock is
/// taken or a reference that threads share is counted.
pub(crate) fn at_most(function: &str, instructions_max: u64) -> LibraryBenchmarkConfig {
    let mut callgrind = Callgrind::default();
    callgrind
        .args(["--collect-bus=yes", "--toggle-collect=*::uncounted*"])
        .entry_point(EntryPoint::Custom(function.to_owned()))
        .hard_limits([(EventKind::Ir, instructions_max), (EventKind::Ge, 0)]);
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(callgrind);
    config
}
