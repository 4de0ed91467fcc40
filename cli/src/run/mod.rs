//! `carrousel run`: programs, and scenarios, as the ranks of a job.

mod args;
mod rank;
mod timeline;

pub(crate) use self::args::{RunArgs, normal_command_line};
pub(crate) use self::rank::is_one as is_rank;

use crate::closed;
use crate::failure::{Failure, shown};
use crate::input;
use crate::out::Out;
use crate::report::Format;
use crate::status::Status;
use crate::style::{Paint, Style};
use crate::verify::Drawing;
use carrousel_launch::{
    Bind, Event, Host, Job, LaunchError, StopReason, agent, end_by_signals, run as launch,
};
use carrousel_options::{Settings, read_bounded};
use carrousel_runner::{WaitReports, exceeds_memory_ahead};
use carrousel_scenario::Scenario;
use carrousel_system::record::exposure;
use carrousel_system::stderr;
use carrousel_trace::{TraceError, has_part, prepare};
use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{self, Path, PathBuf};
use std::time::{Duration, Instant};

/// Failures that are reported one by one; a thousand ranks that fail alike are cut short.
const TOLD: usize = 4;

/// Before anything else: from now on a signal that asks for the end is answered, if these words are a launcher's.
pub(crate) fn end_by_signals_early(words: &[OsString]) -> Result<(), Failure> {
    let command = words.iter().skip(1).find(|word| !word.to_string_lossy().starts_with('-'));
    let launches = command.is_some_and(|word| word == "run")
        && !words.iter().any(|word| word == "--agent")
        && !rank::is_one();
    if launches { end_by_signals().map_err(Failure::wrong) } else { Ok(()) }
}

/// `carrousel run`.
pub(crate) fn run(args: &RunArgs, out: &mut Out, errors: Style) -> Result<Status, Failure> {
    if args.agent {
        return agent().map(|()| Status::Fine).map_err(Failure::wrong);
    }
    if let Some(file) = &args.file {
        return run_scenario(args, file, out, errors);
    }
    let mut job = Job::new("", 1);
    job.programs = args.programs()?;
    let job = args.place(job)?;
    let done = start(&job, args.trace.as_ref(), None, errors)?;
    args.say_untraced(errors);
    Ok(done)
}

/// Runs a scenario: this process is one of its ranks, or starts them.
fn run_scenario(args: &RunArgs, file: &Path, out: &mut Out, errors: Style) -> Result<Status, Failure> {
    let settings = input::settings()?;
    let scenario = input::scenario(file, &settings, errors)?;
    let programs = rank::programs_of(&scenario, errors)?;
    let drawing = args.timeline.as_deref().map(|path| Drawing::of(path).map(|drawing| (path, drawing)));
    let drawing = drawing.transpose()?;
    if rank::is_one() {
        let settings = match args.trace_directory()? {
            Some(directory) => settings.with_trace(directory, args.trace_limit),
            None => settings,
        };
        return rank::run(&scenario, &programs, &settings, (args.format, drawing), out, errors);
    }
    if let Some(ranks) = args.ranks.filter(|ranks| *ranks != scenario.ranks) {
        return Err(rank::wrong_size(&scenario, ranks));
    }
    if file == Path::new("-") {
        return Err(Failure::wrong("every rank reads the scenario: it cannot come by standard input")
            .with_help("write it to a file that all hosts see"));
    }
    if exceeds_memory_ahead(&programs) {
        let note = errors.paint(Paint::Note, "note:");
        stderr::tell(format!(
            "{note} the messages need more than 1 GiB: those at the end are filled while the clock runs, and make \
             later statements late"
        ));
    }
    let mut job = Job::new(own_path()?, scenario.ranks);
    let format = match args.format {
        Format::Human => "human",
        Format::Json => "json",
    };
    let arguments = &mut job.programs[0].arguments;
    arguments.extend(["run", "--format", format].map(OsString::from));
    // In another directory, it still is the file that is meant here.
    let meant = |file: &Path| match args.wdir {
        Some(_) => absolute(file),
        None => Ok(file.to_owned()),
    };
    if let Some((path, _)) = drawing {
        arguments.extend(["--timeline".into(), meant(path)?.into()]);
    }
    arguments.push(meant(file)?.into());
    job.programs[0].directory.clone_from(&args.wdir);
    start(&args.place(job)?, args.trace.as_ref(), Some((&scenario, &settings)), errors)
}

/// Bytes of the longest file of hosts: some hundred thousand of them.
const HOSTS_BYTES_MAX: u64 = 16 << 20;

/// The text of a file of hosts, or of a pipe, as batch systems give one.
fn read_hosts(file: &Path) -> Result<String, Failure> {
    let bytes = File::open(file).and_then(|from| read_bounded(from, HOSTS_BYTES_MAX));
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    text.map_err(|error| Failure::of_file("read", file, &error))
}

impl RunArgs {
    /// The job, where and how it is asked for.
    fn place(&self, mut job: Job) -> Result<Job, Failure> {
        job.prefix = self.prefix;
        job.output_directory.clone_from(&self.output_directory);
        job.bind = self.bind.map_or(Bind::CoreIfRoom, Bind::from);
        job.report_bindings = self.report_bindings;
        job.timeout = self.timeout;
        job.host_timeout = self.host_timeout;
        job.output_is_closed = closed::stdout();
        job.kill_after = Some(self.kill_after).filter(|time| !time.is_zero());
        job.hosts = match &self.hostfile {
            Some(file) => Host::listed_in(&shown(file), &read_hosts(file)?).map_err(Failure::wrong)?,
            None => Host::merge(self.hosts.clone()),
        };
        // A login to where one is already need not be possible.
        if job.hosts.iter().all(Host::is_here) {
            job.hosts.clear();
        }
        if !job.hosts.is_empty() {
            job.agent = agent_command(&own_path()?);
            let path = env::var_os("PATH").map(|path| ("PATH".into(), path));
            job.environment = path.into_iter().chain(Settings::variables()).collect();
        }
        job.environment.extend(self.export.iter().cloned());
        if let Some(directory) = self.trace_directory()? {
            prepare(&directory).map_err(refused_trace)?;
            job.environment.extend(Settings::trace_variables(&directory, self.trace_limit));
        }
        Ok(job)
    }

    /// Where the trace goes, wherever a rank may be.
    fn trace_directory(&self) -> Result<Option<PathBuf>, Failure> {
        self.trace.as_deref().map(absolute).transpose()
    }

    /// A program without the library has recorded nothing.
    fn say_untraced(&self, errors: Style) {
        if let Some(directory) = &self.trace
            && !has_part(directory)
        {
            let note = errors.paint(Paint::Note, "note:");
            let directory = shown(directory);
            stderr::tell(format!(
                "{note} no rank has recorded anything in {directory}: none has joined the job"
            ));
        }
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    path::absolute(path).map_err(|error| Failure::of_file("find", path, &error))
}

/// The path of this command, to start it again.
pub(crate) fn own_path() -> Result<PathBuf, Failure> {
    env::current_exe()
        .map_err(|error| Failure::wrong(format_args!("cannot tell where carrousel is, to start it: {error}")))
}

/// Others may exchange what the ranks write to a directory.
fn say_exposed(directory: &Path, errors: Style) {
    if let Some(exposure) = exposure(directory) {
        let (note, directory) = (errors.paint(Paint::Note, "note:"), shown(directory));
        stderr::tell(format!("{note} others may exchange what is written to {directory}: {exposure}"));
    }
}

/// Starts a job, which records a trace in `trace`, and waits for it. A job of a scenario whose ranks have waited for each other
/// for the time that its options say is ended.
pub(crate) fn start(
    job: &Job,
    trace: Option<&PathBuf>,
    scenario: Option<(&Scenario, &Settings)>,
    errors: Style,
) -> Result<Status, Failure> {
    for directory in job.output_directory.iter().chain(trace) {
        say_exposed(directory, errors);
    }
    let patience = scenario.and_then(|(scenario, settings)| {
        settings.clone().with_scenario(scenario).hang_report().map(Duration::from_nanos)
    });
    let scenario = scenario.map(|(scenario, _)| scenario);
    let mut failures = 0;
    let mut reports = WaitReports::default();
    let began = Instant::now();
    let done = launch(job, &mut |event, text| match event {
        Event::Failed { rank, ending, expected: false } => {
            failures += 1;
            if failures <= TOLD {
                let error = errors.paint(Paint::Bad, "error:");
                text.extend_from_slice(format!("{error} rank {rank} {ending}\n").as_bytes());
            }
        }
        Event::Report { json, .. } => reports.add(json, began.elapsed()),
        Event::ReportsOver { deadlock } => {
            // A program may have more to do than its calls of the library, such as to time out.
            let is_deadlock = patience.is_some_and(|patience| reports.are_of_deadlock(job.ranks(), patience));
            deadlock.set(is_deadlock);
            let account = reports.account(job.ranks(), scenario, is_deadlock);
            if !account.is_empty() {
                let note = errors.paint(Paint::Note, "note:");
                text.extend_from_slice(format!("{note} {account}\n").as_bytes());
            }
        }
        Event::Stopped { stop, ranks } => {
            let said = stopped(stop, ranks);
            if !said.is_empty() {
                let error = errors.paint(Paint::Bad, "error:");
                text.extend_from_slice(format!("{error} {said}\n").as_bytes());
            }
        }
        Event::Left { processes } => {
            let note = errors.paint(Paint::Note, "note:");
            let left = processes.join(", ");
            text.extend_from_slice(
                format!("{note} what the ranks have left could not be ended: {left}\n").as_bytes(),
            );
        }
        _ => {}
    });
    if failures > TOLD {
        stderr::tell(format!("  and {} more ranks failed", failures - TOLD));
    }
    match done {
        Ok(outcome) => Ok(Status::Job(outcome.status)),
        Err(error) => Err(refused(&error)),
    }
}

/// Why a job was ended although no rank has failed; nothing if the reader of the output has left.
fn stopped(stop: StopReason, ranks: &[u32]) -> String {
    let names: Vec<String> = ranks.iter().take(TOLD).map(u32::to_string).collect();
    let more = ranks.len().saturating_sub(TOLD);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    let ranks = format!("{noun} {}{more}", names.join(", "));
    match stop {
        StopReason::ReaderLeft => String::new(),
        StopReason::Signal(_) => format!("{stop}; killed, because they did not end by it: {ranks}"),
        _ => format!("{stop}, with these still running: {ranks}"),
    }
}

/// The failure for a trace that was refused.
pub(crate) fn refused_trace(error: TraceError) -> Failure {
    let failure = Failure::wrong(&error);
    match error.help() {
        Some(help) => failure.with_help(help),
        None => failure,
    }
}

/// The command line for a shell on another host.
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
    match error.status() {
        Some(status) => failure.with_status(Status::Job(status)),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_a_job_is_said_with_few_of_its_ranks() {
        let ranks: Vec<u32> = (0..1000).collect();
        let said = stopped(StopReason::Signal(15), &ranks);
        assert_eq!(
            said,
            "ended by SIGTERM; killed, because they did not end by it: ranks 0, 1, 2, 3 and 996 more"
        );
        assert_eq!(
            stopped(StopReason::TimedOut(Duration::from_secs(90)), &[7]),
            "timed out after 90s, with these still running: rank 7"
        );
        assert_eq!(stopped(StopReason::ReaderLeft, &ranks), "");
    }

    #[test]
    fn a_path_with_quotes_stays_one_word() {
        assert_eq!(agent_command(Path::new("/it's here/c")), r"exec '/it'\''s here/c' run --agent");
    }
}
