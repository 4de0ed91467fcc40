//! The steps of a path that matter: those in the causal past of the violation.
//!
//! A step depends on the earlier ones of its rank, and the arrival of something on the step that sent it.

use super::execution::{ExecutedStep, Sent};
use crate::network::Message;
use std::collections::HashSet;

/// Whether each step is in the causal past of the last steps of `ranks`.
pub(super) fn causal_past(steps: &[ExecutedStep], sent: &[Sent], ranks: &[u16]) -> Vec<bool> {
    past(steps, sent, |step| ranks.contains(&step.at))
}

/// Whether each step is in the causal past of what `ranks` wait for, with the arrival of `messages`.
///
/// An arrival at a rank that goes no further matters only if it is for one of its receives, completes a request, or
/// has effects elsewhere that matter.
pub(super) fn before_deadlock(
    steps: &[ExecutedStep],
    sent: &[Sent],
    ranks: &[u16],
    messages: &HashSet<Message>,
) -> Vec<bool> {
    let ranks: HashSet<u16> = ranks.iter().copied().collect();
    let is_told = |step: &ExecutedStep| step.kept.is_some_and(|message| messages.contains(&message));
    past(steps, sent, |step| {
        let is_step = step.landed.is_none() || step.matched.is_some() || !step.completed.is_empty();
        is_told(step) || (is_step && ranks.contains(&step.at))
    })
}

/// The causal past of the steps that matter.
fn past(steps: &[ExecutedStep], sent: &[Sent], matters: impl Fn(&ExecutedStep) -> bool) -> Vec<bool> {
    // Ranks of which a later step is kept: their earlier steps led there.
    let mut active: HashSet<u16> = HashSet::new();
    let mut keep = vec![false; steps.len()];
    for (at, step) in steps.iter().enumerate().rev() {
        if !keep[at] && !active.contains(&step.at) && !matters(step) {
            continue;
        }
        keep[at] = true;
        active.insert(step.at);
        if let Some(sent) = step.landed.and_then(|landed| sent.get(landed)) {
            keep[sent.launched] = true;
        }
    }
    keep
}
