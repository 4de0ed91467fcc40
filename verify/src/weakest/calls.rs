//! Calls on windows under the weakest MPI: what a rank has open, and what its call breaks.

use super::names::EpochId;
use super::races::{self, is_exposed, is_exposed_by_fence};
use crate::action::Action;
use crate::context::StepContext;
use crate::model::Model;
use crate::program::Ordinal;
use crate::state::{Open, Proc, State};
use crate::violation::{Violation, ViolationKind};
use crate::windows::follow;
use carrousel_rank::Protocol;
use carrousel_scenario::Check;

impl<P: Protocol> StepContext<'_, P> {
    /// Whether the epochs of a window admit the call of this step; otherwise it is a violation.
    pub(crate) fn is_admitted(&mut self, proc: &Proc<P>) -> bool {
        let refused = self.model.facts(self.state.job).windows.refusal(self.me, proc.pc);
        if let Some(error) = refused {
            self.violates(Check::EpochUsage, ViolationKind::EpochUsage { at: self.me, error });
        }
        refused.is_none()
    }

    /// The program opens, closes or flushes an epoch.
    pub(crate) fn synchronize_weakly(&mut self, proc: &mut Proc<P>, ordinal: Ordinal, call: u16) {
        if !self.is_admitted(proc) {
            return;
        }
        let (program, plan) =
            (self.model.program(self.state.job, self.me), &self.model.facts(self.state.job).plan);
        let synchronization = &program.synchronizations[usize::from(call)];
        follow(proc, synchronization.window, synchronization.call(), ordinal, &program.accesses);
        if plan.rank(self.me).closes(ordinal) {
            proc.open.push(Open { ordinal, handle: None, message: None, exposed: false, busy: false });
        }
        if let Some(access) = plan.rank(self.me).between_fences.get(&proc.pc) {
            let kind = ViolationKind::AccessBetweenFences { at: self.me, access: *access };
            self.violates(Check::EpochUsage, kind);
        }
    }

    /// The program has got the end of a request back: what its epoch has locked is given back.
    pub(crate) fn end_of(&mut self, ordinal: Ordinal) {
        let plan = &self.model.facts(self.state.job).plan;
        if !plan.is_empty()
            && let Some(epoch) = plan.rank(self.me).closed_by(ordinal)
        {
            self.state.weakest.end((self.me, epoch));
        }
    }
}

/// What a step has broken: accesses that race, and memory that is locked and exposed at once (MPI-4.1, 12.5.3).
pub(crate) fn check<P: Protocol>(model: &Model<P>, before: &State<P>, action: Action, after: &mut State<P>) {
    let plan = &model.facts(before.job).plan;
    if plan.is_empty() {
        return;
    }
    if let Action::Step { rank: at, .. } = action
        && let Some(first) = races::racing_with(plan, before, (at, before.procs[usize::from(at)].pc))
    {
        let kind = ViolationKind::Race { at, first, second: (at, None) };
        after.violations.push(Violation { check: Check::RmaRace, kind });
    }
    races::check(plan, before, after);
    for ((window, host), locks) in plan.all_mixed() {
        if !is_exposed(plan, after, window, host) {
            continue;
        }
        let was_exposed = is_exposed(plan, before, window, host);
        // A rank's own lock beside its `post` is refused by its epochs, and behind `iunlock` the exposure waits.
        let is_own = |epoch: &EpochId| epoch.0 == host;
        let is_fenced = is_exposed_by_fence(plan, after, window, host);
        let is_meant = |epoch: &EpochId| !is_own(epoch) || is_fenced && !plan.has_closed(after, *epoch);
        let mut others = locks.iter().map(|lock| lock.epoch).filter(is_meant);
        let meets = |epoch: &EpochId| {
            plan.has_lock(after, *epoch, host) && !(was_exposed && plan.has_lock(before, *epoch, host))
        };
        if let Some((origin, _)) = others.find(meets) {
            let kind = match was_exposed {
                true => ViolationKind::LockedWhileExposed { at: host, origin },
                false => ViolationKind::ExposedWhileLocked { at: host, holder: origin },
            };
            after.violations.push(Violation { check: Check::EpochUsage, kind });
        }
    }
}
