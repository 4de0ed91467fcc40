//! The tree of files that all formats wrap. It has no path of its own in it: it works wherever it is put, in `/usr`, in a
//! virtual environment, or in a directory of the user's.

use super::builds::{Binaries, Builds};
use super::making::files_below;
use super::{fi, licences};
use crate::book;
use crate::docs;
use crate::tools::{output_of, root};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the provider is, alone: libfabric loads all that a directory has.
const PROVIDERS: &str = "lib/carrousel";
/// The name by which libfabric finds it.
const PROVIDER: &str = "libcarrousel-fi.so";
/// Where documentation is.
pub(super) const DOC: &str = "share/doc/carrousel";
/// Pages of the workspace's directory; those of the book are found by the book.
const PAGES: [&str; 6] =
    ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "LICENSE-MIT", "LICENSE-APACHE"];
/// Completions of a shell, where it looks for them below a prefix.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/carrousel"),
    ("zsh", "share/zsh/site-functions/_carrousel"),
    ("fish", "share/fish/vendor_completions.d/carrousel.fish"),
];

/// A tree on disk, with `bin`, `lib`, `include` and `share`.
pub(super) struct InstalledTree {
    pub(super) root: PathBuf,
}

impl InstalledTree {
    /// An empty one, at a place where nothing is.
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Puts everything into it: `main` as the command and the provider, and `verbs`, if there are such, beside them.
    pub(super) fn fill(
        &self,
        main: &Binaries,
        verbs: Option<&Binaries>,
        Builds { c_library, .. }: &Builds,
    ) -> Result<(), String> {
        self.put_binary("bin/carrousel", &main.command)?;
        self.put_binary(&format!("{PROVIDERS}/{PROVIDER}"), &main.provider)?;
        self.put("bin/carrousel-fi", fi::script(), 0o755)?;
        if let Some(Binaries { command, provider }) = verbs {
            self.put_binary("bin/carrousel-verbs", command)?;
            self.put_binary(&format!("{PROVIDERS}/verbs/{PROVIDER}"), provider)?;
        }
        for file in files_below(c_library)? {
            let name = file.strip_prefix(c_library).unwrap_or(&file).display().to_string();
            self.put_library_file(&name, &file)?;
        }
        for (shell, place) in COMPLETIONS {
            self.put(place, docs::completions(&main.command, shell)?, 0o644)?;
        }
        for page in docs::manual(&main.command)? {
            self.put(&format!("share/man/man1/{}", page.name), page.text, 0o644)?;
        }
        self.put_documentation()
    }

    /// A file of the C library. The static one is three quarters of all there is to download, and cargo makes it.
    fn put_library_file(&self, name: &str, from: &Path) -> Result<(), String> {
        if name.ends_with(".a") {
            return Ok(());
        }
        if from.is_symlink() {
            let place = self.place(name)?;
            return fs::read_link(from)
                .and_then(|target| symlink(target, &place))
                .map_err(|error| wrong(&place, &error));
        }
        match name.contains(".so") {
            true => self.put_binary(name, from),
            false => self.copy(name, from),
        }
    }

    fn put_documentation(&self) -> Result<(), String> {
        for page in PAGES {
            self.copy(&format!("{DOC}/{page}"), &root().join(page))?;
        }
        // Links between pages, and to files elsewhere in the workspace, lead somewhere here, too.
        let pages = files_below(&root().join(book::PAGES))?;
        let mut linked = Vec::new();
        for path in book::linked()? {
            let path = root().join(path);
            linked.extend(if path.is_dir() { files_below(&path)? } else { vec![path] });
        }
        for file in pages.iter().chain(&linked) {
            let name = file.strip_prefix(root()).unwrap_or(file).display();
            self.copy(&format!("{DOC}/{name}"), file)?;
        }
        self.put(&format!("{DOC}/copyright"), licences::own()?, 0o644)?;
        self.put(&format!("{DOC}/THIRD-PARTY-LICENSES"), licences::of_dependencies()?, 0o644)
    }

    /// All files and links in it, by their whole paths.
    pub(super) fn files(&self) -> Result<Vec<PathBuf>, String> {
        files_below(&self.root)
    }

    /// Programs and shared libraries in it.
    pub(super) fn binaries(&self) -> Result<Vec<PathBuf>, String> {
        let is_binary = |file: &PathBuf| {
            !file.is_symlink() && fs::read(file).is_ok_and(|content| content.starts_with(b"\x7fELF"))
        };
        Ok(self.files()?.into_iter().filter(is_binary).collect())
    }

    /// The newest version of glibc of which a program here uses something, `2.34`.
    pub(super) fn glibc(&self) -> Result<String, String> {
        let mut newest = (0, 0);
        for binary in self.binaries()? {
            let symbols = output_of(Command::new("objdump").arg("-T").arg(binary))?;
            newest = newest.max(newest_glibc(&symbols));
        }
        Ok(format!("{}.{}", newest.0, newest.1))
    }

    fn put_binary(&self, name: &str, from: &Path) -> Result<(), String> {
        let place = self.place(name)?;
        // Names stay, for a panic's backtrace; builds of the tests have more than them.
        output_of(Command::new("strip").arg("--strip-debug").arg("-o").arg(&place).arg(from))?;
        self.allow(&place, 0o755)
    }

    fn copy(&self, name: &str, from: &Path) -> Result<(), String> {
        let content = fs::read(from).map_err(|error| wrong(from, &error))?;
        self.put(name, content, 0o644)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>, mode: u32) -> Result<(), String> {
        let place = self.place(name)?;
        fs::write(&place, content).map_err(|error| wrong(&place, &error))?;
        self.allow(&place, mode)
    }

    fn allow(&self, place: &Path, mode: u32) -> Result<(), String> {
        fs::set_permissions(place, Permissions::from_mode(mode)).map_err(|error| wrong(place, &error))
    }

    /// The path of a file, whose directory is there. Whatever this process's mask is, all may read it.
    fn place(&self, name: &str) -> Result<PathBuf, String> {
        let place = self.root.join(name);
        let directory = place.parent().unwrap_or(&self.root);
        fs::create_dir_all(directory).map_err(|error| wrong(directory, &error))?;
        for directory in directory.ancestors().take_while(|directory| directory.starts_with(&self.root)) {
            self.allow(directory, 0o755)?;
        }
        Ok(place)
    }
}

fn wrong(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// The newest version in what `objdump -T` prints, where each symbol has its own: `(GLIBC_2.34)`.
fn newest_glibc(symbols: &str) -> (u32, u32) {
    let versions = symbols.split("GLIBC_").skip(1).filter_map(|rest| {
        let version = rest.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
        let mut parts = version.split('.').map_while(|part| part.parse().ok());
        Some((parts.next()?, parts.next()?))
    });
    versions.max().unwrap_or((0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_found() {
        let symbols =
            "0 DF *UND* 0 (GLIBC_2.9) a\n0 DF *UND* 0 (GLIBC_2.34) b\n0 (GLIBC_2.3.4) c\n0 (IBVERBS_1.1) d\n";
        assert_eq!(newest_glibc(symbols), (2, 34));
        assert_eq!(newest_glibc("0 DF *UND* 0 (GLIBC_PRIVATE) a\n"), (0, 0));
    }

    #[test]
    fn programs_are_told_from_other_files() {
        let place = tempfile::tempdir().expect("there is room");
        let tree = InstalledTree::new(place.path().join("tree"));
        tree.put_binary("bin/own", &std::env::current_exe().expect("it is there")).expect("it is copied");
        tree.put("bin/script", "#!/bin/sh\n", 0o755).expect("there is room");
        symlink("own", tree.root.join("bin/link")).expect("there is room");
        assert_eq!(tree.binaries(), Ok(vec![tree.root.join("bin/own")]));
        assert!(tree.glibc().expect("it is a program").starts_with("2."));
        let mode = fs::metadata(tree.root.join("bin/own")).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }
}
