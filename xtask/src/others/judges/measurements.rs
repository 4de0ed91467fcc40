//! Latency and overlap, by programs of our own that each host compiles, and by `fi_pingpong`.

use crate::bench::process::output;
use crate::bench::record::{Record, parse};
use crate::bench::statistics::Summary;
use crate::others::finding::{Compared, Comparison};
use crate::others::hosts::{MpiHost, Over};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A measurement that is not done by then hangs.
const LIMIT: Duration = Duration::from_secs(600);
/// Rounds of a measurement; each measures everything that is compared, one right after the other.
const ROUNDS: usize = 5;
/// The most that a wait may take behind whose computation the message was moved, in microseconds.
const WAIT_US_MAX: f64 = 10.0;

fn measured(host: MpiHost, over: Over<'_>, bench: &str, size: &str) -> Result<Vec<Record>, String> {
    let mut job = host.job(over, 2);
    job.arg(host.measurements()).args(["--bench", bench, "--size", size, "--seconds", "0.5"]);
    parse(&output(job, LIMIT)?.stdout)
}

/// The median of each call over the rounds, by case and call.
pub(super) fn medians(rounds: &[Vec<Record>]) -> BTreeMap<String, f64> {
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for record in rounds.iter().flatten() {
        let words = [record.case.as_deref(), record.call.as_deref()];
        let name = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
        values.entry(name).or_default().push(record.value);
    }
    let median = |(name, values): (String, Vec<f64>)| Some((name, Summary::of(values)?.median));
    values.into_iter().filter_map(median).collect()
}

pub(super) fn latency(host: MpiHost, ours: Over<'_>) -> Result<Compared, String> {
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

pub(super) fn overlap(host: MpiHost, ours: Over<'_>) -> Result<Vec<Compared>, String> {
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

pub(super) fn pingpong(provider: &Path) -> Result<Compared, String> {
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
    let mut rounds = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        rounds.0.push(took("carrousel")?);
        rounds.1.push(took("shm")?);
    }
    let median = |took| Summary::of(took).map(|summary| summary.median).ok_or("nothing was measured");
    let (own, shm) = (median(rounds.0)?, median(rounds.1)?);
    Ok(Compared {
        of: ", 8 B".to_owned(),
        ours: format!("{own:.2} us"),
        reference: format!("shm {shm:.2} us"),
        verdict: Comparison::of(own <= shm),
    })
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
