//! The judges: programs that nobody has changed, and what they have to show.

use super::finding::{Compared, Comparison, Finding};
use super::hosts::{MpiHost, Over};
use super::mpi4py;
use crate::bench::process::{end_of, output};
use crate::bench::record::{Record, parse};
use crate::bench::statistics::Summary;
use crate::tools::find;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A judge that is not done by then hangs.
const LIMIT: Duration = Duration::from_secs(600);
/// Rounds of a measurement; each measures everything that is compared, one right after the other.
const ROUNDS: usize = 5;
/// The most that a wait may take behind whose computation the message was moved, in microseconds.
const WAIT_US_MAX: f64 = 10.0;

/// A program that judges.
#[derive(Clone, Copy, Debug)]
pub(super) enum Judge {
    /// Half a round trip of 8 bytes, against the host's best provider of libfabric's.
    Latency,
    /// Waits for 1 MiB behind a computation, receiver early and sender early.
    Overlap,
    /// mpi4py's own tests, or a module of them.
    Mpi4py(Option<&'static str>),
    /// `fi_pingpong`, without an MPI library.
    Pingpong,
    /// Debian's `hpcc`.
    Hpcc,
}

pub(super) const JUDGES: [Judge; 5] =
    [Judge::Latency, Judge::Overlap, Judge::Mpi4py(None), Judge::Pingpong, Judge::Hpcc];

impl Judge {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency, 8 B",
            Self::Overlap => "overlap, 1 MiB",
            Self::Mpi4py(_) => "mpi4py",
            Self::Pingpong => "fi_pingpong",
            Self::Hpcc => "hpcc",
        }
    }

    /// Whether it runs on this host here.
    pub(super) fn is_for(self, host: MpiHost) -> bool {
        match self {
            Self::Latency | Self::Overlap => true,
            Self::Mpi4py(_) => host.python().is_some(),
            // Once: with the libfabric that Debian's Open MPI has.
            Self::Pingpong => host == MpiHost::DebianOpenMpi && find("fi_pingpong").is_some(),
            Self::Hpcc => host == MpiHost::DebianOpenMpi && find("hpcc").is_some(),
        }
    }

    /// On how many ranks it runs.
    pub(super) fn ranks(self, asked: &[u32]) -> Vec<u32> {
        match self {
            Self::Latency | Self::Overlap | Self::Pingpong => vec![2],
            Self::Mpi4py(_) => asked.to_vec(),
            // As many as the processes of its example's grid.
            Self::Hpcc => vec![4],
        }
    }

    /// Runs it over the provider in this directory, and without.
    pub(super) fn run(self, host: MpiHost, ranks: u32, provider: &Path) -> Vec<Finding> {
        let over = Over::Carrousel(provider);
        let found = match self {
            Self::Latency => latency(host, over).map(|found| vec![found]),
            Self::Overlap => overlap(host, over),
            Self::Mpi4py(module) => mpi4py::tests(host, ranks, over, module),
            Self::Pingpong => pingpong(provider).map(|found| vec![found]),
            Self::Hpcc => hpcc(host, ranks, over).map(|found| vec![found]),
        };
        let finding = |Compared { of, ours, reference, verdict }| {
            let judge = format!("{}{of}", self.name());
            Finding { judge, host: host.name().to_owned(), ranks, ours, reference, verdict }
        };
        let failed = |ours| {
            vec![Compared { of: String::new(), ours, reference: String::new(), verdict: Comparison::Failed }]
        };
        found.unwrap_or_else(failed).into_iter().map(finding).collect()
    }
}

fn measured(host: MpiHost, over: Over<'_>, bench: &str, size: &str) -> Result<Vec<Record>, String> {
    let mut job = host.job(over, 2);
    job.arg(host.measurements()).args(["--bench", bench, "--size", size, "--seconds", "0.5"]);
    parse(&output(job, LIMIT)?.stdout)
}

/// The median of each call over the rounds, by case and call.
fn medians(rounds: &[Vec<Record>]) -> BTreeMap<String, f64> {
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for record in rounds.iter().flatten() {
        let words = [record.case.as_deref(), record.call.as_deref()];
        let name = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
        values.entry(name).or_default().push(record.value);
    }
    let median = |(name, values): (String, Vec<f64>)| Some((name, Summary::of(values)?.median));
    values.into_iter().filter_map(median).collect()
}

fn latency(host: MpiHost, ours: Over<'_>) -> Result<Compared, String> {
    let all: Vec<Over<'_>> =
        [ours].into_iter().chain(host.providers().iter().copied()).chain([Over::Default]).collect();
    let mut rounds: Vec<Vec<Vec<Record>>> = vec![Vec::new(); all.len()];
    for _ in 0..ROUNDS {
        for (over, rounds) in all.iter().zip(&mut rounds) {
            rounds.push(measured(host, *over, "latency", "8")?);
        }
    }
    let took: Vec<f64> = rounds.iter().filter_map(|rounds| medians(rounds).into_values().next()).collect();
    let [own, rest @ ..] = &took[..] else { return Err("nothing was measured".to_owned()) };
    let providers = &rest[..host.providers().len().min(rest.len())];
    let best = providers.iter().copied().fold(f64::INFINITY, f64::min);
    let told = all[1..].iter().zip(rest).map(|(over, took)| format!("{} {took:.2} us", over.name()));
    Ok(Compared {
        of: String::new(),
        ours: format!("{own:.2} us"),
        reference: told.collect::<Vec<_>>().join(", "),
        verdict: Comparison::of(*own <= best),
    })
}

fn overlap(host: MpiHost, ours: Over<'_>) -> Result<Vec<Compared>, String> {
    let (mut own, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        own.push(measured(host, ours, "overlap", "1MiB")?);
        theirs.push(measured(host, Over::Default, "overlap", "1MiB")?);
    }
    let theirs = medians(&theirs);
    let waits = medians(&own).into_iter().filter(|(name, _)| name.contains("_wait"));
    let compared = waits.map(|(name, took)| Compared {
        ours: format!("{took:.1} us"),
        reference: theirs.get(&name).map(|took| format!("default {took:.1} us")).unwrap_or_default(),
        verdict: Comparison::of(took <= WAIT_US_MAX),
        of: format!(", {name}"),
    });
    Ok(compared.collect())
}

fn pingpong(provider: &Path) -> Result<Compared, String> {
    let half = |name: &str, client: bool| -> Command {
        let mut command = Command::new("fi_pingpong");
        command.args(["-p", name, "-e", "rdm", "-S", "8", "-I", "20000"]);
        command.env("FI_PROVIDER_PATH", provider).args(client.then_some("127.0.0.1"));
        command
    };
    let took = |name: &str| -> Result<f64, String> {
        let server = half(name, false);
        let server = std::thread::spawn(move || output(server, Duration::from_secs(60)));
        std::thread::sleep(Duration::from_millis(500));
        let told = output(half(name, true), Duration::from_secs(60));
        server.join().map_err(|_| "the server's thread has panicked".to_owned())??;
        let told = told?.stdout;
        // bytes #sent #ack total time MB/sec usec/xfer Mxfers/sec
        let line = told.lines().find(|line| line.trim_start().starts_with("8 ")).unwrap_or_default();
        let time = line.split_whitespace().nth(6).and_then(|time| time.parse().ok());
        time.ok_or_else(|| format!("fi_pingpong prints no time: {told}"))
    };
    let (own, shm) = (took("carrousel")?, took("shm")?);
    Ok(Compared {
        of: ", 8 B".to_owned(),
        ours: format!("{own:.2} us"),
        reference: format!("shm {shm:.2} us"),
        verdict: Comparison::of(own <= shm),
    })
}

fn hpcc(host: MpiHost, ranks: u32, ours: Over<'_>) -> Result<Compared, String> {
    const EXAMPLE: &str = "/usr/share/doc/hpcc/examples/_hpccinf.txt";
    let input = fs::read_to_string(EXAMPLE).map_err(|error| format!("{EXAMPLE}: {error}"))?;
    let ran = |over: Over<'_>| -> Result<bool, String> {
        let place = tempfile::tempdir().map_err(|error| format!("no directory can be made: {error}"))?;
        let failed = |error: std::io::Error| format!("{}: {error}", place.path().display());
        fs::write(place.path().join("hpccinf.txt"), &input).map_err(failed)?;
        let mut job = host.job(over, ranks);
        job.arg("hpcc").current_dir(place.path());
        let (status, _) = end_of(job, LIMIT)?;
        let told = fs::read_to_string(place.path().join("hpccoutf.txt")).unwrap_or_default();
        Ok(status.success() && told.lines().any(|line| line.trim() == "Success=1"))
    };
    let told = |ran: bool| if ran { "Success=1" } else { "no success" };
    let (own, theirs) = (ran(ours)?, ran(Over::Default)?);
    let verdict = if own || !theirs { Comparison::of(own) } else { Comparison::Failed };
    let (ours, reference) = (told(own).to_owned(), told(theirs).to_owned());
    Ok(Compared { of: String::new(), ours, reference, verdict })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_of_each_call() {
        let record = |call: &str, value| Record {
            case: Some("sender_early".to_owned()),
            call: Some(call.to_owned()),
            value,
            ..Record::of("overlap", "us")
        };
        let rounds = [1.0, 9.0, 2.0].map(|value| vec![record("isend", 100.0), record("send_wait", value)]);
        let medians = medians(&rounds);
        assert_eq!(medians.get("sender_early send_wait"), Some(&2.0));
        assert_eq!(medians.len(), 2);
    }
}
