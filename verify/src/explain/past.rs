//! Which steps of a path matter: those in the causal past of what went wrong.
//!
//! A step depends on the earlier ones of its rank, and the arrival of something on the step that sent it.

use super::walk::{Beat, Sent};
use std::collections::HashSet;

/// Whether each beat is in the causal past of the last beats of `ranks`.
pub(super) fn causal_past(beats: &[Beat], flights: &[Sent], ranks: &[u16]) -> Vec<bool> {
    let mut wanted: HashSet<u16> = ranks.iter().copied().collect();
    let mut keep = vec![false; beats.len()];
    for (at, beat) in beats.iter().enumerate().rev() {
        if !keep[at] && !wanted.contains(&beat.at) {
            continue;
        }
        keep[at] = true;
        // What this rank did before led here.
        wanted.insert(beat.at);
        if let Some(sent) = beat.landed.and_then(|landed| flights.get(landed)) {
            keep[sent.launched] = true;
        }
    }
    keep
}
