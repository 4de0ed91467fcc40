//! The things that users do with an installation, wherever it is.

use crate::steps::StepOutcome;
use crate::tools::{output_of, root};
use std::path::PathBuf;
use std::process::Command;

use super::super::making::VERSION;
use super::super::tree::DOC;

pub(super) type Checked = Result<(), String>;

/// An installation.
pub(super) struct Installed<'a> {
    /// Where `bin` and `lib` are, for programs that use it.
    pub(super) prefix: String,
    /// The same, for this process.
    pub(super) seen: PathBuf,
    /// Runs a script where it is installed; `bin` is in its `PATH`.
    pub(super) shell: &'a dyn Fn(&str) -> Result<String, String>,
    /// The optional features that the command names; `None` where it may be any.
    pub(super) features: Option<&'static str>,
    /// The directory of the provider for this place.
    pub(super) provider: String,
    /// Brings libfabric.
    pub(super) add_libfabric: &'a dyn Fn() -> Checked,
}

/// A program in C that uses the library.
const PROGRAM: &str = r#"
#include <carrousel.h>
#include <stdio.h>
int main(void)
{
    struct carrousel_rank *rank = NULL;
    carrousel_error error = carrousel_rank_create(CARROUSEL_ABI_VERSION, NULL, 0, 2, NULL, &rank);
    puts(carrousel_error_text(error));
    return carrousel_rank_free(&rank) != CARROUSEL_ERROR_NONE || error != CARROUSEL_ERROR_NONE;
}
"#;

/// All of them.
pub(super) fn all(installed: &Installed<'_>) -> Result<StepOutcome, String> {
    installed.version()?;
    installed.proofs()?;
    installed.jobs()?;
    installed.documentation()?;
    installed.variables()?;
    installed.c_library()?;
    (installed.add_libfabric)()?;
    let found = installed.run("eval \"$(carrousel-fi)\" && fi_info -p carrousel", "provider: carrousel")?;
    println!("{}", found.lines().next().unwrap_or_default());
    Ok(StepOutcome::Passed)
}

impl Installed<'_> {
    /// Runs a script, which has to print this among other things.
    fn run(&self, script: &str, prints: &str) -> Result<String, String> {
        let script = format!("export PATH={}/bin:$PATH\n{script}", self.prefix);
        let printed = (self.shell)(&script)?;
        match printed.contains(prints) {
            true => Ok(printed),
            false => Err(format!("`{prints}` is not in what this prints: {script}\n{printed}")),
        }
    }

    fn version(&self) -> Checked {
        let commit =
            output_of(Command::new("git").args(["rev-parse", "--short=10", "HEAD"]).current_dir(root()));
        let commit = commit.map(|commit| format!("commit {}; ", commit.trim())).unwrap_or_default();
        let features = self.features.map(|features| format!("{features})\n")).unwrap_or_default();
        let version = format!("carrousel {VERSION} ({commit}optional features: {features}");
        self.run("carrousel --version", &version)?;
        self.run("carrousel-fi --version", &format!("carrousel-fi {VERSION}\n")).map(drop)
    }

    fn proofs(&self) -> Checked {
        let scenarios = format!("{}/{DOC}/tests/scenarios", self.prefix);
        self.run(&format!("carrousel verify {scenarios}/halo.scn"), "deadlock-freedom   proven")?;
        let bug = format!("carrousel verify {scenarios}/head-to-head.scn >/dev/null || echo status $?");
        self.run(&bug, "status 1\n").map(drop)
    }

    fn jobs(&self) -> Checked {
        let scenarios = format!("{}/{DOC}/tests/scenarios", self.prefix);
        self.run(&format!("carrousel run {scenarios}/halo.scn"), " over shm")?;
        self.run("carrousel run -n 2 -- sh -c 'echo rank $PMI_RANK'", "rank 1\n")?;
        self.run("carrousel bench pt2pt --bench latency --size 8 --seconds 0.1", "latency").map(drop)
    }

    fn documentation(&self) -> Checked {
        for name in [
            "share/man/man1/carrousel.1",
            "share/man/man1/carrousel-bench-pt2pt.1",
            "share/bash-completion/completions/carrousel",
            "share/doc/carrousel/README.md",
            "share/doc/carrousel/docs/other-mpis.md",
            "share/doc/carrousel/copyright",
            "share/doc/carrousel/THIRD-PARTY-LICENSES",
        ] {
            if std::fs::metadata(self.seen.join(name)).map_or(true, |file| file.len() == 0) {
                return Err(format!("there is no {name}, or nothing in it"));
            }
        }
        Ok(())
    }

    fn variables(&self) -> Checked {
        let lines = |names: &[&str]| {
            let begin =
                format!("export FI_PROVIDER_PATH='{}'\nexport FI_PROVIDER=carrousel\n", self.provider);
            names.iter().fold(begin, |text, line| format!("{text}export {line}\n"))
        };
        let open_mpi = ["OMPI_MCA_pml=cm", "OMPI_MCA_mtl=ofi", "OMPI_MCA_mtl_ofi_provider_include=carrousel"];
        let mpich = ["MPIR_CVAR_CH4_NETMOD=ofi", "MPIR_CVAR_NOLOCAL=1"];
        for (arguments, expected) in [
            ("", lines(&[&open_mpi[..], &mpich].concat())),
            ("--mpi openmpi", lines(&open_mpi)),
            ("--mpi=mpich", lines(&mpich)),
        ] {
            let printed = self.run(&format!("carrousel-fi {arguments}"), "")?;
            if printed != expected {
                return Err(format!("`carrousel-fi {arguments}` prints {printed}"));
            }
        }
        self.run("eval \"$(carrousel-fi --mpi lam 2>&1)\" || echo refused", "refused\n").map(drop)
    }

    /// Compiled here, where a compiler is, and run here.
    fn c_library(&self) -> Checked {
        let place = tempfile::tempdir().map_err(|error| format!("no room for a program: {error}"))?;
        let source = place.path().join("program.c");
        std::fs::write(&source, PROGRAM).map_err(|error| format!("{}: {error}", source.display()))?;
        let flags = "cc -o program program.c $(pkg-config --cflags --libs carrousel-ffi) && ./program";
        let library = self.seen.join("lib");
        let mut shell = Command::new("sh");
        shell.args(["-c", flags]).current_dir(place.path());
        shell.env("PKG_CONFIG_PATH", library.join("pkgconfig")).env("LD_LIBRARY_PATH", &library);
        // Of a package that is to be in `/usr`, that is not left out as known to all.
        shell.envs([("PKG_CONFIG_ALLOW_SYSTEM_CFLAGS", "1"), ("PKG_CONFIG_ALLOW_SYSTEM_LIBS", "1")]);
        output_of(&mut shell).map(drop)
    }
}
