//! The speculative rendezvous against the classical ones (speculative-rendezvous 3.6 and 4.4).

mod applications;
mod baseline;
mod exchange;
mod message;
mod overhead;
mod overlap;
mod progress;
mod races;

use crate::entry::Entry;

pub(crate) const FIGURES: &[Entry] = &[
    Entry { id: "SR 3.14", draw: baseline::figure_3_14 },
    Entry { id: "SR 3.15", draw: baseline::figure_3_15 },
    Entry { id: "SR 4.1-4.3", draw: races::sequences },
    Entry { id: "SR 4.7, 4.8", draw: races::crossing },
    Entry { id: "SR 4.9", draw: races::unannounced },
    Entry { id: "SR 4.10, 4.11", draw: races::eager },
    Entry { id: "SR 4.12", draw: races::no_deadlock },
    Entry { id: "SR 4.13", draw: overlap::figure_4_13 },
    Entry { id: "SR 4.13 both", draw: overlap::both_compute },
    Entry { id: "SR 4.14", draw: progress::figure_4_14 },
    Entry { id: "SR 4.16", draw: exchange::figure_4_16 },
    Entry { id: "SR 4.17a", draw: applications::figure_4_17a },
    Entry { id: "SR 4.17b", draw: applications::figure_4_17b },
    Entry { id: "SR 4.19a", draw: overhead::figure_4_19a },
    Entry { id: "SR 4.19b", draw: overhead::figure_4_19b },
    Entry { id: "SR 4.2.6", draw: overhead::adaptation },
];
