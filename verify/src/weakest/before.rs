//! The order of steps under every MPI, and the steps that wait for requests.

use crate::happens_before::{Behind, HappensBefore, Point};
use crate::program::{Act, Job, Ordinal};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The most entries that are kept of what is behind steps; each step has one for each rank. When there would be more, all are
/// dropped, and found anew when they are needed.
const KEPT_MAX: usize = 1 << 24;

/// What is known of the order of the steps of a job.
pub(super) struct StepsBefore<'a> {
    steps: &'a HappensBefore<'a>,
    /// By rank and request: the step that waits for it.
    waits: Vec<BTreeMap<Ordinal, u16>>,
    /// What is behind the steps that have been asked for.
    behind: RefCell<BTreeMap<Point, Behind>>,
}

impl<'a> StepsBefore<'a> {
    /// Of a job, whose steps are in this order.
    pub(super) fn new(job: &Job, steps: &'a HappensBefore<'a>) -> Self {
        let waits = job.ranks.iter().map(|program| {
            let steps = (0..).zip(&program.steps);
            let waits = steps.filter_map(|(step, it)| match &it.act {
                Act::Wait(requests) => Some(requests.iter().map(move |request| (*request, step))),
                _ => None,
            });
            waits.flatten().collect()
        });
        Self { steps, waits: waits.collect(), behind: RefCell::default() }
    }

    /// The step of a rank that waits for a request.
    pub(super) fn wait_of(&self, rank: u16, request: Ordinal) -> Option<u16> {
        self.waits[usize::from(rank)].get(&request).copied()
    }

    /// Whether a step begins, in every execution, when another one is over.
    pub(super) fn is_behind(&self, first: Point, then: Point) -> bool {
        if first.0 == then.0 {
            return first.1 < then.1;
        }
        let mut behind = self.behind.borrow_mut();
        if behind.len() > KEPT_MAX / self.waits.len().max(1) && !behind.contains_key(&first) {
            behind.clear();
        }
        behind.entry(first).or_insert_with(|| self.steps.behind(first)).has(then)
    }
}
