//! The order of transfers within an epoch (intra-epoch-scheduling): remote ones first, copies while the network streams.

mod equations;
mod overlap;

use crate::entry::Entry;
use crate::programs;

pub(crate) const FIGURES: &[Entry] = &[
    Entry { id: "IE 1", draw: programs::radix },
    Entry { id: "IE 2", draw: overlap::figure_2 },
    Entry { id: "IE 3", draw: overlap::figure_3 },
    Entry { id: "IE (1)-(8)", draw: equations::equations },
];
