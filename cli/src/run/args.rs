//! Arguments of `carrousel run`: its options, and the words of its command line that are programs.

use crate::failure::Failure;
use crate::report::Format;
use carrousel_launch::{Bind, Host, Program};
use carrousel_scenario::units::Unit;
use clap::ValueEnum;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// Start a program, or a scenario, as the ranks of a job
///
/// A scenario runs with a process for each rank, which sends messages of the sizes in the file. They are
/// filled with a pattern, and the receiver checks every byte. The output is that of `sim`, in real time.
/// Another launcher may start the processes (mpiexec -n 2 carrousel run FILE.scn).
///
/// The memory of the messages is allocated, filled and touched before the clock starts, up to 1 GiB of all ranks
/// together. Memory beyond that is allocated when its statement begins, and a note says so. Received data is compared
/// after the clock has stopped, so each time is that of the call. `read buf B` reads the buffer with the data that it
/// received last, and `write buf B` writes it. A request has two times between the return of the call that started it
/// and its completion: its rank computed for `computed us`, and was in calls that wait for `waited us`. Where data
/// moves while both ranks compute, the second is next to nothing. --timeline draws the run as `sim` does: each rank
/// computing, in a call that starts something, or in one that may wait; and a line for each message, from the time at
/// which its data could begin to move (a rendezvous: when both its calls had been made) to the time at which its
/// receiver knew of its arrival. Each rank has its own clock, which starts at a barrier.
///
/// A program runs as N processes, on this node or on several hosts, and the command waits for all of them. Each
/// finds its rank and the others by PMI-1, as under MPICH's mpiexec and Slurm; a program that does not
/// ask simply runs N times. Rank 0 reads standard input; the output of all ranks is passed on in whole lines;
/// SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP and SIGCONT go to all ranks. Ranks that do not end by one of
/// the first three are killed after --kill-after, or when a second one comes.
///
/// Several programs can be one job, with a `:` between them: -n 1 ./master : -n 8 ./worker. Ranks are counted through.
///
/// When a rank fails (by a status other than 0, a signal, an abort, or an end that the others did not expect), the
/// others are told, have a second to end by themselves, get SIGTERM, and a second later SIGKILL. No process of the job
/// is left when the command ends: children of ranks are ended too, and a process that cannot be ended is named. If the
/// command itself is killed by SIGKILL, a guard ends the ranks and all that carries their environment; a process that
/// has left its rank's group and has emptied its environment stays.
///
/// When the reader of the output has left, the job is ended silently, as a program in a pipeline would be.
///
/// A rank that waits in one call for longer than `hang_report` (30s; see `carrousel info`) reports what it waits for,
/// and so does each rank that waits when it gets SIGUSR1. The reports are combined: which rank waits for which.
///
/// With --trace, each rank writes down all that its protocol is given, for `carrousel check` to compare with the
/// model that `carrousel verify` explores.
#[derive(Debug, clap::Args)]
#[command(override_usage = "carrousel run [OPTIONS] FILE.scn
       carrousel run [OPTIONS] -n N [--] PROGRAM [ARGUMENT]... [: [OPTIONS] -n N [--] PROGRAM [ARGUMENT]...]...")]
#[command(after_help = "\
Examples:
  carrousel run ring.scn
  carrousel run ring.scn --format json
  carrousel run ring.scn --timeline ring.html         draw it
  CARROUSEL_HANG_REPORT=5s carrousel run ring.scn     say after 5 s which rank waits for which
  carrousel run -n 4 ./heat 1024
  carrousel run -n 1 ./master : -n 3 ./worker --fast  rank 0, and ranks 1 to 3
  carrousel run --trace out -n 4 ./heat 1024          record it; then: carrousel check out
  carrousel run -n 4 --tag-output hostname            [0] node1, [1] node1, ...
  carrousel run -n 4 --output-dir logs ./heat 1024    logs/rank.0.out, logs/rank.0.err, ...
  carrousel run -n 2 sort < names.txt                 rank 0 reads the file
  carrousel run -n 4 --timeout 10m ./heat 1024        end it if that is not enough
  carrousel run -n 4 --report-bindings ./heat 1024    say which processors each rank has
  carrousel run -n 2 --bind numa -x OMP_NUM_THREADS=8 ./hybrid
  carrousel run -n 6 --hosts node1:2,node2:4 ./heat 1024
  carrousel run -n 6 --hostfile nodes -x LD_LIBRARY_PATH --wdir /scratch/me ./heat 1024
                                                      nodes: lines such as node1 slots=2

The first word that is no option is a scenario if its name ends with .scn, and
else a program; what follows a program is its arguments, up to a `:`. A `--`
before the program may be left out.

Hosts are reached by ssh, which must not need a password; the first one gets
rank 0. Each needs carrousel and the program at the same paths as here; ranks
start in this directory (or --wdir), with PATH and what sets options
(CARROUSEL_...) as they are here. Other variables go there by -x only. A host that
does not answer within --host-timeout ends the job.

By default, ranks are bound to cores where a host has as many processors for
the job as it gets ranks, and more than one rank. Two jobs on the same
processors should be started with --bind none.

Exit status: 0 when all ranks succeed; otherwise that of the rank that failed
first, or 128 + the number of the signal that killed it. 128 + the number of a
signal by which the command was to end, if ranks had to be killed, had not been
started, or their output was not read; 124 after --timeout; 141 when nobody
reads the output; 255 when a host is lost, or does not answer; 127 when there is no such program,
126 when it cannot be started; 2 for a wrong command line, or output that cannot
be written.")]
pub(crate) struct RunArgs {
    /// How many ranks, also -np N; a scenario says so itself
    #[arg(short = 'n', long, value_name = "N", required_unless_present_any = ["agent", "file"])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) ranks: Option<u32>,
    /// Put the rank in front of each line of output: `[3] ...`
    #[arg(long = "tag-output", visible_alias = "prefix")]
    pub(super) prefix: bool,
    /// Write the output of each rank to files of its own in this directory, on its host: rank.3.out, rank.3.err
    #[arg(long = "output-dir", value_name = "DIRECTORY", conflicts_with = "prefix")]
    pub(super) output_directory: Option<PathBuf>,
    /// Record a trace of each rank into this directory, which must hold nothing else
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) trace: Option<PathBuf>,
    /// The most bytes of each rank's part of the trace, as 64MiB: beyond, the rank goes on unrecorded
    #[arg(long, value_name = "BYTES", value_parser = carrousel_options::parse_size, requires = "trace")]
    pub(super) trace_limit: Option<u64>,
    /// Where the ranks are: NAME or NAME:RANKS, with 1 rank for each turn by default
    #[arg(long, value_name = "HOST,...", value_delimiter = ',', value_parser = Host::parse)]
    #[arg(conflicts_with = "hostfile")]
    pub(super) hosts: Vec<Host>,
    /// A file that says it, with a host in each line: NAME, NAME:RANKS or NAME slots=RANKS; # begins a comment
    #[arg(long, value_name = "FILE")]
    pub(super) hostfile: Option<PathBuf>,
    /// Bind each rank to a core of its own, or blocks of ranks to NUMA nodes, or none
    #[arg(long, value_enum, value_name = "core|numa|none", hide_possible_values = true)]
    pub(super) bind: Option<Binding>,
    /// Say to which processors each rank is bound
    #[arg(long)]
    pub(super) report_bindings: bool,
    /// Give the ranks, on other hosts too, this variable, as it is here or with this value; may be repeated
    #[arg(short = 'x', value_name = "NAME[=VALUE]", value_parser = variable)]
    pub(super) export: Vec<(OsString, OsString)>,
    /// Start the ranks in this directory
    #[arg(long, visible_alias = "wd", value_name = "DIRECTORY")]
    pub(super) wdir: Option<PathBuf>,
    /// End the job when it has taken so long: 90s, 10m
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) timeout: Option<Duration>,
    /// Give a host up that has not answered by then
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "60s")]
    pub(super) host_timeout: Duration,
    /// Kill ranks that do not end so long after SIGINT, SIGTERM or SIGHUP; 0: only when another one comes
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "5s")]
    pub(super) kill_after: Duration,
    /// What a launcher on another host starts here
    #[arg(long, hide = true, exclusive = true)]
    pub(super) agent: bool,
    /// How to print the results of a scenario
    #[arg(long, value_enum, default_value_t, conflicts_with = "program")]
    pub(super) format: Format,
    /// Draw a timeline of the scenario: ranks as lanes, and the messages between them. Rank 0 writes the file
    #[arg(long, value_name = "OUT.svg|OUT.html", conflicts_with = "program")]
    pub(super) timeline: Option<PathBuf>,
    /// A scenario
    #[arg(value_name = "FILE.scn", conflicts_with = "program")]
    pub(super) file: Option<PathBuf>,
    /// The program, and its arguments; then, each behind a `:`, others
    #[arg(last = true, value_name = "PROGRAM", required_unless_present_any = ["agent", "file"])]
    pub(super) program: Vec<OsString>,
}

/// The processors that ranks are bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Binding {
    Core,
    Numa,
    None,
}

impl From<Binding> for Bind {
    fn from(binding: Binding) -> Self {
        match binding {
            Binding::Core => Self::Core,
            Binding::Numa => Self::Numa,
            Binding::None => Self::None,
        }
    }
}

impl RunArgs {
    /// The programs of the job, each with its ranks.
    pub(super) fn programs(&self) -> Result<Vec<Program>, Failure> {
        let mut parts = self.program.split(|word| word == SEPARATOR);
        let Some([program, arguments @ ..]) = parts.next() else {
            return Err(Failure::wrong("there is no program to run").with_help("carrousel run -n 4 PROGRAM"));
        };
        let mut first = Program::new(program, self.ranks.unwrap_or(1));
        first.arguments = arguments.to_vec();
        first.directory.clone_from(&self.wdir);
        let mut programs = vec![first];
        for words in parts {
            let part =
                <ProgramWords as clap::Parser>::try_parse_from(normal(words.to_vec(), &part_options(), None));
            let part = part.map_err(|error| wrong_part(words, &error))?;
            let [program, arguments @ ..] = &part.program[..] else { continue };
            let mut more = Program::new(program, part.ranks);
            more.arguments = arguments.to_vec();
            more.environment = part.export;
            more.directory = part.wdir.or_else(|| self.wdir.clone());
            programs.push(more);
        }
        Ok(programs)
    }
}

/// The words behind a `:`.
#[derive(Debug, clap::Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct ProgramWords {
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: u32,
    #[arg(short = 'x', value_name = "NAME[=VALUE]", value_parser = variable)]
    export: Vec<(OsString, OsString)>,
    #[arg(long, visible_alias = "wd", value_name = "DIRECTORY")]
    wdir: Option<PathBuf>,
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

fn wrong_part(words: &[OsString], error: &clap::Error) -> Failure {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let text = error.to_string();
    let reason = text.lines().next().unwrap_or_default().trim_start_matches("error: ").trim_end_matches(':');
    let missing: Vec<&str> =
        text.lines().skip(1).take_while(|line| line.starts_with(' ')).map(str::trim).collect();
    let reason = [&[reason], &missing[..]].concat().join(" ");
    Failure::wrong(format_args!("`: {}`: {reason}", words.join(" ")))
        .with_help("behind a `:` stand -n N, maybe -x NAME[=VALUE] and --wdir DIRECTORY, and a program")
}

/// Between programs.
const SEPARATOR: &str = ":";

/// The command line as clap reads it: a program is told from a scenario, and `-np` is understood, as by every other
/// `mpiexec`. Of other commands nothing is changed.
pub(crate) fn normal_command_line(mut words: Vec<OsString>, command: &clap::Command) -> Vec<OsString> {
    let global = Options::of(command);
    let mut at = 1;
    while let Some(length) = words.get(at).and_then(|word| global.length(word)) {
        at += length;
    }
    let run = command.find_subcommand("run").filter(|_| words.get(at).is_some_and(|word| word == "run"));
    if let Some(run) = run {
        let rest = words.split_off(at + 1);
        let options = Options::of(run).and(global);
        words.extend(normal(rest, &options, Some(".scn")));
    }
    words
}

fn part_options() -> Options {
    Options::of(&<ProgramWords as clap::CommandFactory>::command())
}

/// The words behind `run`, or behind a `:`, with a `--` before the program. A first word with the ending `scenario`,
/// and standard input, is not an option.
fn normal(words: Vec<OsString>, options: &Options, scenario: Option<&str>) -> Vec<OsString> {
    let mut normal = Vec::with_capacity(words.len() + 1);
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if let Some(count) = text.strip_prefix("-np") {
            normal.push(format!("-n{count}").into());
            if count.is_empty() {
                normal.extend(words.next());
            }
            continue;
        }
        if let Some(length) = options.length(&word) {
            normal.push(word);
            normal.extend(words.by_ref().take(length - 1));
            continue;
        }
        if word == "--" {
            normal.push(word);
            break;
        }
        if scenario.is_some_and(|ending| text.ends_with(ending) || text == "-") {
            // Options may follow.
            normal.push(word);
            continue;
        }
        normal.push("--".into());
        normal.push(word);
        break;
    }
    normal.extend(words);
    normal
}

/// The options of a command, as far as it must be known which of its words are their values.
struct Options {
    /// With a value.
    valued: Vec<String>,
}

impl Options {
    fn of(command: &clap::Command) -> Self {
        let valued = command.get_arguments().filter(|argument| argument.get_action().takes_values());
        let names = valued.flat_map(|argument| {
            let long = argument.get_long_and_visible_aliases().unwrap_or_default();
            let short = argument.get_short().map(|short| format!("-{short}"));
            long.into_iter().map(|long| format!("--{long}")).chain(short)
        });
        Self { valued: names.collect() }
    }

    fn and(mut self, other: Self) -> Self {
        self.valued.extend(other.valued);
        self
    }

    /// The number of words that this option takes; `None` if the word is not an option.
    fn length(&self, word: &OsStr) -> Option<usize> {
        let text = word.to_string_lossy();
        let is_option = text.starts_with('-') && text.len() > 1 && text != "--";
        is_option.then(|| if self.valued.iter().any(|name| *name == text) { 2 } else { 1 })
    }
}

/// `NAME=VALUE`, or a variable that is set here.
fn variable(text: &str) -> Result<(OsString, OsString), String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.into())),
        None => (text, env::var_os(text)),
    };
    if name.is_empty() || name.contains('\0') {
        return Err("expected NAME or NAME=VALUE".to_owned());
    }
    match value {
        Some(value) => Ok((name.into(), value)),
        None => Err(format!("{name} is not set here; write {name}=VALUE")),
    }
}

/// A time in a unit of scenarios, minutes, hours, or seconds without one.
fn time(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "" => Unit::S.factor().unsigned_abs(),
        "m" | "min" => 60 * Unit::S.factor().unsigned_abs(),
        "h" => 3600 * Unit::S.factor().unsigned_abs(),
        unit => {
            Unit::from_name(unit).filter(|unit| unit.is_time()).map_or(0, |unit| unit.factor().unsigned_abs())
        }
    };
    let time =
        number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).filter(|_| factor > 0);
    time.map(Duration::from_nanos).ok_or_else(|| format!("`{text}` is no time; write 90s, 10m or 500ms"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    fn line(text: &str) -> Vec<OsString> {
        let words = text.split_whitespace().map(OsString::from).collect();
        normal_command_line(words, &crate::args::Cli::command())
    }

    #[track_caller]
    fn check(text: &str, normal: &str) {
        assert_eq!(line(text), normal.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn a_program_needs_no_dashes_before_it() {
        check("c run -n 2 prog -n 3 -- x", "c run -n 2 -- prog -n 3 -- x");
        check("c run -n 2 -- prog -np 3", "c run -n 2 -- prog -np 3");
        check(
            "c --color never run --tag-output -n2 --bind none prog",
            "c --color never run --tag-output -n2 --bind none -- prog",
        );
        check("c run --hosts=a,b --wd /tmp prog", "c run --hosts=a,b --wd /tmp -- prog");
        check("c run --agent", "c run --agent");
    }

    #[test]
    fn a_scenario_is_told_by_its_name_and_options_may_follow() {
        check("c run a.scn --format json", "c run a.scn --format json");
        check("c run -np 4 a.scn -np 4", "c run -n 4 a.scn -n 4");
        check("c run a.scn -- true", "c run a.scn -- true");
        check("c run -", "c run -");
        check("c verify -np prog", "c verify -np prog");
    }

    #[test]
    fn np_is_n() {
        check("c run -np 4 prog", "c run -n 4 -- prog");
        check("c run -np4 prog", "c run -n4 -- prog");
        check("c run -np", "c run -n");
    }

    fn programs(text: &str) -> Result<Vec<Program>, Failure> {
        let cli = crate::args::Cli::try_parse_from(line(text)).expect("it is understood");
        let crate::args::Command::Run(args) = cli.command else { panic!("{text}") };
        args.programs()
    }

    #[test]
    fn programs_are_separated_by_colons() {
        let found = programs("c run -n 2 --wdir /a p1 -x : -np 3 -x K=V p2 y : -n1 --wdir /b -- p3 a:b")
            .expect("right");
        let seen = |program: &Program| {
            let words = [std::slice::from_ref(&program.program), &program.arguments[..]].concat();
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            (program.ranks, words.join(" "), program.directory.clone().expect("there is one"))
        };
        let expected = [(2, "p1 -x", "/a"), (3, "p2 y", "/a"), (1, "p3 a:b", "/b")];
        let expected = expected.map(|(ranks, words, place)| (ranks, words.to_owned(), PathBuf::from(place)));
        assert_eq!(found.iter().map(seen).collect::<Vec<_>>(), expected);
        assert_eq!(found[1].environment, [("K".into(), "V".into())]);
        assert_eq!(found[0].environment, []);
    }

    #[test]
    fn what_is_wrong_behind_a_colon_is_said() {
        for (text, says) in [
            ("c run -n 2 p :", "`: `: "),
            ("c run -n 2 p : q", "--ranks <N>"),
            ("c run -n 2 p : -n 0 q", "invalid value '0'"),
            ("c run -n 2 p : -n 1 --timeout 3s q", "'--timeout'"),
            ("c run -n 2 : -n 1 q", "there is no program to run"),
        ] {
            let found = programs(text);
            let said = format!("{found:?}");
            assert!(found.is_err() && said.contains(says), "{text}: {said}");
        }
    }

    #[test]
    fn times_are_what_users_write() {
        assert_eq!(time("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(time("90"), Ok(Duration::from_secs(90)));
        assert_eq!((time("10m"), time("1h")), (Ok(Duration::from_secs(600)), Ok(Duration::from_secs(3600))));
        assert_eq!((time("500ms"), time("0")), (Ok(Duration::from_millis(500)), Ok(Duration::ZERO)));
        for wrong in ["", "s", "-1s", "1 s", "x", "99999999999999999999h"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn variables_are_taken_from_here_or_given() {
        assert_eq!(variable("A=b=c"), Ok(("A".into(), "b=c".into())));
        assert_eq!(variable("A="), Ok(("A".into(), "".into())));
        assert!(variable("PATH").is_ok());
        assert_eq!(
            variable("NOBODY_HAS_SET_THIS"),
            Err("NOBODY_HAS_SET_THIS is not set here; write NOBODY_HAS_SET_THIS=VALUE".to_owned())
        );
        assert!(variable("=x").is_err());
    }
}
