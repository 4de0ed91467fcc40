//! The order of an epoch's transfers: a model of one rank around [`carrousel_schedule::Schedule`], the one of production.
//!
//! The program and the grants of its targets offer copies and notices in every order, demand targets, and due works are
//! taken whenever there is one. *Promises:* each work comes out once (`once`); accumulates to one target keep their order
//! (`accumulate-order`); a notice comes out behind all earlier works of its target (`done-behind-data`); all that is
//! awaited comes out (`never-stuck`).

use crate::bounds::Bounds;
use crate::explore::Limits;
use crate::machine::{self, Machine, promises};
use crate::outcome::Outcome;
use crate::rules::{RuleSet, RuleType, Rules};
use crate::situations::{Situations, situations};
use carrousel_schedule::{Granted, Place, Schedule, ScheduleRules, Threshold, Transfer};
use stateright::{Model, Property};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The bounds of an exploration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleBounds {
    /// Targets on the node.
    pub targets: u8,
    /// Works that are offered, at most.
    pub works: u8,
}

impl ScheduleBounds {
    /// As in a table.
    pub fn name(&self) -> String {
        format!("schedule: {} works for {} targets", self.works, self.targets)
    }
}

impl Bounds for ScheduleBounds {
    const SET: RuleSet = RuleSet::Schedule;

    fn explore_under<R: Rules>(self, limits: &Limits<'_>) -> Outcome {
        machine::explore(ScheduleModel::<R::Schedule>::new(self), limits)
    }
}

situations! {
    /// A situation that an exploration has to cover.
    pub enum ScheduleCoverPoint {
        /// A copy was made in the call.
        AtOnce = "at once",
        /// A copy was queued.
        Queued = "queued",
        /// A small accumulate was queued behind another one.
        Behind = "behind another",
        /// A target had works that are due, and others that are not.
        PartlyDue = "partly due",
        /// A copy became due that nobody waits for.
        Meanwhile = "meanwhile",
        /// A notice was queued.
        NoticeWaits = "notice waits",
    }
}

/// Sizes on both sides of the threshold.
const SIZES: [u64; 2] = [8, 64 * 1024];
const GRANTS: [Granted; 3] = [Granted::InCall, Granted::Later, Granted::Awaited];

/// What was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Work {
    target: u8,
    accumulates: bool,
    is_notice: bool,
    /// Somebody waits for it.
    is_awaited: bool,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScheduleAction {
    /// A copy to a target is offered.
    Offer(u8, Transfer),
    /// A notice to a target is offered.
    Notice(u8),
    /// The works of a target are demanded.
    Demand(u8),
    /// The oldest work of all that wait is demanded: the rank has nothing better to do.
    DemandOldest,
    /// The next that is due is taken.
    Take,
}

/// A state of the model: what was offered, and in which order it came out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ScheduleState<R: ScheduleRules> {
    schedule: Schedule<u8, u8, R>,
    works: Vec<Work>,
    out: Vec<u8>,
}

impl<R: ScheduleRules> ScheduleState<R> {
    fn is_out(&self, work: u8) -> bool {
        self.out.contains(&work)
    }

    /// Somebody waits for all works of a target that were offered so far.
    fn awaits(&mut self, target: u8) {
        let of_target = self.works.iter_mut().filter(|work| work.target == target);
        of_target.for_each(|work| work.is_awaited = true);
    }
}

struct ScheduleModel<R> {
    bounds: ScheduleBounds,
    counts: Arc<Situations<ScheduleCoverPoint>>,
    rules: std::marker::PhantomData<R>,
}

impl<R: ScheduleRules> ScheduleModel<R> {
    fn new(bounds: ScheduleBounds) -> Self {
        Self { bounds, counts: Arc::default(), rules: std::marker::PhantomData }
    }
}

impl<R: ScheduleRules + RuleType> Model for ScheduleModel<R> {
    type State = ScheduleState<R>;
    type Action = ScheduleAction;

    fn init_states(&self) -> Vec<ScheduleState<R>> {
        let schedule = Schedule::new(Threshold::default());
        vec![ScheduleState { schedule, works: Vec::new(), out: Vec::new() }]
    }

    fn actions(&self, state: &ScheduleState<R>, actions: &mut Vec<ScheduleAction>) {
        if self.counts.is_stopped() || self.broken(state).is_some() {
            return;
        }
        for target in 0..self.bounds.targets {
            if state.works.len() < usize::from(self.bounds.works) {
                for bytes in SIZES {
                    for granted in GRANTS {
                        let transfer =
                            |accumulates| Transfer { place: Place::Node, bytes, granted, accumulates };
                        actions.extend([false, true].map(|it| ScheduleAction::Offer(target, transfer(it))));
                    }
                }
                actions.push(ScheduleAction::Notice(target));
            }
            actions.push(ScheduleAction::Demand(target));
        }
        if !state.schedule.is_empty() {
            actions.push(ScheduleAction::DemandOldest);
        }
        if state.schedule.is_due() {
            actions.push(ScheduleAction::Take);
        }
    }

    fn next_state(&self, state: &ScheduleState<R>, action: ScheduleAction) -> Option<ScheduleState<R>> {
        let mut next = state.clone();
        let number = next.works.len() as u8;
        match action {
            ScheduleAction::Offer(target, transfer) => {
                let accumulates = transfer.accumulates;
                next.works.push(Work { target, accumulates, is_notice: false, is_awaited: false });
                let now = next.schedule.offer(target, transfer, number);
                self.counts.note(if now.is_some() {
                    ScheduleCoverPoint::AtOnce
                } else {
                    ScheduleCoverPoint::Queued
                });
                if now.is_none() && transfer.bytes == SIZES[0] && transfer.granted == Granted::InCall {
                    self.counts.note(ScheduleCoverPoint::Behind);
                }
                next.out.extend(now);
                if transfer.granted == Granted::Awaited {
                    next.awaits(target);
                }
            }
            ScheduleAction::Notice(target) => {
                next.works.push(Work { target, accumulates: false, is_notice: true, is_awaited: false });
                let now = next.schedule.notice(target, number);
                if now.is_none() {
                    self.counts.note(ScheduleCoverPoint::NoticeWaits);
                }
                next.out.extend(now);
                next.awaits(target);
            }
            ScheduleAction::Demand(target) => {
                next.schedule.demand(&target);
                next.awaits(target);
            }
            ScheduleAction::DemandOldest => {
                let was_due = next.schedule.is_due();
                next.schedule.demand_oldest(|_| true);
                if !was_due {
                    self.counts.note(ScheduleCoverPoint::Meanwhile);
                }
            }
            ScheduleAction::Take => {
                let taken = next.schedule.take_due()?;
                next.out.push(taken);
                let target = next.works.get(usize::from(taken))?.target;
                let waits = |(number, work): (u8, &Work)| work.target == target && !next.is_out(number);
                if next.schedule.is_due() && (0..).zip(&next.works).any(waits) {
                    self.counts.note(ScheduleCoverPoint::PartlyDue);
                }
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        promises()
    }
}

impl<R: ScheduleRules + RuleType> Machine for ScheduleModel<R> {
    fn broken(&self, state: &ScheduleState<R>) -> Option<String> {
        let last = *state.out.last()?;
        if state.out.iter().filter(|out| **out == last).count() > 1 {
            return Some(format!("once: work {last} comes out twice"));
        }
        let it = state.works.get(usize::from(last))?;
        let left = |(number, work): &(u8, &Work)| work.target == it.target && !state.is_out(*number);
        let mut earlier = (0..last).zip(&state.works).filter(left);
        match it.is_notice {
            true => earlier.next().map(|(number, _)| {
                format!("done-behind-data: notice {last} is sent, and work {number} of its target is queued")
            }),
            false => earlier.find(|(_, work)| it.accumulates && work.accumulates).map(|(number, _)| {
                format!("accumulate-order: {last} comes out before {number}, which was called earlier")
            }),
        }
    }

    fn is_done(&self, state: &ScheduleState<R>) -> bool {
        (0..).zip(&state.works).all(|(number, work)| !work.is_awaited || state.is_out(number))
    }

    fn is_owed(&self, action: ScheduleAction) -> bool {
        action == ScheduleAction::Take
    }

    fn line(&self, before: &ScheduleState<R>, action: ScheduleAction, after: &ScheduleState<R>) -> String {
        let number = before.works.len();
        let now = if after.out.len() > before.out.len() { "carried out at once" } else { "queued" };
        match action {
            ScheduleAction::Offer(target, transfer) => {
                let kind = if transfer.accumulates { "an accumulate" } else { "a copy" };
                let grant = match transfer.granted {
                    Granted::InCall => "in its call",
                    Granted::Later => "later",
                    Granted::Awaited => "when its epoch is closed",
                };
                format!(
                    "{number}: {kind} of {} bytes to target {target}, granted {grant}, is {now}",
                    transfer.bytes
                )
            }
            ScheduleAction::Notice(target) => format!("{number}: the notice for target {target} is {now}"),
            ScheduleAction::Demand(target) => format!("somebody waits for all works of target {target}"),
            ScheduleAction::DemandOldest => "nothing else can be done: the oldest work is due".to_owned(),
            ScheduleAction::Take => match after.out.last() {
                Some(last) => format!("{last} is carried out"),
                None => "nothing is due".to_owned(),
            },
        }
    }

    fn met(&self) -> Vec<(&'static str, u64)> {
        self.counts.met()
    }

    fn stop(&self) -> &AtomicBool {
        &self.counts.stop
    }

    fn stuck(&self, state: &ScheduleState<R>) -> String {
        let waits =
            (0..).zip(&state.works).filter(|(number, work)| work.is_awaited && !state.is_out(*number));
        let waits: Vec<String> = waits.map(|(number, _): (u8, _)| number.to_string()).collect();
        format!("never-stuck: nothing is due, and somebody waits for {}", waits.join(", "))
    }
}
