//! mpi4py's own tests.

use crate::bench::baselines;
use crate::bench::process::end_of;
use crate::others::finding::{Compared, Comparison};
use crate::others::hosts::{MpiHost, Over};
use crate::tools::run;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const VERSION: &str = "4.1.2";
/// A module that is not done by then hangs.
const LIMIT: Duration = Duration::from_secs(600);

/// Modules that start processes of their own, for which a launcher's daemons would have to be told of the provider, too.
const LEFT_OUT: [&str; 2] = ["test_spawn", "test_dynproc"];

/// `MPI_Dist_graph_create` of MPICH probes for a message of any source, and then receives one of any: its message to itself,
/// which goes another way, may come between. So it does over tcp, though less often.
const OF_MPICH: &str = "testDistgraphcomm ";

/// Runs each module over the provider, and without it where it fails. A line for all that pass, and one for each that does
/// not.
pub(super) fn tests(
    host: MpiHost,
    ranks: u32,
    ours: Over<'_>,
    only: Option<&str>,
) -> Result<Vec<Compared>, String> {
    let python = host.python().ok_or("there is no Python of this host")?;
    install(&python)?;
    let sources = sources(&python)?;
    let modules = modules(&sources)?;
    let modules = modules.iter().filter(|module| match only {
        Some(only) => *module == only,
        None => !LEFT_OUT.contains(&module.as_str()),
    });
    let (mut passed, mut count, mut lines) = (0, 0, Vec::new());
    for module in modules {
        let run = |over| {
            let mut job = host.job(over, ranks);
            job.arg(&python).arg(sources.join("test/main.py")).args(["-i", &format!(r"(^|/){module}\.py$")]);
            end_of(job, LIMIT).map(|(status, printed)| {
                Told::of(status.success(), &format!("{}{}", printed.stdout, printed.stderr))
            })
        };
        let own = run(ours).unwrap_or_else(Told::without_end);
        if own.succeeded {
            passed += 1;
            count += own.tests;
            continue;
        }
        // By the same libfabric first: what is wrong there, too, is not the provider's.
        let others = [Over::Provider("tcp"), Over::Default].map(|over| (over, run(over)));
        let others = others.map(|(over, told)| (over, told.unwrap_or_else(Told::without_end)));
        let same = others.iter().find(|(_, told)| !told.succeeded && own.failed.is_subset(&told.failed));
        let told = others.iter().map(|(over, told)| format!("{}: {}", over.name(), told.text()));
        lines.push(Compared {
            of: format!(", {module}"),
            ours: own.text(),
            reference: told.collect::<Vec<_>>().join("; "),
            verdict: match same.is_some() || own.is_defect_of(host) {
                true => Comparison::Met,
                false => Comparison::Failed,
            },
        });
    }
    if passed > 0 {
        lines.insert(
            0,
            Compared {
                of: format!(", {passed} {}", if passed == 1 { "module" } else { "modules" }),
                ours: format!("{count} tests pass"),
                reference: String::new(),
                // A pattern that finds no tests proves nothing.
                verdict: if count > 0 { Comparison::Met } else { Comparison::Failed },
            },
        );
    }
    Ok(lines)
}

/// What a run of a module tells.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    succeeded: bool,
    tests: u32,
    failed: BTreeSet<String>,
}

impl Told {
    /// From the exit status and what unittest has printed.
    fn of(succeeded: bool, text: &str) -> Self {
        let count = |line: &str| line.strip_prefix("Ran ")?.split_whitespace().next()?.parse().ok();
        let failed = |line: &str| {
            let name = line.strip_prefix("ERROR: ").or_else(|| line.strip_prefix("FAIL: "))?;
            Some(name.trim().to_owned())
        };
        Self {
            succeeded,
            tests: text.lines().filter_map(count).max().unwrap_or(0),
            failed: text.lines().filter_map(failed).collect(),
        }
    }

    /// Whether nothing fails but what is known to be wrong in the host.
    fn is_defect_of(&self, host: MpiHost) -> bool {
        let is_known = |name: &String| host == MpiHost::Mpich && name.starts_with(OF_MPICH);
        !self.failed.is_empty() && self.failed.iter().all(is_known)
    }

    fn without_end(message: String) -> Self {
        Self { failed: [message].into(), ..Self::default() }
    }

    fn text(&self) -> String {
        match (self.succeeded, self.failed.first()) {
            (true, _) => format!("{} tests pass", self.tests),
            (false, None) => "the job ends with an error".to_owned(),
            (false, Some(first)) => {
                format!("{} cases of {} tests fail: {first}", self.failed.len(), self.tests)
            }
        }
    }
}

/// Installs mpi4py for a host's Python, if it is not there.
fn install(python: &Path) -> Result<(), String> {
    let asks = format!("import mpi4py, numpy; assert mpi4py.__version__ == '{VERSION}'");
    let mut there = Command::new(python);
    there.args(["-c", &asks]);
    if end_of(there, LIMIT)?.0.success() {
        return Ok(());
    }
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip.args([&format!("mpi4py=={VERSION}"), "numpy"]);
    run(pip)
}

/// The directory of its sources, where its tests are.
fn sources(python: &Path) -> Result<PathBuf, String> {
    let place = baselines::directory();
    let sources = place.join(format!("mpi4py-{VERSION}"));
    if !sources.join("test/main.py").exists() {
        let mut pip = Command::new(python);
        pip.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]);
        pip.args(["--no-binary", "mpi4py", &format!("mpi4py=={VERSION}"), "--dest"]).arg(&place);
        run(pip)?;
        let mut unpack = Command::new("tar");
        unpack.arg("xf").arg(place.join(format!("mpi4py-{VERSION}.tar.gz"))).arg("-C").arg(&place);
        run(unpack)?;
    }
    Ok(sources)
}

/// The modules of its tests.
fn modules(sources: &Path) -> Result<Vec<String>, String> {
    let tests = sources.join("test");
    let entries = fs::read_dir(&tests).map_err(|error| format!("{}: {error}", tests.display()))?;
    let mut modules: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok()?.strip_suffix(".py").map(str::to_owned))
        .filter(|name| name.starts_with("test_"))
        .collect();
    modules.sort();
    Ok(modules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_unittest_prints_is_read() {
        let text = "ERROR: testRevoke (test_ulfm.TestULFM)\nFAIL: testA (b.C)\nRan 14 tests in 1.0s\n";
        let told = Told::of(false, text);
        assert_eq!((told.tests, told.failed.len()), (14, 2));
        assert_eq!(told.text(), "2 cases of 14 tests fail: testA (b.C)");
        assert_eq!(Told::of(true, "Ran 3 tests in 0.1s\nOK\n").text(), "3 tests pass");
    }

    #[test]
    fn only_what_is_known_of_a_host_is_its_defect() {
        let told = |names: &[&str]| Told {
            failed: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Told::default()
        };
        let known = "testDistgraphcomm (test_comm_topo.TestTopoWorld.testDistgraphcomm)";
        assert!(told(&[known]).is_defect_of(MpiHost::Mpich));
        assert!(!told(&[known]).is_defect_of(MpiHost::OpenMpi));
        assert!(!told(&[known, "testDistgraphcommAdjacent (x)"]).is_defect_of(MpiHost::Mpich));
        assert!(!told(&[]).is_defect_of(MpiHost::Mpich));
    }
}
