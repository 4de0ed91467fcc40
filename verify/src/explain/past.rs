//! Which steps of a path matter: those in the causal past of what went wrong.
//!
//! A step depends on the earlier ones of its rank, and the arrival of something on the step that sent it.

use super::walk::{Beat, Sent};
use crate::network::Message;
use std::collections::HashSet;

/// Whether each beat is in the causal past of the last beats of `ranks`.
pub(super) fn causal_past(beats: &[Beat], flights: &[Sent], ranks: &[u16]) -> Vec<bool> {
    past(beats, flights, |beat| ranks.contains(&beat.at))
}

/// Whether each beat is in the causal past of what `ranks` wait for, with the arrival of `messages`.
///
/// What comes to a rank that goes no further does not matter, unless it is for one of its receives,
/// completes something, or has consequences elsewhere that matter.
pub(super) fn before_deadlock(
    beats: &[Beat],
    flights: &[Sent],
    ranks: &[u16],
    messages: &HashSet<Message>,
) -> Vec<bool> {
    let ranks: HashSet<u16> = ranks.iter().copied().collect();
    let is_told = |beat: &Beat| beat.kept.is_some_and(|message| messages.contains(&message));
    past(beats, flights, |beat| {
        let is_step = beat.landed.is_none() || beat.matched.is_some() || !beat.completed.is_empty();
        is_told(beat) || (is_step && ranks.contains(&beat.at))
    })
}

/// The causal past of the beats that matter.
fn past(beats: &[Beat], flights: &[Sent], matters: impl Fn(&Beat) -> bool) -> Vec<bool> {
    // Ranks of which a later beat is kept: what they did before led there.
    let mut active: HashSet<u16> = HashSet::new();
    let mut keep = vec![false; beats.len()];
    for (at, beat) in beats.iter().enumerate().rev() {
        if !keep[at] && !active.contains(&beat.at) && !matters(beat) {
            continue;
        }
        keep[at] = true;
        active.insert(beat.at);
        if let Some(sent) = beat.landed.and_then(|landed| flights.get(landed)) {
            keep[sent.launched] = true;
        }
    }
    keep
}
