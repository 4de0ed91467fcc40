//! `cargo xtask test`.

use crate::built::{COMMAND, example};
use crate::deny;
use crate::differential;
use crate::dist;
use crate::guards;
use crate::guest;
use crate::hydra;
use crate::others;
use crate::protocols;
use crate::readme;
use crate::requirements::{self, features};
use crate::simulate;
use crate::slurm::{self, Slurm};
use crate::soak;
use crate::steps::{ParallelStep, Steps};
use crate::tidy;
use crate::tools::{self, cargo, need, root};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The version that is compiled where it is missing.
const NEXTEST: &str = "0.9.143";

/// Checks everything, or the steps whose name contains `only`.
pub(crate) fn run(fast: bool, only: &str) -> ExitCode {
    match Steps::announced(only, |steps| take(fast, steps)) {
        Ok(mut steps) => {
            take(fast, &mut steps);
            steps.finish()
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// Names the steps.
pub(crate) fn list(fast: bool) -> ExitCode {
    Steps::list(|steps| take(fast, steps));
    ExitCode::SUCCESS
}

/// Takes the steps. Cheap ones come first; the suites, which explore tens of millions of states, last.
fn take(fast: bool, steps: &mut Steps) {
    steps.step("what the steps need", requirements::step);
    steps.step("layout", || tools::run(cargo(&["fmt", "--all", "--check"])));
    steps.step("tidy", tidy::check);
    steps.step("lints", || {
        let lint = |what: &[&str]| {
            let lint = ["clippy", "--workspace", "--locked"];
            tools::run(cargo(&[&lint[..], what, &["--", "--deny", "warnings"]].concat()))
        };
        // Everything with all features, which need libibverbs and hwloc; then the default build, whose tests are among those.
        lint(&[&["--all-targets"], features()].concat())?;
        lint(&[])
    });
    steps.step("licences and sources of dependencies", deny::dependencies);
    steps.step("advisories against dependencies", deny::advisories);
    steps.step("the protocols without an operating system", protocols::bare);
    steps.step("the protocols as packages", protocols::packaged);
    let mut hydra = None;
    steps.step("a launcher of others, for the tests of ours", || {
        hydra = Some(hydra::install()?);
        Ok(())
    });
    let mut slurm = None;
    steps.step("a Slurm of this machine, for the tests", || Slurm::start(&mut slurm));
    steps.step("tests", || {
        need("nextest", NEXTEST)?;
        let mut command =
            cargo(&[&["nextest", "run", "--workspace", "--locked", "--no-fail-fast"], features()].concat());
        // Without it, the tests that need it say that they are skipped.
        command.envs(hydra.map(|mpiexec| (hydra::VARIABLE, mpiexec)));
        command.envs(slurm.as_ref().map(|slurm| (slurm::VARIABLE, slurm.configuration())));
        tools::run(command)
    });
    drop(slurm);
    steps.together(beside_each_other());
    if !fast {
        // The suite of ablations is one of the tests, which keep its counterexamples.
        for suite in ["rendezvous", "provider", "progress", "memory", "connection", "lock", "epoch"] {
            steps.step(&format!("suite {suite}"), || readme::suite(suite));
        }
        steps.step("the command, as the README runs it", readme::run_as_written);
        dist::steps(steps);
        steps.step("example programs as jobs", examples);
        steps.step("jobs of many ranks that begin and end", ends);
        steps.step("soak: random jobs, stopped and killed", soak::step);
        steps.step("soak: system calls and allocations that fail", soak::step_of_failing_calls);
        guest::steps(steps);
    }
}

/// Steps that depend on no time: most of them keep one processor busy. The longest come first.
fn beside_each_other() -> Vec<ParallelStep> {
    vec![
        ParallelStep::new("instructions of a message", guards::instructions),
        ParallelStep::new("Miri", guards::miri),
        ParallelStep::new("AddressSanitizer", guards::address_sanitizer),
        ParallelStep::new(
            "every order of threads at the shared-memory ring, and at a lock by tickets",
            || {
                let packages = ["--package", "carrousel-transport-shm", "--package", "carrousel-lock"];
                let mut command = cargo(&["test", "--release", "--locked", "--test", "loom"]);
                // A directory of its own: the flag changes every crate, and would have all of them built anew.
                command.args(packages).env("RUSTFLAGS", "--cfg loom");
                command.env("CARGO_TARGET_DIR", root().join("target/loom"));
                tools::run(command)
            },
        ),
        ParallelStep::new("simulation: 1,000 seeds, and defects of the past", simulate::step),
        ParallelStep::new("1,000 random programs with windows, beside an oracle", differential::step),
        ParallelStep::new("tests of mpi4py over the provider, on two other libraries", others::short),
        ParallelStep::new("examples in the documentation", || {
            tools::run(cargo(&[&["test", "--workspace", "--locked", "--doc"], features()].concat()))
        }),
        ParallelStep::new("documentation", || {
            let mut command = cargo(&[&["doc", "--workspace", "--locked", "--no-deps"], features()].concat());
            command.env("RUSTDOCFLAGS", "--deny warnings");
            tools::run(command)
        }),
    ]
}

/// Runs the example programs on several numbers of ranks, and simulates them on more; each checks its own result.
fn examples() -> Result<(), String> {
    let carrousel = COMMAND.build()?;
    for (name, ranks) in
        [("pi", &["1", "3"][..]), ("heat", &["1", "2", "4"]), ("workers", &["1", "4"]), ("pingpong", &["2"])]
    {
        let program = example(name).build()?;
        for ranks in ranks {
            let mut job = Command::new(&carrousel);
            job.args(["run", "-n", ranks, "--"]).arg(&program);
            tools::run(job)?;
        }
    }
    for (name, ranks) in
        [("pi", "4096"), ("ring", "1000"), ("heat", "16"), ("workers", "64"), ("pingpong", "2")]
    {
        let mut simulation = Command::new(&carrousel);
        simulation.args(["sim", "-n", ranks, "--app"]).arg(example(name).build()?);
        tools::run(simulation)?;
    }
    Ok(())
}

/// Runs jobs that do next to nothing again and again, on an idle machine and on one that has other things to do: each rank
/// gets away, whatever the order in which they do.
fn ends() -> Result<(), String> {
    let carrousel = COMMAND.build()?;
    let (empty, ring) = (example("empty").build()?, example("ring").build()?);
    let run = |program: &Path, ranks: u32, times: u32| {
        let mut failed = Vec::new();
        for _ in 0..times {
            let mut job = Command::new(&carrousel);
            job.args(["run", "-n", &ranks.to_string(), "--"]).arg(program);
            let output = job.output().map_err(|error| format!("a job cannot be started: {error}"))?;
            if !output.status.success() {
                failed.push(String::from_utf8_lossy(&output.stderr).into_owned());
            }
        }
        match failed.first() {
            None => Ok(()),
            Some(first) => Err(format!("{} of {times} jobs of {ranks} ranks fail: {first}", failed.len())),
        }
    };
    let all = || {
        [(16, 20), (32, 20), (64, 10), (100, 5)]
            .into_iter()
            .try_for_each(|(ranks, times)| run(&empty, ranks, times))
    };
    all()?;
    beside(thread::available_parallelism().map_or(1, usize::from), all)?;
    run(&ring, 200, 1)
}

/// Does something while so many threads compute.
fn beside<T>(threads: usize, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let done = work();
        over.store(true, Ordering::Relaxed);
        done
    })
}
