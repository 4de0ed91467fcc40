//! `cargo xtask guest bench`: the cost of messages between two guests, compared with other libraries in the same
//! guests.
//!
//! One boot; every round has all libraries, one right after the other, and ratios are taken within a round, because
//! this machine is never quiet. Begin reading at [`measure`]; what happens in the guests is in [`mod@script`].

mod script;

use super::job::{BROKEN, End, GuestJob, Program};
use super::mpi::GuestMpi;
use super::packages;
use super::run::Host;
use crate::bench::baselines::{compile, directory};
use crate::bench::format::Format;
use crate::bench::machine::{busy_percent, cores};
use crate::bench::report::{self, Conditions, Library};
use crate::bench::results::{Results, Source};
use crate::bench::targets::{Group, Target};
use crate::built::{Built, COMMAND, Kind};
use crate::tools::output_of;
use clap::Args;
use clap::builder::PossibleValuesParser;
use script::{Reader, script};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

pub(super) const ABOUT: &str = "\
Measure our transport, the bare verbs, and MPI libraries over UCX, side by side

Two guests with Soft-RoCE, a rank in each. Every round has perftest's ib_send_lat, ours, perftest's ib_write_bw,
MPICH and Open MPI, one right after the other. As root on Debian, what is missing is installed. Measurements:
  latency        half a round trip of 8 bytes; beside ib_send_lat
  eager          half a round trip of 512 bytes, 4 KiB, 9000 bytes and 16 KiB, sent eagerly by isend, and how long
                 isend and its wait hold the sender; from the same buffers: those that are used often enough are
                 not copied, if `carrousel bench reuse` says that this pays, which in such guests it does for
                 large ones; beside ours by send, which copies them, in turn
  overlap        a barrier; irecv of 1 MiB at one rank, isend at the other; both compute 300 ms; both wait: what each
                 call takes, in ms, with a sender that is 5 ms later and with a receiver that is, with one message
                 and with two; the target is on every wait
  bandwidth      16 isend of 1 MiB to 16 irecv, then an acknowledgement; beside ib_write_bw

The exit status is 1 when a target is not met, and 125 when nothing could be measured. Ratios say whether our own
part is small beside the network's, and times whether data moves while a rank computes; how fast an adapter is, a
guest cannot say. Other programs on this machine disturb it: as root, `nice -n -10` in front helps.";

const MI: u64 = 1 << 20;
/// A step may take so long on a busy machine; most take some seconds.
const STEP_S: u32 = 60;

/// The measurements that programs can be asked for.
const MEASUREMENTS: [&str; 4] = ["latency", "eager", "overlap", "bandwidth"];
/// Their results, and the targets. Names begin with that of the measurement.
const GROUPS: [Group; 5] = {
    use Target::{AtMost, OfPerftest};
    [
        Group { bench: "latency", sizes: &[], judged: &[(8, OfPerftest(1.15))] },
        Group { bench: "eager", sizes: &[], judged: &EAGER },
        Group { bench: "eager_held", sizes: &[], judged: &EAGER },
        Group { bench: "overlap", sizes: &[], judged: &[(MI, AtMost(3.0))] },
        Group { bench: "bandwidth", sizes: &[], judged: &[(MI, OfPerftest(0.95))] },
    ]
};

/// The targets of small messages. Those that are not copied are not to be slower at all: see `Results::in_force`.
const EAGER: [(u64, Target); 4] = {
    const MAX: Target = Target::OfCopying(1.02);
    [(512, MAX), (4 << 10, MAX), (9000, MAX), (16 << 10, MAX)]
};

/// The ranks of ours.
const NODES: Built = Built { package: "carrousel-bench", kind: Kind::Example, name: "nodes" };
/// Their twin for MPI.
const SOURCE: &str = "nodes.c";
/// The libraries that UCX opens while it runs, which `ldd` does not show.
const UCX_FILES: &str = "/usr/lib/x86_64-linux-gnu/ucx";
/// Libraries: the source, the suffix of their programs in Debian, and the package.
const BASELINES: [(Source, &str, &str); 2] =
    [(Source::Mpich, "mpich", "libmpich12"), (Source::OpenMpiUcx, "openmpi", "libopenmpi3")];
/// Clocks of a guest and of this machine that differ by more than that make perftest's numbers doubtful.
const CLOCKS_APART_MAX: f64 = 0.02;

/// Arguments of `guest bench`.
#[derive(Debug, Args)]
pub(super) struct GuestBench {
    /// How often all libraries are measured
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Only these measurements
    #[arg(long, value_delimiter = ',', value_name = "NAME",
          value_parser = PossibleValuesParser::new(MEASUREMENTS))]
    only: Vec<String>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// `cargo xtask guest bench`.
pub(super) fn run(bench: &GuestBench) -> ExitCode {
    match measure(bench) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(BROKEN)
        }
    }
}

/// Prepares, measures and reports; says whether all targets are met.
fn measure(bench: &GuestBench) -> Result<bool, String> {
    packages::install_missing_mpi()?;
    let host = Host::prepare()?;
    let names: Vec<&str> = MEASUREMENTS.into_iter().filter(|name| bench.takes(name)).collect();
    let job = bench.job(&names)?;
    let busy_before_percent = busy_percent();
    let mut reader = Reader::new(Results::new(&GROUPS));
    let ends = host.run(&job, &mut |line| reader.line(line))?;
    let busy_after_percent = busy_percent();
    let (results, guest_mhz, mut notes) = reader.finish();
    if ends.iter().any(|end| *end != End::Status(0)) {
        notes.push(format!("the guests have ended with {ends:?}"));
    }
    notes.extend(clocks_apart(guest_mhz, host_mhz()));
    if results.rows().is_empty() {
        return Err(format!("nothing could be measured:\n{}", notes.join("\n")));
    }
    let conditions = Conditions {
        cores: cores(),
        busy_before_percent,
        busy_after_percent,
        rounds: bench.rounds,
        seconds: None,
        libraries: libraries()?,
        modes: None,
        notes,
    };
    let chosen = GROUPS.iter().filter(|group| names.iter().any(|name| group.bench.starts_with(name)));
    let (verdicts, met) = report::verdicts(&results, chosen);
    match bench.format {
        Format::Table => print!("{}\n{verdicts}", report::table(&results, &conditions)),
        Format::Json => println!("{}", report::json(&results, &conditions)?),
    }
    Ok(met)
}

impl GuestBench {
    fn takes(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    fn job(&self, names: &[&str]) -> Result<GuestJob, String> {
        let debian =
            ["ib_send_lat", "ib_write_bw", "mpiexec.hydra", "hydra_pmi_proxy", "mpiexec.openmpi", "orted"];
        let mut programs: Vec<Program> = debian.into_iter().map(Program::find).collect::<Result<_, _>>()?;
        for built in [COMMAND, NODES] {
            programs.push(Program {
                name: built.name.to_owned(),
                path: built.build_release_with_all_features()?,
            });
        }
        for (_, suffix, _) in BASELINES {
            let name = format!("nodes-{suffix}");
            let path = directory().join(&name);
            compile(&mut Command::new(packages::program(&format!("mpicc.{suffix}"))?), SOURCE, &path)?;
            programs.push(Program { name, path });
        }
        Ok(GuestJob {
            nodes: 2,
            programs,
            files: GuestMpi::OpenMpi.files().chain([PathBuf::from(UCX_FILES)]).collect(),
            environment: Vec::new(),
            ssh: true,
            timeout_s: STEP_S * (1 + self.rounds * script::STEPS),
            cpus: None,
            memory_mib: 1024,
            command: vec!["sh".to_owned(), "-c".to_owned(), script(names, self.rounds)],
            out: None,
        })
    }
}

/// The baselines, in Debian's versions.
fn libraries() -> Result<Vec<Library>, String> {
    let version = |package: &str| {
        let mut query = packages::command("dpkg-query")?;
        output_of(query.args(["--show", "--showformat", "${Version}", package]))
    };
    let transport = format!("UCX {} over Soft-RoCE, reliable connections", version("libucx0")?);
    let mut libraries = Vec::new();
    for (source, _, package) in BASELINES {
        libraries.push(Library {
            name: source.name(),
            version: version(package)?,
            transport: transport.clone(),
        });
    }
    let transport = "ib_send_lat and ib_write_bw, reliable connections".to_owned();
    libraries.push(Library { name: Source::Perftest.name(), version: version("perftest")?, transport });
    Ok(libraries)
}

/// The kernel's description of its first processor.
fn host_mhz() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    text.lines().find_map(script::mhz)
}

/// perftest counts cycles: where a guest has measured its processor wrongly, its numbers are wrong.
fn clocks_apart(guest: Option<f64>, host: Option<f64>) -> Option<String> {
    let (guest, host) = guest.zip(host)?;
    let apart = (guest / host - 1.0).abs() > CLOCKS_APART_MAX;
    apart.then(|| {
        format!("the guest takes {host} MHz for {guest} MHz: numbers of perftest, and ratios to them, are doubtful")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_whose_clock_is_wrong_is_told_of() {
        assert_eq!(clocks_apart(Some(2299.6), Some(2300.0)), None);
        assert!(clocks_apart(Some(6900.0), Some(2300.0)).is_some_and(|note| note.contains("6900 MHz")));
        assert_eq!(clocks_apart(None, Some(2300.0)), None);
    }

    #[test]
    fn a_measurement_is_chosen_by_its_name() {
        let bench = |only: &[&str]| GuestBench {
            rounds: 1,
            only: only.iter().map(|only| (*only).to_owned()).collect(),
            format: Format::Table,
        };
        assert!(bench(&[]).takes("latency") && bench(&["latency"]).takes("latency"));
        assert!(!bench(&["latency"]).takes("bandwidth"));
    }
}
