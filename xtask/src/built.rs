//! Programs of this workspace, built as tests that take long want them: fast, but sooner than a release.

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
}

/// The command `carrousel`.
pub(crate) const COMMAND: Built = Built { package: "carrousel-cli", kind: Kind::Bin, name: "carrousel" };

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
        }
    }
}

impl Built {
    /// Builds it; says where it is.
    pub(crate) fn build(&self) -> Result<PathBuf, String> {
        // With all that packages can have: so all steps share one build.
        let mut command = cargo(&["build", "--profile", "suite", "--locked", "--quiet", "--all-features"]);
        command.args(["--package", self.package, &format!("--{}", self.kind.word()), self.name]);
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
            let ours = target.name == self.name && target.kind.iter().any(|kind| kind == self.kind.word());
            artifact.executable.filter(|_| ours)
        })
    }
}

/// The fields that are read of cargo's message about an artifact.
#[derive(Deserialize)]
struct Artifact {
    target: BuiltTarget,
    executable: Option<PathBuf>,
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
            r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"ring"},"executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"ring"},"executable":"/t/ring"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"kind":["test"],"name":"ring"},"executable":"/t/ring-1a"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        let built = |kind, name| Built { package: "p", kind, name };
        assert_eq!(built(Kind::Test, "ring").executable_in(told), Some("/t/ring-1a".into()));
        assert_eq!(built(Kind::Bin, "ring").executable_in(told), Some("/t/ring".into()));
        assert_eq!(built(Kind::Example, "ring").executable_in(told), None);
    }
}
