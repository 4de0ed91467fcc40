//! libfabric's own programs: `fi_info`, and those of its fabtests that its script `runfabtests.sh` lists.
//!
//! The script itself is not run: it ends all processes whose names begin with `fi_`, whoever has started them.

use crate::bench::baselines;
use crate::bench::process::{end_of, output};
use crate::others::finding::{Compared, Comparison};
use crate::tools::note;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{available_parallelism, sleep, spawn};
use std::time::Duration;

pub(super) const NEEDS: &[(&str, &str)] = &[
    ("/usr/include/rdma/fabric.h", "libfabric-dev"),
    ("autoreconf", "autoconf"),
    ("automake", "automake"),
    ("libtoolize", "libtool"),
    ("make", "make"),
    ("cc", "gcc"),
];
/// A program that is not done by then hangs.
const LIMIT: Duration = Duration::from_secs(120);
const BUILD_LIMIT: Duration = Duration::from_secs(3600);
/// The script's lists, and whether two processes run each of their programs.
const LISTS: [(&str, bool); 3] = [("unit_tests", false), ("functional_tests", true), ("short_tests", true)];
/// What programs end with that ask for what a provider does not offer (`ENODATA`, `ENOSYS`).
const NOT_OFFERED: [i32; 2] = [61, 38];

/// Whether `fi_info` finds the provider, and its options.
pub(super) fn info(provider: &Path) -> Result<Compared, String> {
    let told = |arguments: &[&str]| -> Result<String, String> {
        let mut command = Command::new("fi_info");
        command.args(arguments).env("FI_PROVIDER_PATH", provider);
        Ok(output(command, LIMIT)?.stdout)
    };
    let offers = |name: &str| -> Result<usize, String> {
        let offered = format!("provider: {name}");
        Ok(told(&["-p", name])?.lines().filter(|line| **line == *offered).count())
    };
    let parameters = told(&["-e"])?;
    let count =
        |name: &str| parameters.lines().filter(|line| line.starts_with(&format!("# FI_{name}_"))).count();
    let [own, theirs] = [("carrousel", "CARROUSEL"), ("tcp", "TCP")]
        .map(|(name, variable)| offers(name).map(|offered| (offered, count(variable))));
    let text = |(offered, parameters)| format!("{offered} offered, {parameters} parameters");
    let (own, theirs) = (own?, theirs?);
    let verdict = if own.0 > 0 && own.1 > 0 { Comparison::Met } else { Comparison::Failed };
    Ok(Compared { of: String::new(), ours: text(own), reference: format!("tcp {}", text(theirs)), verdict })
}

/// Builds the tests, and runs those of the lists; what fails, over tcp, too.
pub(super) fn tests(sources: &Path, provider: &Path) -> Result<Compared, String> {
    let programs = build(sources)?;
    let script = sources.join("scripts/runfabtests.sh");
    let script = fs::read_to_string(&script).map_err(|error| format!("{}: {error}", script.display()))?;
    let (mut passed, mut not_offered, mut failed) = (0, 0, Vec::new());
    for (list, in_pairs) in LISTS {
        for test in listed(&script, list) {
            let run = |name: &str| {
                let one =
                    |client: bool| command(&programs, &test, name, provider, in_pairs.then_some(client));
                if in_pairs { pair(one(false), one(true)) } else { code_of(one(false)) }
            };
            match run("carrousel") {
                Ok(0) => passed += 1,
                Ok(code) if NOT_OFFERED.contains(&code) => not_offered += 1,
                own => {
                    note(&format!("{test}: {own:?}"));
                    let theirs = run("tcp");
                    let told = |end: Result<i32, String>| end.map_or_else(|why| why, |code| code.to_string());
                    failed.push((test, told(own), matches!(theirs, Ok(0)), told(theirs)));
                }
            }
        }
    }
    let worse: Vec<String> =
        failed.iter().filter(|one| one.2).map(|(test, own, ..)| format!("{test} ({own})")).collect();
    let same: Vec<String> =
        failed.iter().filter(|one| !one.2).map(|(test, _, _, theirs)| format!("{test} ({theirs})")).collect();
    let counts = format!("{} run, {} failed, {not_offered} not offered", passed + failed.len(), failed.len());
    let list =
        |names: Vec<String>| if names.is_empty() { String::new() } else { format!(": {}", names.join("; ")) };
    let verdict = match () {
        () if passed == 0 => Comparison::Failed,
        () => Comparison::of(worse.is_empty()),
    };
    let reference = if same.is_empty() { String::new() } else { format!("tcp fails, too{}", list(same)) };
    Ok(Compared { of: String::new(), ours: counts + &list(worse), reference, verdict })
}

/// The programs of a list of the script: `name=(` and quoted lines.
fn listed(script: &str, name: &str) -> Vec<String> {
    let start = format!("{name}=(");
    let lines = script.lines().skip_while(|line| *line != start).skip(1).take_while(|line| *line != ")");
    lines.filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix('"').map(str::to_owned)).collect()
}

/// A test as a command: by itself, or as one of two processes that find each other by a socket.
fn command(programs: &Path, test: &str, name: &str, provider: &Path, client: Option<bool>) -> Command {
    let test = test.replace("SERVER_ADDR", "127.0.0.1").replace("GOOD_ADDR", "127.0.0.1");
    let mut words = test.split_whitespace();
    let mut command = Command::new(programs.join(words.next().unwrap_or_default()));
    command.args(words).args(["-p", name]).env("FI_PROVIDER_PATH", provider);
    if let Some(client) = client {
        command.arg("-E").args(client.then_some("127.0.0.1"));
    }
    command
}

fn code_of(command: Command) -> Result<i32, String> {
    let (status, _) = end_of(command, LIMIT)?;
    // Without a code a signal has ended it.
    status.code().ok_or_else(|| status.to_string())
}

/// The end of two processes: that of the client, unless only the server fails.
fn pair(server: Command, client: Command) -> Result<i32, String> {
    let server = spawn(move || code_of(server));
    // As the script does: the server listens by then.
    sleep(Duration::from_secs(1));
    let client = code_of(client);
    let server = server.join().map_err(|_| "the server's thread has panicked".to_owned())?;
    match client {
        Ok(0) => server,
        client => client,
    }
}

/// Builds a copy of the sources. Says where the programs are.
fn build(sources: &Path) -> Result<PathBuf, String> {
    let place = baselines::directory().join("fabtests");
    let programs = place.join("bin");
    if programs.join("fi_rdm").exists() {
        return Ok(programs);
    }
    if !sources.join("autogen.sh").exists() {
        return Err(format!(
            "{}: no autogen.sh; expected the directory `fabtests` of libfabric's sources",
            sources.display()
        ));
    }
    note("fabtests are being built");
    let copy = place.join("sources");
    fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let mut cp = Command::new("cp");
    cp.args(["--recursive", "--no-target-directory"]).arg(sources).arg(&copy);
    output(cp, BUILD_LIMIT)?;
    output(within(&copy, "./autogen.sh", &[]), BUILD_LIMIT)?;
    output(within(&copy, "./configure", &[&format!("--prefix={}", place.display())]), BUILD_LIMIT)?;
    let jobs = available_parallelism().map_or(1, usize::from).to_string();
    output(within(&copy, "make", &["--jobs", &jobs, "install"]), BUILD_LIMIT)?;
    Ok(programs)
}

fn within(place: &Path, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" \"$@\"", program]).args(arguments).current_dir(place);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_from_the_script() {
        let script = "unit_tests=(\n\t\"fi_av_test -g GOOD_ADDR\"\n\t\"fi_eq_test\"\n)\nshort_tests=(\n\t\"fi_rdm\"\n)\n";
        assert_eq!(listed(script, "unit_tests"), ["fi_av_test -g GOOD_ADDR", "fi_eq_test"]);
        assert_eq!(listed(script, "short_tests"), ["fi_rdm"]);
        assert!(listed(script, "complex_tests").is_empty());
    }

    #[test]
    fn two_processes_fail_if_either_does() {
        let end = |code: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", code]);
            command
        };
        assert_eq!(pair(end("exit 0"), end("exit 0")), Ok(0));
        assert_eq!(pair(end("exit 3"), end("exit 0")), Ok(3));
        assert_eq!(pair(end("exit 0"), end("exit 61")), Ok(61));
        assert!(pair(end("exit 0"), end("kill -9 $$")).is_err());
    }
}
