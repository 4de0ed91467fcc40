//! All figures, by paper.

use crate::entry::Entry;
use crate::{arrivals, epochs, rendezvous, scheduling};

/// The figures of one paper, or of one part of it.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The paper's short name, with which each figure's begins.
    pub name: &'static str,
    /// What they are about.
    pub title: &'static str,
    /// In the order of the paper.
    pub figures: &'static [Entry],
}

/// All families, each with its own module; those of whole applications are in `programs`.
pub const FAMILIES: &[Family] = &[
    Family {
        name: "NB",
        title: "Epochs that never block (nonblocking-rma-epochs)",
        figures: epochs::FIGURES,
    },
    Family {
        name: "IE",
        title: "The order of transfers within an epoch (intra-epoch-scheduling)",
        figures: scheduling::FIGURES,
    },
    Family {
        name: "SR",
        title: "The speculative rendezvous (speculative-rendezvous, chapters 3 and 4)",
        figures: rendezvous::FIGURES,
    },
    Family {
        name: "SI",
        title: "Arrival orders of a message (smartinterrupts, 3.1)",
        figures: arrivals::FIGURES,
    },
];
