//! `carrousel run`: programs as the ranks of a job.

use crate::failure::Failure;
use crate::out::to_stderr;
use crate::status::Status;
use crate::style::{Paint, Style};
use carrousel_launch::{Event, Host, Job, LaunchError, agent, run as launch};
use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;

/// Failures that are told one by one; of a thousand ranks that fail alike, nobody reads all.
const TOLD: usize = 4;

/// Start a program as the ranks of a job
///
/// Starts N processes of a program, on this node or on several hosts, and waits for all of them. Each
/// finds its rank and the others by PMI-1, as under MPICH's mpiexec and Slurm; a program that does not
/// ask is simply run N times. Rank 0 reads standard input; the output of all is passed on in whole lines;
/// SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP and SIGCONT go to all ranks.
///
/// When a rank fails (by a status other than 0, a signal, an abort, or an end that the others did not
/// expect), the others are told, have a second to end by themselves, get SIGTERM, and a second later
/// SIGKILL. No process of the job is left when the command ends.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  carrousel run -n 4 -- ./heat 1024
  carrousel run -n 4 --prefix -- hostname             [0] node1, [1] node1, ...
  carrousel run -n 2 -- sort < names.txt              rank 0 reads the file
  carrousel run -n 6 --hosts node1:2,node2:4 -- ./heat 1024

Hosts are reached by ssh, which must not need a password; the first one gets
rank 0. Each needs carrousel and the program at the same paths as here; ranks
start in this directory. Variables of the environment stay here, except PATH.

Exit status: 0 when all ranks succeed; otherwise that of the rank that failed
first, or 128 + the number of the signal that killed it; 255 when a host is
lost; 127 when there is no such program, 126 when it cannot be started; 2 for
a wrong command line.")]
pub(crate) struct Args {
    /// How many ranks
    #[arg(short = 'n', long, value_name = "N", required_unless_present = "agent")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,
    /// Put the rank in front of each line of output: [3] ...
    #[arg(long)]
    prefix: bool,
    /// Where the ranks are: NAME or NAME:RANKS, with 1 rank for each turn by default
    #[arg(long, value_name = "HOST,...", value_delimiter = ',', value_parser = Host::parse)]
    hosts: Vec<Host>,
    /// What a launcher on another host starts here
    #[arg(long, hide = true, exclusive = true)]
    agent: bool,
    /// The program, and its arguments
    #[arg(last = true, value_name = "PROGRAM", required_unless_present = "agent")]
    program: Vec<OsString>,
}

/// `carrousel run`.
pub(crate) fn run(args: &Args, errors: Style) -> Result<Status, Failure> {
    if args.agent {
        return agent().map(|()| Status::Fine).map_err(Failure::wrong);
    }
    let [program, arguments @ ..] = &args.program[..] else {
        return Err(Failure::wrong("there is no program to run").with_help("carrousel run -n 4 -- PROGRAM"));
    };
    let mut job = Job::new(program, args.ranks.unwrap_or(1));
    job.arguments = arguments.to_vec();
    job.prefix = args.prefix;
    job.hosts = args.hosts.clone();
    if !job.hosts.is_empty() {
        let own = env::current_exe().map_err(|error| {
            Failure::wrong(format_args!("cannot tell where carrousel is, to start it on the hosts: {error}"))
        })?;
        job.agent = agent_command(&own);
        job.environment = env::var_os("PATH").map(|path| ("PATH".into(), path)).into_iter().collect();
    }
    let mut failures = 0;
    let done = launch(&job, &mut |event, text| {
        if let Event::Failed { rank, ending, expected: false } = event {
            failures += 1;
            if failures <= TOLD {
                let error = errors.paint(Paint::Bad, "error:");
                text.extend_from_slice(format!("{error} rank {rank} {ending}\n").as_bytes());
            }
        }
    });
    if failures > TOLD {
        to_stderr(&format!("  and {} more ranks failed", failures - TOLD));
    }
    match done {
        Ok(outcome) => Ok(Status::Job(outcome.status)),
        Err(error) => Err(refused(&error)),
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
