//! A directory as the root of a system that has next to nothing: busybox for a shell, and the libraries of some packages.

use crate::guest::packages::is_root;
use crate::tools::{find, output_of, root, target};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Directories that are links to those of the same name below `usr`, as in Debian.
const MERGED: [&str; 4] = ["bin", "lib", "lib64", "sbin"];
/// What busybox is there.
const APPLETS: [&str; 7] = ["sh", "sed", "readlink", "dirname", "cat", "env", "mkdir"];
/// Makes the devices and the processes of the new root, and runs a script in it.
const ENTER: &str = "xtask/dist/enter.sh";

/// A root, which is removed in the end.
pub(super) struct EmptyRoot(TempDir);

impl EmptyRoot {
    /// Why this system lets no process have a root of its own, if it does not.
    pub(super) fn refused() -> Option<String> {
        let mut probe = namespaces();
        let refused = output_of(probe.args(["sh", "-c", "mount -t tmpfs probe /mnt"])).err();
        refused.map(|why| format!("this system gives no process a root of its own: {why}"))
    }

    /// One with a shell.
    pub(super) fn new() -> Result<Self, String> {
        let place = tempfile::tempdir_in(target()).map_err(|error| format!("no room for a root: {error}"))?;
        let root = Self(place);
        for name in ["dev", "proc", "tmp", "usr/bin", "usr/lib", "usr/lib64", "usr/sbin"] {
            root.directory(name)?;
        }
        for name in MERGED {
            root.link(&format!("usr/{name}"), name)?;
        }
        let busybox = find("busybox").ok_or("there is no busybox: Debian has it in busybox-static")?;
        root.add_program(&busybox)?;
        for applet in APPLETS {
            root.link(&busybox.display().to_string(), &format!("bin/{applet}"))?;
        }
        Ok(root)
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Makes a directory, and those above it.
    pub(super) fn directory(&self, name: &str) -> Result<(), String> {
        fs::create_dir_all(self.path().join(name)).map_err(|error| wrong(name, &error))
    }

    fn link(&self, target: &str, name: &str) -> Result<(), String> {
        symlink(target, self.path().join(name)).map_err(|error| wrong(name, &error))
    }

    /// Adds the shared libraries of these packages, and of the libraries that they depend on, and says to dpkg that they are
    /// installed.
    pub(super) fn add_packages(&self, packages: &[&str]) -> Result<(), String> {
        self.directory("var/lib/dpkg/info")?;
        self.directory("var/lib/dpkg/updates")?;
        let mut left: Vec<String> = packages.iter().map(|name| (*name).to_owned()).collect();
        let (mut seen, mut status) = (BTreeSet::new(), String::new());
        while let Some(package) = left.pop() {
            if !seen.insert(package.clone()) {
                continue;
            }
            let query =
                |arguments: &[&str]| output_of(Command::new("dpkg-query").args(arguments).arg(&package));
            status += &format!("{}\n", query(&["--status"])?.trim_end());
            status.push('\n');
            for file in query(&["--listfiles"])?.lines().map(Path::new).filter(|file| is_library(file)) {
                self.copy(file)?;
            }
            let depends = query(&["--showformat=${Depends}", "--show"])?;
            // Others, such as programs that make users, are not for the loader.
            left.extend(names(&depends).filter(|name| name.starts_with("lib")).map(str::to_owned));
        }
        for (name, text) in [("status", status.as_str()), ("available", ""), ("info/format", "1\n")] {
            let path = self.path().join("var/lib/dpkg").join(name);
            fs::write(&path, text).map_err(|error| wrong(name, &error))?;
        }
        Ok(())
    }

    /// Adds a program at its own path, with the shared libraries that it needs.
    pub(super) fn add_program(&self, program: &Path) -> Result<(), String> {
        self.copy(program)?;
        // It fails for a program that is linked statically.
        let shown = output_of(Command::new("ldd").arg(program)).unwrap_or_default();
        let libraries = shown.split_whitespace().filter(|word| word.starts_with('/')).map(Path::new);
        libraries.filter(|library| library.is_file()).try_for_each(|library| self.copy(library))
    }

    /// Copies a file to the same path; of a link, what it leads to.
    fn copy(&self, file: &Path) -> Result<(), String> {
        let copy = self.path().join(file.strip_prefix("/").unwrap_or(file));
        copy.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::copy(file, &copy))
            .map(drop)
            .map_err(|error| wrong(&file.display().to_string(), &error))
    }

    /// What a script prints here, with an empty environment; its processes end with it.
    pub(super) fn shell(&self, script: &str) -> Result<String, String> {
        output_of(namespaces().arg("sh").arg(root().join(ENTER)).arg(self.path()).arg(script))
    }

    /// Installs or removes a package.
    pub(super) fn dpkg(&self, action: &str, package: &str) -> Result<(), String> {
        let mut command = namespaces();
        command.arg("dpkg").arg(format!("--root={}", self.path().display()));
        // Its programs of administration are not in the root, and no script of the package asks for them.
        command.args(["--force-bad-path", "--log=/dev/null", action, package]);
        output_of(&mut command).map(drop)
    }
}

/// A command in namespaces of its own, of processes and of what is mounted; in one of users, where this user may not have these
/// otherwise.
fn namespaces() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child"]);
    if !is_root() {
        command.arg("--map-root-user");
    }
    command
}

/// The names of packages in a field such as `Depends`; of alternatives, the first.
pub(super) fn names(field: &str) -> impl Iterator<Item = &str> {
    let names = field.split(',').filter_map(|entry| entry.split_whitespace().next());
    names.map(|name| name.split(':').next().unwrap_or(name))
}

/// Whether the loader looks for a library where this one is, and not a program for a module of its own.
fn is_library(file: &Path) -> bool {
    let is_of_the_loader = |directory: &Path| {
        directory.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            name.starts_with("lib") || name.contains("-linux-gnu")
        })
    };
    let is_named_so = file.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"));
    is_named_so && file.parent().is_some_and(is_of_the_loader) && file.is_file()
}

fn wrong(name: &str, error: &io::Error) -> String {
    format!("{name}: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_named_without_versions() {
        let field = "libc6 (>= 2.34), libgcc-s1 (>= 3.0), libnl-3-200:amd64 (>= 3) | other, adduser\n";
        assert_eq!(names(field).collect::<Vec<_>>(), ["libc6", "libgcc-s1", "libnl-3-200", "adduser"]);
        assert_eq!(names("\n").count(), 0);
    }

    #[test]
    fn a_root_has_a_shell_and_nothing_of_this_system() {
        if let Some(why) = EmptyRoot::refused() {
            return eprintln!("skipped: {why}");
        }
        let root = EmptyRoot::new().expect("there is room");
        let printed = root.shell("cd /; for name in *; do echo -n \"$name \"; done; echo $PATH ${HOME-none}");
        let printed = printed.expect("it has a shell");
        assert_eq!(printed, "bin dev lib lib64 proc sbin tmp usr /usr/bin:/bin none\n");
        assert!(root.shell("exit 3").expect_err("it fails").contains("exit status: 3"));
    }
}
