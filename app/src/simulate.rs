//! Simulates a program in virtual time, with all of its ranks in this thread.

use crate::world::{World, WorldKind};
use carrousel_transport_sim::{Config, Port, Report, SimError, TaskFuture, TaskJob, simulate_tasks};
use std::cell::RefCell;
use std::fmt::Display;
use std::future::Future;
use std::rc::Rc;

/// Runs `app` once, as the ranks of `job`, in virtual time. Returns the result of each rank, and the report.
///
/// # Errors
/// If the configuration asks for something that the simulator does not have, a rank fails or panics, ranks get stuck,
/// or a limit is hit.
pub fn simulate<T: 'static, E: Display, F>(
    job: &TaskJob,
    config: &Config,
    app: impl Fn(World) -> F,
) -> Result<(Vec<T>, Report), SimError>
where
    F: Future<Output = Result<T, E>> + 'static,
{
    let values: Rc<RefCell<Vec<Option<T>>>> = Rc::default();
    values.borrow_mut().resize_with(job.nodes.len(), || None);
    let start = |port: Port| -> TaskFuture {
        let (me, values) = (port.rank() as usize, Rc::clone(&values));
        let rank = app(World(WorldKind::Simulated(port)));
        Box::pin(async move {
            let value = rank.await.map_err(|error| error.to_string())?;
            values.borrow_mut()[me] = Some(value);
            Ok(())
        })
    };
    let report = simulate_tasks(job, config, start)?;
    // Every rank has returned; otherwise there would be no report.
    let values = values.borrow_mut().iter_mut().filter_map(Option::take).collect();
    Ok((values, report))
}
