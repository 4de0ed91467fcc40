//! The programs and libraries that packages have, compiled.

use super::Progress;
use crate::built::{COMMAND, PROVIDER};
use crate::requirements::features;
use crate::tools::{self, root, target};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// All that is compiled.
pub(super) struct Builds {
    /// These need nothing but the C library of the system.
    pub(super) plain: Binaries,
    /// These have InfiniBand and RoCE, and need libibverbs.
    pub(super) verbs: Option<Binaries>,
    /// The C library as its Makefile installs it: `lib` and `include` are in here.
    pub(super) c_library: PathBuf,
}

/// The command and the provider of the same features.
pub(super) struct Binaries {
    pub(super) command: PathBuf,
    pub(super) provider: PathBuf,
}

impl Builds {
    /// As users get them.
    pub(super) fn release(with_verbs: bool, progress: &mut Progress) -> Result<Self, String> {
        // Cargo puts both builds of a program into the same place.
        let place = |name: &str| target().join("dist-builds").join(name);
        let plain = Binaries {
            command: progress.step("command", || keep(&COMMAND.build_release()?, &place("plain")))?,
            provider: progress.step("provider", || keep(&PROVIDER.build_release()?, &place("plain")))?,
        };
        let c_library = progress.step("C library", || c_library("release", &place("c")))?;
        let verbs = with_verbs.then(|| {
            let with_verbs = place("verbs");
            Ok::<_, String>(Binaries {
                command: progress.step("command, with InfiniBand and RoCE", || {
                    keep(&COMMAND.build_release_with_verbs()?, &with_verbs)
                })?,
                provider: progress.step("provider, with InfiniBand and RoCE", || {
                    keep(&PROVIDER.build_release_with_verbs()?, &with_verbs)
                })?,
            })
        });
        Ok(Self { plain, verbs: verbs.transpose()?, c_library })
    }

    /// The builds that other steps of `cargo xtask test` make anyway: releases without features, and builds of the tests with all
    /// features.
    pub(super) fn of_tests() -> Result<Self, String> {
        let place = target().join("dist-builds/tests");
        let plain = Binaries {
            command: keep(&COMMAND.build_release()?, &place)?,
            provider: keep(&PROVIDER.build_release()?, &place)?,
        };
        let with_features =
            || Ok::<_, String>(Binaries { command: COMMAND.build()?, provider: PROVIDER.build()? });
        let verbs = (!features().is_empty()).then(with_features).transpose()?;
        Ok(Self { plain, verbs, c_library: c_library("dev", &place.join("c"))? })
    }
}

/// A copy that the next build leaves alone.
fn keep(built: &Path, place: &Path) -> Result<PathBuf, String> {
    let copy = place.join(built.file_name().unwrap_or_default());
    fs::create_dir_all(place)
        .and_then(|()| fs::copy(built, &copy))
        .map_err(|error| format!("cannot copy {} to {}: {error}", built.display(), copy.display()))?;
    Ok(copy)
}

/// Builds the C library, and installs it into a directory; its description for `pkg-config` finds it wherever that is moved.
fn c_library(profile: &str, place: &Path) -> Result<PathBuf, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", place.display());
    if place.exists() {
        fs::remove_dir_all(place).map_err(wrong)?;
    }
    let mut make = Command::new("make");
    make.args(["--silent", "install", "PREFIX="]).arg(format!("DESTDIR={}", place.display()));
    make.arg(format!("PROFILE={profile}")).arg(format!("CARGO_TARGET_DIR={}", target().display()));
    // Cargo has told this program of its own job server, which does not reach the one below.
    make.env_remove("MAKEFLAGS").current_dir(root().join("ffi"));
    tools::run(make)?;
    let description = place.join("lib/pkgconfig/carrousel-ffi.pc");
    let text = fs::read_to_string(&description).map_err(wrong)?;
    let movable = text.replacen("prefix=\n", "prefix=${pcfiledir}/../..\n", 1);
    if movable == text {
        return Err(format!("{} has no empty prefix", description.display()));
    }
    fs::write(&description, movable).map_err(wrong)?;
    Ok(place.to_owned())
}
