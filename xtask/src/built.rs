//! Programs of this workspace: as the tests have built them already, or as a release for what is measured.

use crate::requirements::features;
use crate::tools::{cargo, output_of};
use serde::Deserialize;
use std::path::PathBuf;
use std::process::Stdio;

/// A program that cargo can build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Built {
    pub(crate) package: &'static str,
    pub(crate) kind: Kind,
    pub(crate) name: &'static str,
}

/// The kind of a target, as cargo names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bin,
    Example,
    /// A file of the package's directory `tests`.
    Test,
    /// A library that other programs load.
    Library,
}

/// The command `carrousel`.
pub(crate) const COMMAND: Built = Built { package: "carrousel-cli", kind: Kind::Bin, name: "carrousel" };

/// The provider, which libfabric loads.
pub(crate) const PROVIDER: Built =
    Built { package: "carrousel-ofi", kind: Kind::Library, name: "carrousel_ofi" };

/// A package that is built alone has other features than beside the others, and is built once more.
fn everything() -> Vec<&'static str> {
    [&["--workspace"], features()].concat()
}

/// An example program.
pub(crate) const fn example(name: &'static str) -> Built {
    Built { package: "carrousel-app", kind: Kind::Example, name }
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Bin => "bin",
            Self::Example => "example",
            Self::Test => "test",
            Self::Library => "cdylib",
        }
    }

    /// The arguments by which cargo builds one.
    fn arguments(self, name: &str) -> Vec<String> {
        match self {
            // Cargo has no way to say which one.
            Self::Library => vec!["--lib".to_owned()],
            _ => vec![format!("--{}", self.word()), name.to_owned()],
        }
    }
}

impl Built {
    /// Builds it as the unit tests are built, which share all of it; says where it is.
    pub(crate) fn build(&self) -> Result<PathBuf, String> {
        // What features a crate has depends on whether anything is built that has dependencies for tests alone: with an
        // example, a program's crates are those of the tests, and are not built once more.
        let as_tests =
            if matches!(self.kind, Kind::Bin | Kind::Library) { &["--example", "empty"][..] } else { &[] };
        self.build_as("dev", &everything(), as_tests)
    }

    /// Builds it as users do, who may have neither libibverbs nor hwloc; says where it is.
    pub(crate) fn build_release(&self) -> Result<PathBuf, String> {
        self.build_as("release", &["--package", self.package], &[])
    }

    /// Builds it for users of several nodes, who have libibverbs; says where it is.
    pub(crate) fn build_release_with_verbs(&self) -> Result<PathBuf, String> {
        self.build_as("release", &["--package", self.package, "--features", "verbs"], &[])
    }

    /// Builds it for measurements between machines, with all features; says where it is.
    pub(crate) fn build_release_with_all_features(&self) -> Result<PathBuf, String> {
        self.build_as("release", &everything(), &[])
    }

    fn build_as(&self, profile: &str, packages: &[&str], beside: &[&str]) -> Result<PathBuf, String> {
        let mut command = cargo(&["build", "--profile", profile, "--locked", "--quiet"]);
        command.args(packages).args(self.kind.arguments(self.name)).args(beside);
        command.args(["--message-format", "json-render-diagnostics"]).stderr(Stdio::inherit());
        let told = output_of(&mut command)?;
        self.executable_in(&told)
            .ok_or_else(|| format!("cargo does not say where it has built {}", self.name))
    }

    /// Where it is, in cargo's messages, one on a line. The name of a test's file has a hash in it.
    fn executable_in(&self, told: &str) -> Option<PathBuf> {
        told.lines().find_map(|line| {
            // Messages of other kinds have other fields.
            let artifact: Artifact = serde_json::from_str(line).ok()?;
            let target = &artifact.target;
            let is_it = target.name == self.name
                && target.kind.iter().any(|kind| kind == self.kind.word())
                && artifact.package() == Some(self.package);
            if !is_it {
                return None;
            }
            let is_library = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "so");
            let library = || artifact.filenames.into_iter().find(is_library);
            if self.kind == Kind::Library { library() } else { artifact.executable }
        })
    }
}

/// The fields that are read of cargo's message about an artifact.
#[derive(Deserialize)]
struct Artifact {
    package_id: String,
    target: BuiltTarget,
    #[serde(default)]
    filenames: Vec<PathBuf>,
    executable: Option<PathBuf>,
}

impl Artifact {
    /// Its package: `path+file:///w/transport#carrousel-transport@0.1.0`, or, in a directory of the same name,
    /// `path+file:///w/carrousel#0.1.0`.
    fn package(&self) -> Option<&str> {
        let (path, fragment) = self.package_id.split_once('#')?;
        match fragment.split_once('@') {
            Some((name, _)) => Some(name),
            None => path.rsplit('/').next(),
        }
    }
}

#[derive(Deserialize)]
struct BuiltTarget {
    kind: Vec<String>,
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_where_cargo_says() {
        let told = concat!(
            r#"{"reason":"build-script-executed","package_id":"p","out_dir":"/t/out"}"#,
            "\n",
            r#"{"package_id":"path+file:///w/p#0.1.0","target":{"kind":["lib"],"name":"ring"},"executable":null}"#,
            "\n",
            r#"{"package_id":"path+file:///w/l#0.1.0","target":{"kind":["cdylib","rlib"],"name":"ring"},"#,
            r#""filenames":["/t/libring.rlib","/t/libring.so"],"executable":null}"#,
            "\n",
            r#"{"package_id":"path+file:///w/p#0.1.0","target":{"kind":["bin"],"name":"ring"},"executable":"/t/p"}"#,
            "\n",
            r#"{"package_id":"path+file:///w/r#q@0.1.0","target":{"kind":["bin"],"name":"ring"},"executable":"/t/q"}"#,
            "\n",
            r#"{"package_id":"path+file:///w/p#0.1.0","target":{"kind":["test"],"name":"ring"},"executable":"/t/ring-1a"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        let built = |package, kind| Built { package, kind, name: "ring" };
        assert_eq!(built("p", Kind::Test).executable_in(told), Some("/t/ring-1a".into()));
        assert_eq!(built("p", Kind::Bin).executable_in(told), Some("/t/p".into()));
        assert_eq!(built("q", Kind::Bin).executable_in(told), Some("/t/q".into()));
        assert_eq!(built("l", Kind::Library).executable_in(told), Some("/t/libring.so".into()));
        assert_eq!(built("p", Kind::Example).executable_in(told), None);
    }
}
