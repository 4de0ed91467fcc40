//! Each package is installed where nothing else is, and used as its users do.
//!
//! The archive and the Debian package come into an empty root ([`root`]), which has the libraries that they say they need, and a
//! shell; the wheel into a new virtual environment. The programs in them are those that other steps of `cargo xtask test`
//! have built: the release without features, and beside it the builds of the tests, which have all.

mod checks;
mod root;

use super::archive::directory;
use super::builds::Builds;
use super::{PackageFormat, needs};
use crate::guest::packages;
use crate::steps::{StepOutcome, Steps, left_out};
use crate::tools::{find, output_of, target};
use checks::{Checked, Installed};
use root::EmptyRoot;
use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The libraries that the archive needs, as Debian's packages have them: those of any system with glibc and a C compiler.
const OF_THE_ARCHIVE: [&str; 2] = ["libc6", "libgcc-s1"];
/// What is asked whether libfabric finds the provider.
const FI_INFO: [(&str, &str); 1] = [("fi_info", "libfabric-bin")];

/// One step for each package.
pub(crate) fn steps(steps: &mut Steps) {
    let builds = OnceCell::new();
    let builds = || builds.get_or_init(build).as_ref().map_err(Clone::clone);
    steps.step("dist: the archive in an empty root", || builds().and_then(archive_in_an_empty_root));
    steps.step("dist: the Debian package among what it depends on", || builds().and_then(deb_in_a_root));
    steps.step("dist: the wheel in an empty environment", || builds().and_then(wheel_in_an_environment));
}

fn build() -> Result<Builds, String> {
    needs::install(&PackageFormat::ALL)?;
    packages::install(&packages::missing_of(&FI_INFO))?;
    Builds::of_tests()
}

/// Makes a package, twice: it is the same, byte by byte.
fn made(format: PackageFormat, builds: &Builds) -> Result<PathBuf, String> {
    let package = format.make(builds, &target().join("dist"))?;
    let wrong = |error: std::io::Error| format!("{}: {error}", package.display());
    let place = tempfile::tempdir_in(target()).map_err(wrong)?;
    let again = format.make(builds, place.path())?;
    match fs::read(&package).map_err(wrong)? == fs::read(again).map_err(wrong)? {
        true => Ok(package),
        false => Err(format!("{} is another one when it is made again", package.display())),
    }
}

fn archive_in_an_empty_root(builds: &Builds) -> Result<StepOutcome, String> {
    let archive = made(PackageFormat::Archive, builds)?;
    if let Some(why) = EmptyRoot::refused() {
        return left_out(why);
    }
    let root = EmptyRoot::new()?;
    root.add_packages(&OF_THE_ARCHIVE)?;
    root.directory("opt")?;
    output_of(Command::new("tar").arg("xf").arg(archive).arg("-C").arg(root.path().join("opt")))?;
    let prefix = format!("/opt/{}", directory());
    let installed = Installed {
        prefix: prefix.clone(),
        seen: root.path().join(&prefix[1..]),
        shell: &|script| root.shell(script),
        features: Some("none"),
        // No library of InfiniBand is in this root.
        provider: format!("{prefix}/lib/carrousel"),
        add_libfabric: &|| add_fi_info(&root),
    };
    checks::all(&installed)
}

fn deb_in_a_root(builds: &Builds) -> Result<StepOutcome, String> {
    let deb = made(PackageFormat::Deb, builds)?;
    if let Some(why) = EmptyRoot::refused() {
        return left_out(why);
    }
    let root = EmptyRoot::new()?;
    let depends = output_of(Command::new("dpkg-deb").arg("--field").arg(&deb).arg("Depends"))?;
    let depends: Vec<&str> = root::names(&depends).collect();
    root.add_packages(&depends)?;
    root.dpkg("--install", &deb.display().to_string())?;
    let installed = Installed {
        prefix: "/usr".to_owned(),
        seen: root.path().join("usr"),
        shell: &|script| root.shell(script),
        features: if builds.verbs.is_some() { None } else { Some("none") },
        provider: "/usr/lib/carrousel".to_owned(),
        add_libfabric: &|| add_fi_info(&root),
    };
    checks::all(&installed)?;
    root.dpkg("--remove", "carrousel")?;
    match installed.seen.join("lib/carrousel").exists() || installed.seen.join("bin/carrousel").exists() {
        false => Ok(StepOutcome::Passed),
        true => Err("files are left when the package has been removed".to_owned()),
    }
}

fn wheel_in_an_environment(builds: &Builds) -> Result<StepOutcome, String> {
    let wheel = made(PackageFormat::Wheel, builds)?;
    let place = tempfile::tempdir_in(target()).map_err(|error| format!("no room for files: {error}"))?;
    let environment = place.path().join("environment");
    output_of(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    let pip = |arguments: &[&str]| {
        let mut pip = Command::new(environment.join("bin/python"));
        pip.args(["-m", "pip", "--disable-pip-version-check", "--quiet"]).args(arguments);
        output_of(pip.env_remove("PYTHONPATH"))
    };
    pip(&["install", "--no-index", "--no-cache-dir", &wheel.display().to_string()])?;
    let prefix = environment.canonicalize().map_err(|error| format!("{}: {error}", environment.display()))?;
    let prefix = prefix.display().to_string();
    let shell = |script: &str| {
        let mut shell = Command::new("sh");
        // As after `. bin/activate`, and nothing of this process.
        shell.env_clear().env("PATH", format!("{prefix}/bin:/usr/bin:/bin")).arg("-c").arg(script);
        output_of(&mut shell)
    };
    let provider = if builds.verbs.is_some() { "lib/carrousel/verbs" } else { "lib/carrousel" };
    let installed = Installed {
        prefix: prefix.clone(),
        seen: prefix.clone().into(),
        shell: &shell,
        features: Some("none"),
        provider: format!("{prefix}/{provider}"),
        add_libfabric: &|| Ok(()),
    };
    checks::all(&installed)?;
    pip(&["uninstall", "--yes", "carrousel"])?;
    match fs::exists(environment.join("bin/carrousel")) {
        Ok(false) => Ok(StepOutcome::Passed),
        _ => Err("files are left when the wheel has been uninstalled".to_owned()),
    }
}

/// libfabric comes last: it brings libraries that the package has to do without, or has to depend on itself.
fn add_fi_info(root: &EmptyRoot) -> Checked {
    let (name, package) = FI_INFO[0];
    let fi_info = find(name).ok_or_else(|| format!("there is no {name}: it is in {package}"))?;
    root.add_program(Path::new(&fi_info))
}
