//! In which order two ranks come to a message, and where each then waits (smartinterrupts 3.1.1).

mod orders;

use crate::entry::Entry;

pub(crate) const FIGURES: &[Entry] =
    &[Entry { id: "SI 3.1", draw: orders::figure_3_1 }, Entry { id: "SI 3.2", draw: orders::figure_3_2 }];
