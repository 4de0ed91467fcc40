//! Epochs that never block (nonblocking-rma-epochs): who pays for a delay of 1000 us, with puts of 1 MiB.

mod accumulate;
mod flags;
mod overlap;
mod patterns;
mod series;
mod tradeoff;

use crate::entry::Entry;
use crate::programs;

pub(crate) const FIGURES: &[Entry] = &[
    Entry { id: "NB 1", draw: tradeoff::figure_1 },
    Entry { id: "NB 2", draw: patterns::figure_2 },
    Entry { id: "NB 3", draw: patterns::figure_3 },
    Entry { id: "NB 4", draw: patterns::figure_4 },
    Entry { id: "NB 5", draw: patterns::figure_5 },
    Entry { id: "NB 6", draw: patterns::figure_6 },
    Entry { id: "NB 7", draw: flags::figure_7 },
    Entry { id: "NB 8", draw: flags::figure_8 },
    Entry { id: "NB 9", draw: flags::figure_9 },
    Entry { id: "NB 10", draw: flags::figure_10 },
    Entry { id: "NB 11", draw: flags::figure_11 },
    Entry { id: "NB 12", draw: programs::transactions },
    Entry { id: "NB 13", draw: programs::lu },
    Entry { id: "NB latency", draw: overlap::latency },
    Entry { id: "NB overlap", draw: overlap::overlap_in_lock_epochs },
    Entry { id: "NB accumulate", draw: accumulate::overlap_at_the_target },
];
