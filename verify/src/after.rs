//! The state after an action: what it does, what is forgotten then, and what is checked.

use crate::action::Action;
use crate::forget::forget;
use crate::learned::{StepBegin, StepInput};
use crate::model::Model;
use crate::oracle::check_end;
use crate::own_locks::check_not_locked;
use crate::spent::is_last;
use crate::state::State;
use crate::step::take;
use crate::weakest;
use crate::windows::{check_assertions, exposes_next};
use carrousel_rank::Protocol;
use smallvec::SmallVec;

/// The state after `action`.
pub(crate) fn after<P: Protocol>(model: &Model<P>, state: &State<P>, action: Action) -> State<P> {
    let mut next = State {
        job: state.job,
        procs: state.procs.clone(),
        network: state.network.clone(),
        begun: state.begun.clone(),
        weakest: state.weakest.clone(),
        violations: SmallVec::new(),
    };
    let me = action.rank();
    if let Action::Lock(step) = action {
        next.weakest.take(step);
    } else if let Some(mut input) = StepInput::take(action, &mut next.network) {
        if let StepInput::Land(item) = &input
            && is_last(model, &next, item.0)
        {
            input = StepInput::LandLast(item.clone());
        }
        let proc = state.procs[usize::from(me)].clone();
        take(model, StepBegin { job: state.job, me, proc, input }, state, &mut next);
        forget(model, state, action, &mut next);
    }
    if let Action::Step { .. } = action {
        if let Some(window) = exposes_next(model, state, me) {
            check_not_locked(window, &mut next, me);
        }
        check_assertions(model, state, &mut next, me);
    }
    weakest::calls::check(model, state, action, &mut next);
    next.forget_what_is_over();
    check_end(model, &mut next);
    next.violations.retain(|violation| model.tells(violation));
    next
}
