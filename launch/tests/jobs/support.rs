//! Jobs for tests. The test program starts itself again, as a launcher or as a rank, with its task in an
//! environment variable; so each launcher has a process of its own, as it wants.

use carrousel_launch::{Bind, Client, Event, Host, Job, Program, agent, run};
use std::env;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The variable with the task of the process: `launch`, `agent`, or the name of a rank's task.
pub(crate) const TASK: &str = "LAUNCH_TASK";
/// The variable with the ranks and options of a launcher.
pub(crate) const SPEC: &str = "LAUNCH_SPEC";
/// A time limit: longer than any of these tests takes on a busy machine.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Runs the task that the environment names, and exits. Returns if it names none. `ranks` runs the tasks of ranks.
pub(crate) fn run_task(ranks: fn(&str)) {
    let Ok(task) = env::var(TASK) else { return };
    match task.as_str() {
        "launch" => std::process::exit(launch()),
        "agent" => agent().expect("the launcher is understood"),
        "none" => return,
        task => ranks(task),
    }
    std::process::exit(0);
}

/// The launcher: the words of [`SPEC`] up to `--` are options, the others the program. A program `@name`
/// is this one, with that task.
fn launch() -> i32 {
    let spec = env::var(SPEC).expect("there is one");
    let (options, program) = spec.split_once(" -- ").expect("there is a program");
    let mut words = options.split(' ');
    let ranks = words.next().and_then(|word| word.parse().ok()).expect("a number of ranks");
    let mut program: Vec<String> = program.split('\u{1f}').map(ToOwned::to_owned).collect();
    let own = env::current_exe().expect("it has a path");
    let task = program[0].strip_prefix('@').map(ToOwned::to_owned);
    if task.is_some() {
        program = vec![own.display().to_string()];
        program.extend(["--exact", "child", "--quiet", "--nocapture"].map(ToOwned::to_owned));
    }
    let mut job = Job::new(&program[0], ranks);
    job.programs[0].arguments = program[1..].iter().map(Into::into).collect();
    // Without a task of its own, a test program that is started by mistake must not start anything.
    job.environment = vec![(TASK.into(), task.unwrap_or_else(|| "none".to_owned()).into())];
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("prefix", _) => job.prefix = true,
            ("hosts", list) => {
                job.hosts = list.split(',').map(|host| Host::parse(host).expect("a host")).collect()
            }
            ("grace", ms) => job.grace = Duration::from_millis(ms.parse().expect("milliseconds")),
            ("kill_after", ms) => {
                job.kill_after = Some(Duration::from_millis(ms.parse().expect("milliseconds")));
            }
            ("timeout", ms) => job.timeout = Some(Duration::from_millis(ms.parse().expect("milliseconds"))),
            ("output", directory) => job.output_directory = Some(directory.into()),
            ("directory", directory) => job.programs[0].directory = Some(directory.into()),
            // Besides the ranks of the program, two more that end with this status.
            ("exit", status) => {
                let mut more = Program::new("sh", 2);
                more.arguments = vec!["-c".into(), format!("echo more $PMI_RANK; exit {status}").into()];
                job.programs.push(more);
            }
            ("bind", "core") => job.bind = Bind::Core,
            ("bind", "numa") => job.bind = Bind::Numa,
            ("bind", "room") => job.bind = Bind::CoreIfRoom,
            ("report_bindings", _) => job.report_bindings = true,
            other => panic!("unknown option {other:?}"),
        }
    }
    job.agent = format!("{TASK}=agent exec '{}' --exact child --quiet --nocapture", own.display()).into();
    let begun = Instant::now();
    let done = run(&job, &mut |event, text| {
        let line = match event {
            Event::Failed { rank, ending, expected } => {
                format!(
                    "failed after {} ms: rank {rank} {ending} expected={expected}",
                    begun.elapsed().as_millis()
                )
            }
            Event::Report { rank, json } => format!("report {rank}: {json}"),
            other => format!("{other:?}"),
        };
        text.extend_from_slice(format!("{line}\n").as_bytes());
    });
    match done {
        Ok(outcome) => outcome.status.into(),
        Err(error) => {
            eprintln!("error: {error}");
            error.status().map_or(99, i32::from)
        }
    }
}

/// A launcher of `spec`, e.g. `4 prefix`, and a program with its arguments.
pub(crate) fn launcher(spec: &str, program: &[&str]) -> Command {
    let mut command = Command::new(env::current_exe().expect("it has a path"));
    command.args(["--exact", "child", "--quiet", "--nocapture"]);
    command.env(TASK, "launch").env(SPEC, format!("{spec} -- {}", program.join("\u{1f}")));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A process that is killed at the latest when the test is over.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The result of a launcher.
pub(crate) struct Done {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Done {
    /// Lines of standard error with this beginning, without it, sorted.
    pub(crate) fn lines(&self, begin: &str) -> Vec<&str> {
        let mut lines: Vec<&str> = self.stderr.lines().filter_map(|line| line.strip_prefix(begin)).collect();
        lines.sort_unstable();
        lines
    }

    /// The milliseconds after which the first failure was reported.
    pub(crate) fn first_failure_ms(&self) -> u64 {
        let (_, rest) = self.stderr.split_once("failed after ").expect("there is a failure");
        rest.split_once(" ms").and_then(|(ms, _)| ms.parse().ok()).expect("a number")
    }
}

/// Runs a launcher to its end.
pub(crate) fn finish(mut command: Command) -> Done {
    wait(Running(command.spawn().expect("it can be started")))
}

/// Waits for the end of a launcher and of its output: so no process is left that could write.
pub(crate) fn wait(mut running: Running) -> Done {
    let stdout = collect(running.0.stdout.take().expect("it is a pipe"));
    let stderr = collect(running.0.stderr.take().expect("it is a pipe"));
    let begun = Instant::now();
    let status = loop {
        match running.0.try_wait().expect("it is a child") {
            Some(status) => break status,
            None => assert!(begun.elapsed() < TEST_TIMEOUT, "the launcher does not end"),
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let read = |text: std::thread::JoinHandle<String>| text.join().expect("it is read");
    Done { status: status.code().unwrap_or(-1), stdout: read(stdout), stderr: read(stderr) }
}

fn collect(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        from.read_to_end(&mut text).expect("it can be read");
        String::from_utf8_lossy(&text).into_owned()
    })
}

/// The client of a rank, which must have a launcher.
pub(crate) fn client() -> Client {
    Client::from_environment().expect("the launcher is understood").expect("there is a launcher")
}

/// Each rank publishes a text with blanks, separators and letters beyond ASCII, repeated `times` times; each finds the
/// texts of all ranks, and none under a key that was not published.
pub(crate) fn exchange_values(client: &mut Client, times: impl Fn(u32) -> usize) {
    let (rank, size) = (client.rank(), client.size());
    let value = |rank: u32| format!("rank {rank}; = ß\n").repeat(times(rank));
    client.put(&format!("address.{rank}"), &value(rank)).expect("it is stored");
    client.barrier().expect("all come");
    for other in 0..size {
        let found = client.get(&format!("address.{other}")).expect("it is answered");
        assert_eq!(found, Some(value(other)));
    }
    assert_eq!(client.get("nothing").expect("it is answered"), None);
    assert_eq!(client.nodes().expect("it is answered"), vec![0; size as usize]);
}

/// Kills a launcher of three ranks that report their process numbers and sleep, and checks that they end.
pub(crate) fn ends_with_its_launcher(mut launcher: Command) {
    let mut running = Running(launcher.spawn().expect("it can be started"));
    let stderr = BufReader::new(running.0.stderr.take().expect("it is a pipe"));
    let reports = stderr.lines().map_while(Result::ok).filter(|line| line.starts_with("report "));
    let pids: Vec<u32> = reports.take(3).filter_map(|line| line.rsplit(' ').next()?.parse().ok()).collect();
    assert_eq!(pids.len(), 3);
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    running.0.kill().expect("it can be killed");
    until("the ranks' end", || pids.iter().all(|pid| !is_alive(*pid)).then_some(()));
}

/// Waits until `done` returns a value.
pub(crate) fn until<T>(what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(value) = done() {
            return value;
        }
        assert!(begun.elapsed() < TEST_TIMEOUT, "{what} does not happen");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a process is running, and not a zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
