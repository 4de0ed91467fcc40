//! `carrousel run`: programs, and scenarios, as the ranks of a job.

mod hang;
mod memory;
mod payload;
mod play;
mod rank;

pub(crate) use self::rank::is_one as is_rank;

use self::hang::Reports;
use crate::args::Format;
use crate::failure::Failure;
use crate::input;
use crate::out::{Out, to_stderr};
use crate::status::Status;
use crate::style::{Paint, Style};
use carrousel_launch::{Event, Host, Job, LaunchError, agent, run as launch};
use carrousel_options::Settings;
use carrousel_scenario::Scenario;
use carrousel_trace::{TraceError, part_of, prepare};
use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{self, Path, PathBuf};

/// Failures that are told one by one; of a thousand ranks that fail alike, nobody reads all.
const TOLD: usize = 4;

/// Start a program, or a scenario, as the ranks of a job
///
/// Of a scenario, each rank is a process that does what the file says: messages of the sizes that stand
/// there, filled with a pattern of which the receiver checks every byte. It prints what `sim` prints, in
/// real time. Under another launcher (mpiexec -n 2 carrousel run FILE.scn) the processes are its.
///
/// The memory of its messages is made, filled and touched before the clock starts (up to 1 GiB of all ranks
/// together; what is beyond that, when its statement begins, as a note says), and what has come is compared after
/// it has stopped: so each time is that of the call. `read buf B` reads the buffer, with what has last come into
/// it, and `write buf B` writes it. Of a request, `computed us` is how long its rank computed between the return
/// of the call that started it and its completion, and `waited us` how long it was in calls that wait: where data
/// moves while both ranks compute, the second is next to nothing.
///
/// Of a program, N processes are started, on this node or on several hosts, and the command waits for all of them. Each
/// finds its rank and the others by PMI-1, as under MPICH's mpiexec and Slurm; a program that does not
/// ask is simply run N times. Rank 0 reads standard input; the output of all is passed on in whole lines;
/// SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP and SIGCONT go to all ranks.
///
/// When a rank fails (by a status other than 0, a signal, an abort, or an end that the others did not
/// expect), the others are told, have a second to end by themselves, get SIGTERM, and a second later
/// SIGKILL. No process of the job is left when the command ends.
///
/// A rank that waits in one call for longer than `hang_report` (30s; see `carrousel info`) says what for, and so
/// does each that waits when it gets SIGUSR1; what they say is put together: who waits for whom.
///
/// With --trace, each rank writes down all that its protocol is given, for `carrousel check` to compare with the
/// model that `carrousel verify` explores.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  carrousel run ring.scn
  carrousel run ring.scn --format json
  CARROUSEL_HANG_REPORT=5s carrousel run ring.scn     say after 5 s who waits for whom
  carrousel run -n 4 -- ./heat 1024
  carrousel run --trace out -n 4 -- ./heat 1024       record it; then: carrousel check out
  carrousel run -n 4 --prefix -- hostname             [0] node1, [1] node1, ...
  carrousel run -n 2 -- sort < names.txt              rank 0 reads the file
  carrousel run -n 6 --hosts node1:2,node2:4 -- ./heat 1024

Hosts are reached by ssh, which must not need a password; the first one gets
rank 0. Each needs carrousel and the program at the same paths as here; ranks
start in this directory, with PATH and what sets options (CARROUSEL_...) as they
are here. Other variables stay here.

Exit status: 0 when all ranks succeed; otherwise that of the rank that failed
first, or 128 + the number of the signal that killed it; 255 when a host is
lost; 127 when there is no such program, 126 when it cannot be started; 2 for
a wrong command line.")]
pub(crate) struct Args {
    /// How many ranks; a scenario says so itself
    #[arg(short = 'n', long, value_name = "N", required_unless_present_any = ["agent", "file"])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,
    /// Put the rank in front of each line of output: `[3] ...`
    #[arg(long)]
    prefix: bool,
    /// Record what each rank does into this directory, in which nothing else may be
    #[arg(long, value_name = "DIRECTORY")]
    trace: Option<PathBuf>,
    /// Where the ranks are: NAME or NAME:RANKS, with 1 rank for each turn by default
    #[arg(long, value_name = "HOST,...", value_delimiter = ',', value_parser = Host::parse)]
    hosts: Vec<Host>,
    /// What a launcher on another host starts here
    #[arg(long, hide = true, exclusive = true)]
    agent: bool,
    /// How to print what a scenario has done
    #[arg(long, value_enum, default_value_t, conflicts_with = "program")]
    format: Format,
    /// A scenario
    #[arg(value_name = "FILE.scn", conflicts_with = "program")]
    file: Option<PathBuf>,
    /// The program, and its arguments
    #[arg(last = true, value_name = "PROGRAM", required_unless_present_any = ["agent", "file"])]
    program: Vec<OsString>,
}

/// `carrousel run`.
pub(crate) fn run(args: &Args, out: &mut Out, errors: Style) -> Result<Status, Failure> {
    if args.agent {
        return agent().map(|()| Status::Fine).map_err(Failure::wrong);
    }
    if let Some(file) = &args.file {
        return run_scenario(args, file, out, errors);
    }
    let [program, arguments @ ..] = &args.program[..] else {
        return Err(Failure::wrong("there is no program to run").with_help("carrousel run -n 4 -- PROGRAM"));
    };
    let mut job = Job::new(program, args.ranks.unwrap_or(1));
    job.arguments = arguments.to_vec();
    let job = args.place(job)?;
    let done = start(&job, None, errors)?;
    args.say_untraced(errors);
    Ok(done)
}

/// Runs a scenario: this process is one of its ranks, or starts them.
fn run_scenario(args: &Args, file: &Path, out: &mut Out, errors: Style) -> Result<Status, Failure> {
    let settings = input::settings()?;
    let scenario = input::scenario(file, &settings, errors)?;
    rank::check(&scenario, errors)?;
    if rank::is_one() {
        let settings = match args.trace_directory()? {
            Some(directory) => settings.with_trace(directory),
            None => settings,
        };
        return rank::run(&scenario, &settings, args.format, out, errors);
    }
    if let Some(ranks) = args.ranks.filter(|ranks| *ranks != scenario.ranks) {
        return Err(rank::wrong_size(&scenario, ranks));
    }
    if file == Path::new("-") {
        return Err(Failure::wrong("every rank reads the scenario: it cannot come by standard input")
            .with_help("write it to a file that all hosts see"));
    }
    if memory::exceeds(&scenario) {
        let note = errors.paint(Paint::Note, "note:");
        to_stderr(&format!(
            "{note} the messages need more than 1 GiB: those at the end are filled while the clock runs, and make \
             later statements late"
        ));
    }
    let mut job = Job::new(own_path()?, scenario.ranks);
    let format = match args.format {
        Format::Human => "human",
        Format::Json => "json",
    };
    job.arguments = ["run", "--format", format].map(OsString::from).to_vec();
    job.arguments.push(file.into());
    start(&args.place(job)?, Some(&scenario), errors)
}

impl Args {
    /// The job, where and how it is asked for.
    fn place(&self, mut job: Job) -> Result<Job, Failure> {
        job.prefix = self.prefix;
        job.hosts = self.hosts.clone();
        if !job.hosts.is_empty() {
            job.agent = agent_command(&own_path()?);
            let path = env::var_os("PATH").map(|path| ("PATH".into(), path));
            job.environment = path.into_iter().chain(Settings::variables()).collect();
        }
        if let Some(directory) = self.trace_directory()? {
            prepare(&directory).map_err(refused_trace)?;
            job.environment.push(Settings::trace_variable(&directory));
        }
        Ok(job)
    }

    /// Where the trace goes, wherever a rank may be.
    fn trace_directory(&self) -> Result<Option<PathBuf>, Failure> {
        let absolute = |directory: &PathBuf| {
            path::absolute(directory).map_err(|error| Failure::of_file("find", directory, &error))
        };
        self.trace.as_ref().map(absolute).transpose()
    }

    /// A program that is none of ours has recorded nothing.
    fn say_untraced(&self, errors: Style) {
        let parts = 0..self.ranks.unwrap_or(1);
        if let Some(directory) = &self.trace
            && !parts.into_iter().any(|rank| part_of(directory, rank).exists())
        {
            let note = errors.paint(Paint::Note, "note:");
            let directory = directory.display();
            to_stderr(&format!(
                "{note} no rank has recorded anything in {directory}: none has joined the job"
            ));
        }
    }
}

/// What this command is called, for whoever starts it again.
pub(crate) fn own_path() -> Result<PathBuf, Failure> {
    env::current_exe()
        .map_err(|error| Failure::wrong(format_args!("cannot tell where carrousel is, to start it: {error}")))
}

/// Starts a job and waits for it.
pub(crate) fn start(job: &Job, scenario: Option<&Scenario>, errors: Style) -> Result<Status, Failure> {
    let mut failures = 0;
    let mut reports = Reports::default();
    let done = launch(job, &mut |event, text| match event {
        Event::Failed { rank, ending, expected: false } => {
            failures += 1;
            if failures <= TOLD {
                let error = errors.paint(Paint::Bad, "error:");
                text.extend_from_slice(format!("{error} rank {rank} {ending}\n").as_bytes());
            }
        }
        Event::Report { json, .. } => reports.add(json),
        Event::ReportsOver => {
            let account = reports.account(job.ranks, scenario);
            if !account.is_empty() {
                let note = errors.paint(Paint::Note, "note:");
                text.extend_from_slice(format!("{note} {account}\n").as_bytes());
            }
        }
        _ => {}
    });
    if failures > TOLD {
        to_stderr(&format!("  and {} more ranks failed", failures - TOLD));
    }
    match done {
        Ok(outcome) => Ok(Status::Job(outcome.status)),
        Err(error) => Err(refused(&error)),
    }
}

/// What can be said against a trace.
pub(crate) fn refused_trace(error: TraceError) -> Failure {
    let failure = Failure::wrong(&error);
    match error.help() {
        Some(help) => failure.with_help(help),
        None => failure,
    }
}

/// What a shell on another host is to run.
fn agent_command(own: &Path) -> OsString {
    let mut command = OsString::from("exec '");
    // The only character that has a meaning between such quotes.
    command.push(own.to_string_lossy().replace('\'', r"'\''"));
    command.push("' run --agent");
    command
}

/// A job that has not begun. The statuses are those of a shell.
fn refused(error: &LaunchError) -> Failure {
    let failure = Failure::wrong(error);
    match error {
        LaunchError::Spawn { source, .. } if source.kind() == ErrorKind::NotFound => {
            failure.with_status(Status::Job(127))
        }
        LaunchError::Spawn { .. } => failure.with_status(Status::Job(126)),
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_quotes_stays_one_word() {
        assert_eq!(agent_command(Path::new("/it's here/c")), r"exec '/it'\''s here/c' run --agent");
    }
}
