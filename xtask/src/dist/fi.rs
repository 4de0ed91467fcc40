//! `carrousel-fi`, which prints the variables by which an MPI library uses the provider beside it: a script of any POSIX shell.

use super::making::VERSION;

/// The script, as it is installed.
pub(super) fn script() -> String {
    include_str!("../../dist/carrousel-fi").replace("@VERSION@", VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output};

    /// An installation in this directory, whose provider is an empty file. Says where the script is.
    fn installed(prefix: &Path) -> PathBuf {
        let script = prefix.join("bin/carrousel-fi");
        for name in ["bin", "lib/carrousel"] {
            fs::create_dir_all(prefix.join(name)).expect("there is room");
        }
        fs::write(prefix.join("lib/carrousel/libcarrousel-fi.so"), "").expect("there is room");
        fs::write(&script, super::script()).expect("there is room");
        fs::set_permissions(&script, Permissions::from_mode(0o755)).expect("it is ours");
        script
    }

    /// What a shell prints that has taken the variables of a script.
    fn evaluated(script: &Path, arguments: &str) -> Output {
        let taken = format!("eval \"$(\"$0\" {arguments})\" && echo \"$FI_PROVIDER $FI_PROVIDER_PATH\"");
        Command::new("sh").args(["-c", &taken]).arg(script).output().expect("there is a shell")
    }

    #[test]
    fn the_provider_is_found_wherever_the_tree_is() {
        let place = tempfile::tempdir().expect("there is room");
        let place = place.path().canonicalize().expect("it is there");
        let prefix = place.join("it's $HOME, \"here\"");
        let script = installed(&prefix);
        let link = place.join("link");
        symlink(&script, &link).expect("there is room");
        let expected = format!("carrousel {}\n", prefix.join("lib/carrousel").display());
        for path in [&script, &link] {
            let output = evaluated(path, "");
            assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{output:?}");
        }
    }

    #[test]
    fn a_provider_whose_libraries_are_missing_is_not_taken() {
        let place = tempfile::tempdir().expect("there is room");
        let place = place.path().canonicalize().expect("it is there");
        let script = installed(&place);
        let providers = place.join("lib/carrousel");
        fs::create_dir(providers.join("verbs")).expect("there is room");
        fs::write(providers.join("verbs/libcarrousel-fi.so"), "").expect("there is room");
        // It stands for the loader, which says what is there and what is not.
        let ldd = place.join("ldd");
        let path = format!("{}:{}", place.display(), std::env::var("PATH").unwrap_or_default());
        for (told, expected) in [
            ("libibverbs.so.1 => /lib/libibverbs.so.1 (0x7f)", providers.join("verbs")),
            ("libibverbs.so.1 => not found", providers.clone()),
        ] {
            fs::write(&ldd, format!("#!/bin/sh\necho '{told}'\n")).expect("there is room");
            fs::set_permissions(&ldd, Permissions::from_mode(0o755)).expect("it is ours");
            let output = Command::new(&script).env("PATH", &path).output().expect("it runs");
            let line = format!("export FI_PROVIDER_PATH='{}'\n", expected.display());
            assert!(String::from_utf8_lossy(&output.stdout).starts_with(&line), "{told}: {output:?}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_and_evaluates_to_a_failure() {
        let place = tempfile::tempdir().expect("there is room");
        let script = installed(place.path());
        for (arguments, said) in [
            ("--mpi", "--mpi needs a library: openmpi or mpich"),
            ("--mpi lam", "`lam` is no MPI library that this knows: openmpi, or mpich"),
            ("--all", "there is no argument `--all`; --help says what there is"),
        ] {
            let output = evaluated(&script, arguments);
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            assert_eq!(String::from_utf8_lossy(&output.stderr), format!("carrousel-fi: {said}\n"));
            let words: Vec<&str> = arguments.split(' ').collect();
            let status = Command::new(&script).args(words).output().expect("it runs").status;
            assert_eq!(status.code(), Some(2), "{arguments}");
        }
        fs::remove_dir_all(place.path().join("lib")).expect("it is ours");
        let output = evaluated(&script, "");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("this command has been moved away from the provider"), "{said}");
        let colon = place.path().join("a:b");
        let output = evaluated(&installed(&colon), "");
        assert!(String::from_utf8_lossy(&output.stderr).contains("a colon in its path"), "{output:?}");
    }

    #[test]
    fn its_help_names_every_variable_that_it_prints() {
        let place = tempfile::tempdir().expect("there is room");
        let script = installed(place.path());
        let of = |arguments: &[&str]| {
            let output = Command::new(&script).args(arguments).output().expect("it runs");
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).expect("it is text")
        };
        let help = of(&["--help"]);
        let printed = of(&[]);
        let names = printed.lines().filter_map(|line| line.strip_prefix("export ")?.split('=').next());
        let groups = ["OMPI_MCA_", "MPIR_CVAR_"];
        let in_help = |name: &str| match groups.iter().find(|group| name.starts_with(**group)) {
            Some(group) => help.contains(&format!("  {group}*")),
            None => help.contains(&format!("  {name} ")),
        };
        assert_eq!(names.clone().count(), 7, "{printed}");
        assert!(names.clone().all(in_help), "{printed}{help}");
        assert!(help.lines().all(|line| line.len() <= 110), "{help}");
        assert_eq!(of(&["-V"]), format!("carrousel-fi {VERSION}\n"));
    }
}
