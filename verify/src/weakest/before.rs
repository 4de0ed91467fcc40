//! Accesses that messages and collectives keep apart, under every MPI.

use super::names::AccessName;
use super::plan::RankPlan;
use crate::happens_before::{Behind, HappensBefore, Point};
use crate::program::{Act, Job, Ordinal};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// What is known of the order of the accesses of a job.
pub(super) struct AccessesBefore<'a> {
    ranks: &'a [RankPlan],
    steps: HappensBefore,
    /// By rank and request: the step that waits for it.
    waits: Vec<BTreeMap<Ordinal, u16>>,
    /// What is behind the steps that have been asked for.
    behind: RefCell<BTreeMap<Point, Behind>>,
}

impl<'a> AccessesBefore<'a> {
    /// Of these plans of a job. Without `collectives`, nobody waits for others in them.
    pub(super) fn new(ranks: &'a [RankPlan], job: &Job, collectives: bool) -> Self {
        let waits = job.ranks.iter().map(|program| {
            let steps = (0..).zip(&program.steps);
            let waits = steps.filter_map(|(step, it)| match &it.act {
                Act::Wait(requests) => Some(requests.iter().map(move |request| (*request, step))),
                _ => None,
            });
            waits.flatten().collect()
        });
        let (steps, behind) = (HappensBefore::new(job, collectives), RefCell::default());
        Self { ranks, steps, waits: waits.collect(), behind }
    }

    /// Whether an access is over, in every execution, when a step begins.
    pub(super) fn is_over(&self, (rank, access): AccessName, then: Point) -> bool {
        let access = &self.ranks[usize::from(rank)].accesses[usize::from(access)];
        access.ends.iter().any(|end| {
            let wait = self.waits[usize::from(end.rank)].get(&end.request);
            wait.is_some_and(|wait| self.is_behind((end.rank, *wait), then))
        })
    }

    /// Whether a step begins, in every execution, when another one is over.
    pub(super) fn is_behind(&self, first: Point, then: Point) -> bool {
        let mut behind = self.behind.borrow_mut();
        behind.entry(first).or_insert_with(|| self.steps.behind(first)).has(then)
    }
}
