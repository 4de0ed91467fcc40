//! The job that runs in this thread: what a stack of its own begins with cannot take it along.

use crate::plan::Plan;
use crate::world::World;
use std::cell::RefCell;
use std::rc::Rc;

/// What the actors of a job share.
pub(crate) struct JobState {
    pub(crate) world: Rc<World>,
    pub(crate) plan: Plan,
}

thread_local! {
    static JOB: RefCell<Option<Rc<JobState>>> = const { RefCell::new(None) };
}

/// Sets the job, or ends it.
pub(crate) fn set(job: Option<JobState>) {
    JOB.set(job.map(Rc::new));
}

/// The job, while its actors run.
pub(crate) fn get() -> Rc<JobState> {
    JOB.with_borrow(Option::clone).expect("a job runs")
}

/// Its world.
pub(crate) fn world() -> Rc<World> {
    Rc::clone(&get().world)
}
