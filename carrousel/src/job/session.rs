//! Joining the job that this process is a rank of, and leaving it (MPI-4.1, chapter 11).

use crate::shared::Shared;
use crate::{CallSite, Communicator, Error};
use carrousel_engine::{Joined, PmiConnection};
use carrousel_options::{OptionError, SIMULATION, Settings};
use carrousel_system::{Defect, SYSTEM, System, inherited, stderr};
use std::env;

/// The job, from the moment this process joins it until it leaves by [`Job::finalize`].
///
/// ```
/// # for name in ["PMI_FD", "PMI_PORT"] { assert!(std::env::var(name).is_err()); }
/// fn main() -> Result<(), carrousel::Error> {
///     let job = carrousel::init()?;
///     let world = job.world();
///     let mut sum = [0];
///     world.allreduce(&[world.rank()], &mut sum, |one, other| one + other)?;
///     if world.rank() == 0 {
///         println!("{} ranks, whose numbers add up to {}", world.size(), sum[0]);
///     }
///     job.finalize()
/// }
/// ```
///
/// `carrousel run -n 4 ./program` starts it as four ranks; by itself, it is a job of one.
///
/// A process that ends without that has failed, whatever its exit status: a program that returns early because of an
/// error must not keep its peers waiting. The launcher tells them, and ends the job.
#[derive(Debug)]
#[must_use = "a process that ends without `finalize` has failed"]
pub struct Job {
    world: Communicator,
    connection: PmiConnection,
}

/// Joins the job for which this process was started (`MPI_Init`): by `carrousel run`, or by any launcher that speaks
/// PMI-1. Without a launcher, the process is a job of one rank. To be called once in a process.
///
/// # Errors
/// If the launcher cannot be reached, an option is wrong, or there is too little memory.
pub fn init() -> Result<Job, Error> {
    let settings = Settings::read().map_err(|error: OptionError| {
        Error::Option(error.help.as_ref().map_or(error.to_string(), |help| format!("{error}: {help}")))
    })?;
    init_with(&settings)
}

/// As [`init`], with options that were read before: for programs that set options in addition to those of the
/// environment.
///
/// # Errors
/// As [`init`].
pub fn init_with(settings: &Settings) -> Result<Job, Error> {
    if env::var_os(SIMULATION).is_some() {
        let simulates = format!(
            "{SIMULATION} is set: this process is to simulate the job, and cannot join it; \
             a program that can do both gives its `async fn` to `carrousel_app::run`"
        );
        return Err(Error::Launch(simulates));
    }
    Ok(Job::of(carrousel_engine::join(settings)?))
}

impl Job {
    /// The job that an endpoint has joined.
    #[doc(hidden)]
    pub fn of(Joined { endpoint, connection }: Joined) -> Self {
        Self { world: Communicator::world(Shared::new(endpoint)), connection }
    }

    /// All ranks of the job (`MPI_COMM_WORLD`).
    pub fn world(&self) -> &Communicator {
        &self.world
    }

    /// Leaves the job (`MPI_Finalize`): waits until all ranks do, so that no rank misses this one.
    ///
    /// # Errors
    /// If a rank or the launcher is gone. With the option `check_usage`, also if another rank calls a collective
    /// instead, or if this rank has not received a message.
    #[track_caller]
    pub fn finalize(self) -> Result<(), Error> {
        let site = self.world.site();
        self.finalize_at(site)
    }

    /// As [`Job::finalize`], on behalf of `site`, see [`Communicator::at`].
    ///
    /// # Errors
    /// As [`Job::finalize`].
    pub fn finalize_at(self, site: CallSite) -> Result<(), Error> {
        let left = self.world.leave(site)?;
        // A connection between nodes is needed until the peer has learned that everything has arrived. A rank that
        // has not passed the barrier yet watches all others: if it has never met one of them, and that one is gone,
        // it takes it for lost. So no process ends before all have passed.
        if !SYSTEM.restores(Defect::LeavesAlone) {
            self.connection.barrier()?;
        }
        self.connection.finalize()?;
        left.map_or(Ok(()), Err)
    }

    /// Ends the job, with all of its ranks, because it cannot go on (`MPI_Abort`).
    pub fn abort(self, code: i32, message: &str) -> ! {
        stderr::tell(message);
        if inherited::is_child() {
            // The job is its parent's.
            std::process::exit(code);
        }
        self.world.shared.with(|endpoint| endpoint.abandon());
        // This ends the process, too. If the launcher cannot be told, it notices the end of the process.
        let _ = self.connection.abort(code, message);
        std::process::exit(code)
    }
}
