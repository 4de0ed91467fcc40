//! The MPI libraries that `PATH` has, each with its libfabric and with what it makes of the provider.

use super::ask::{self, Libfabric};
use super::files::ProviderFile;
use super::host::{NAME, Problem, ProviderHost};
use super::variables::Variable;
use super::{mpich, open_mpi, process};
use crate::failure::{Failure, shown};
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names of launchers, the one that most people call first.
const LAUNCHERS: [&str; 5] = ["mpiexec", "mpirun", "mpiexec.openmpi", "mpiexec.mpich", "mpiexec.hydra"];
/// The libfabric that the loader finds by itself.
const LIBFABRIC: &str = "libfabric.so.1";

/// An MPI library, as far as its launcher tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Family {
    OpenMpi {
        version: String,
    },
    /// With its device, such as `ch4:ucx,ofi`, if it is told.
    Mpich {
        version: String,
        device: Option<String>,
    },
}

impl Family {
    /// What a launcher that says this with `--version` belongs to.
    fn of(said: &str) -> Option<Self> {
        let after = |mark: &str| {
            let (_, rest) = said.split_once(mark)?;
            rest.split_whitespace().next().map(str::to_owned)
        };
        if let Some(version) = after("(Open MPI)").or_else(|| after("(OpenRTE)")) {
            return Some(Self::OpenMpi { version });
        }
        if !said.contains("HYDRA") {
            return None;
        }
        let device = after("--with-device=").map(|device| device.trim_end_matches(['\'', '"']).to_owned());
        Some(Self::Mpich { version: after("Version:")?, device })
    }

    fn name(&self) -> &'static str {
        match self {
            Self::OpenMpi { .. } => "Open MPI",
            Self::Mpich { .. } => "MPICH",
        }
    }

    fn version(&self) -> &str {
        match self {
            Self::OpenMpi { version } | Self::Mpich { version, .. } => version,
        }
    }

    /// The files of which one is linked with libfabric, relative to a directory of libraries.
    fn libraries(&self) -> &'static [&'static str] {
        match self {
            Self::OpenMpi { .. } => {
                &["openmpi/mca_mtl_ofi.so", "openmpi3/mca_mtl_ofi.so", "libmpi.so.40", "libopen-pal.so.80"]
            }
            Self::Mpich { .. } => &["libmpich.so.12", "libmpi.so.12", "libmpi_abi.so.1", "libmpi_abi.so.0"],
        }
    }
}

/// All hosts. The first is the one that the answer is about.
pub(super) fn all(
    wanted: Option<&Path>,
    variables: &[Variable],
    files: &[ProviderFile],
) -> Result<Vec<ProviderHost>, Failure> {
    let launchers = match wanted {
        Some(wanted) => {
            let there =
                in_path(&wanted.to_string_lossy()).or_else(|| wanted.is_file().then(|| wanted.to_owned()));
            vec![there.ok_or_else(|| Failure::wrong(format_args!("there is no {}", shown(wanted))))?]
        }
        None => LAUNCHERS.iter().filter_map(|name| in_path(name)).collect(),
    };
    let mut known = BTreeSet::new();
    let mut hosts = Vec::new();
    for launcher in launchers {
        let file = fs::canonicalize(&launcher).unwrap_or_else(|_| launcher.clone());
        let host = if known.insert(file) { of(launcher, variables, files) } else { continue };
        // Wheels have copies where others have links.
        let is_copy = |other: &ProviderHost| {
            (&other.name, &other.version) == (&host.name, &host.version)
                && other.launcher.as_ref().and_then(|file| file.parent())
                    == host.launcher.as_ref().and_then(|file| file.parent())
        };
        if !hosts.iter().any(is_copy) {
            hosts.push(host);
        }
    }
    if hosts.is_empty() {
        hosts.push(system(variables, files));
    }
    Ok(hosts)
}

/// The first file of this name in `PATH`.
fn in_path(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return None;
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file())
}

/// Programs that are linked with the system's libfabric.
fn system(variables: &[Variable], files: &[ProviderFile]) -> ProviderHost {
    let libfabric = ask::library(LIBFABRIC);
    let version = libfabric.as_ref().ok().map(|libfabric| libfabric.version.clone());
    let mut host = ProviderHost {
        launcher: None,
        name: "libfabric".to_owned(),
        version,
        library: None,
        libfabric: None,
        uses: false,
        problems: Vec::new(),
        notes: vec!["no mpiexec is in PATH: this is what the system's libfabric offers".to_owned()],
    };
    match libfabric {
        Ok(libfabric) => {
            host.problems.extend(why_not_offered(&libfabric, variables, files));
            host.libfabric = Some(libfabric);
        }
        Err(error) => host.problems.push(Problem::new(
            format!("the system has no libfabric: {error}"),
            "apt-get install libfabric1, or --mpiexec FILE for an MPI that has its own",
        )),
    }
    host.uses = host.problems.is_empty();
    host
}

fn of(launcher: PathBuf, variables: &[Variable], files: &[ProviderFile]) -> ProviderHost {
    let said = process::run(Command::new(&launcher).arg("--version"));
    let family = said.as_ref().ok().and_then(|said| Family::of(&said.out).or_else(|| Family::of(&said.err)));
    let mut host = ProviderHost {
        name: family.as_ref().map_or("unknown", Family::name).to_owned(),
        version: family.as_ref().map(|family| family.version().to_owned()),
        library: None,
        libfabric: None,
        uses: false,
        problems: Vec::new(),
        notes: Vec::new(),
        launcher: Some(launcher.clone()),
    };
    let Some(family) = family else {
        let what = match said {
            Ok(_) => "it is neither Open MPI nor MPICH, by what it says with --version".to_owned(),
            Err(error) => error,
        };
        host.problems.push(Problem::without_remedy(what));
        return host;
    };
    match linked(&launcher, &family) {
        None => host.problems.push(Problem::without_remedy(match &family {
            Family::Mpich { device: Some(device), .. } => {
                format!("it is built without libfabric ({device}), and can use no provider")
            }
            _ => "none of its libraries is linked with libfabric: it can use no provider".to_owned(),
        })),
        Some((library, libfabric)) => {
            host.library = Some(library);
            match ask::library(&libfabric) {
                Err(error) => host.problems.push(Problem::without_remedy(format!("{libfabric}: {error}"))),
                Ok(libfabric) => {
                    host.problems.extend(why_not_offered(&libfabric, variables, files));
                    match &family {
                        Family::OpenMpi { version } => open_mpi::judge(&mut host, version, &libfabric.offers),
                        Family::Mpich { device, .. } => mpich::judge(&mut host, device.as_deref()),
                    }
                    host.libfabric = Some(libfabric);
                }
            }
        }
    }
    host.uses = host.problems.is_empty();
    host
}

/// The library of an MPI that is linked with libfabric, and with which one.
fn linked(launcher: &Path, family: &Family) -> Option<(PathBuf, String)> {
    let real = fs::canonicalize(launcher).ok();
    let prefixes = [Some(launcher), real.as_deref()];
    let prefixes = prefixes.into_iter().flatten().filter_map(|file| file.parent()?.parent());
    let mut directories = Vec::new();
    for prefix in prefixes {
        directories.extend(["lib", "lib64"].map(|name| prefix.join(name)));
        // Debian's: /usr/lib/x86_64-linux-gnu/openmpi/lib.
        let entries = fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
        let triples = entries.filter(|entry| entry.file_name().to_string_lossy().ends_with("-linux-gnu"));
        for triple in triples {
            directories.push(triple.path().join("openmpi/lib"));
            directories.push(triple.path());
        }
    }
    let files = directories.iter().flat_map(|directory| {
        family.libraries().iter().map(move |library| directory.join(library)).filter(|file| file.is_file())
    });
    files.into_iter().find_map(|file| {
        let said = process::run(Command::new("ldd").arg(&file)).ok()?;
        Some((file, libfabric_of(&said.out)?))
    })
}

/// The libfabric among what `ldd` says: `libfabric.so.1 => /usr/lib/libfabric.so.1 (0x..)`.
fn libfabric_of(said: &str) -> Option<String> {
    said.lines().find_map(|line| {
        let (name, file) = line.trim().split_once(" => ")?;
        name.starts_with("libfabric.so").then(|| file.split(" (0x").next().unwrap_or(file).trim().to_owned())
    })
}

/// Why a libfabric does not offer the provider, if it does not.
fn why_not_offered(libfabric: &Libfabric, variables: &[Variable], files: &[ProviderFile]) -> Vec<Problem> {
    if libfabric.offers.iter().any(|name| name == NAME) {
        return Vec::new();
    }
    let variable = |name: &str| variables.iter().find(|variable| variable.name == name);
    let (path, provider) = (variable("FI_PROVIDER_PATH"), variable("FI_PROVIDER"));
    let mut problems = Vec::new();
    let set_path = "export FI_PROVIDER_PATH=DIRECTORY, that of libcarrousel-fi.so";
    let ours = files.iter().filter(|file| {
        file.provider.as_ref().is_some_and(|provider| provider.name == NAME)
            || file.file.to_string_lossy().contains(NAME)
    });
    let mut ours = ours.peekable();
    match path.and_then(|path| path.value.as_deref()) {
        None => problems.push(Problem::new("FI_PROVIDER_PATH is not set", set_path)),
        Some(value) => {
            if let Some(problem) = path.and_then(|path| path.problem.as_ref()) {
                problems.push(Problem::new(format!("FI_PROVIDER_PATH: {problem}"), set_path));
            } else if ours.peek().is_none() {
                problems.push(Problem::new(
                    format!("FI_PROVIDER_PATH: no libcarrousel-fi.so in {value}"),
                    set_path,
                ));
            }
        }
    }
    for file in ours {
        if let Some(problem) = &file.problem {
            problems.push(Problem::without_remedy(format!("{}: {problem}", shown(&file.file))));
        }
    }
    if let Some(problem) = provider.and_then(|provider| provider.problem.as_ref()) {
        let remedy = format!("export FI_PROVIDER={NAME}");
        problems.push(Problem::new(format!("FI_PROVIDER: {problem}"), remedy));
    }
    problems.extend(libfabric.says.iter().map(|line| Problem::without_remedy(line.clone())));
    if problems.is_empty() {
        problems.push(Problem::new(
            format!("libfabric {} does not offer it", libfabric.version),
            "FI_LOG_LEVEL=warn carrousel fi says why",
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_says_which_mpi_it_belongs_to() {
        let open = |version: &str| Some(Family::OpenMpi { version: version.to_owned() });
        assert_eq!(Family::of("mpiexec (Open MPI) 5.0.11\n\nReport bugs to https://..\n"), open("5.0.11"));
        assert_eq!(Family::of("mpiexec.openmpi (OpenRTE) 4.1.4\n"), open("4.1.4"));
        let hydra = |version: &str, options: &str| {
            Family::of(&format!(
                "HYDRA build details:\n    Version:      {version}\n    CC:   cc\n    {options}\n"
            ))
        };
        let mpich = |version: &str, device: Option<&str>| {
            let device = device.map(str::to_owned);
            Some(Family::Mpich { version: version.to_owned(), device })
        };
        let options = "Configure options:  --with-device=ch4:ucx,ofi --with-pm=hydra:gforker";
        assert_eq!(hydra("5.0.2", options), mpich("5.0.2", Some("ch4:ucx,ofi")));
        let quoted = "Configure options: '--with-hwloc-prefix=/usr' '--with-device=ch4:ucx' 'FFLAGS=-O2'";
        assert_eq!(hydra("4.0.2", quoted), mpich("4.0.2", Some("ch4:ucx")));
        assert_eq!(hydra("3.4", ""), mpich("3.4", None));
        for other in ["Intel(R) MPI Library for Linux* OS, Version 2021.9", "", "HYDRA", "(Open MPI)"] {
            assert_eq!(Family::of(other), None, "{other}");
        }
    }

    #[test]
    fn the_libfabric_of_a_library_is_the_one_that_the_loader_finds() {
        let said = "\tlinux-vdso.so.1 (0x00007fff)\n\tlibfabric.so.1 => /venv/lib/mpich/libfabric.so.1 (0x00007fc1)\n";
        assert_eq!(libfabric_of(said).as_deref(), Some("/venv/lib/mpich/libfabric.so.1"));
        assert_eq!(libfabric_of("\tlibfabric.so.1 => not found\n").as_deref(), Some("not found"));
        assert_eq!(libfabric_of("\tlibc.so.6 => /lib/libc.so.6 (0x1)\n"), None);
    }
}
