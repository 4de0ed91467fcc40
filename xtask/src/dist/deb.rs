//! The Debian package: the tree below `/usr`, and what it depends on.

use super::making::{VERSION, epoch};
use super::tree::{DOC, InstalledTree};
use crate::tools::output_of;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where Debian has what a prefix of one's own has elsewhere: `/usr/share/zsh/site-functions` is not for packages.
const MOVED: [(&str, &str); 1] = [("share/zsh/site-functions", "share/zsh/vendor-completions")];

/// Writes it; says where it is. `place` is a directory for what is needed meanwhile.
pub(super) fn make(tree: &InstalledTree, place: &Path, to: &Path) -> Result<PathBuf, String> {
    let said = |error: io::Error| format!("{}: {error}", place.display());
    for (from, moved) in MOVED {
        let moved = tree.root.join(moved);
        fs::create_dir_all(moved.parent().unwrap_or(&moved))
            .and_then(|()| fs::rename(tree.root.join(from), &moved))
            .map_err(said)?;
        // The directory above is empty, or has what others need.
        let _ = fs::remove_dir(tree.root.join(from).parent().unwrap_or(&moved));
    }
    let package = place.join("package");
    fs::create_dir_all(package.join("DEBIAN")).map_err(said)?;
    fs::rename(&tree.root, package.join("usr")).map_err(said)?;
    let tree = InstalledTree::new(package.join("usr"));
    let architecture = output_of(Command::new("dpkg").arg("--print-architecture"))?;
    let architecture = architecture.trim();
    let depends = depends(&tree, place)?;
    let size =
        tree.files()?.into_iter().filter_map(|file| fs::symlink_metadata(file).ok()).map(|file| file.len());
    let control = control(architecture, &depends, size.sum::<u64>().div_ceil(1024));
    fs::write(package.join("DEBIAN/control"), control).map_err(said)?;
    // The loader's list of libraries gets the C library.
    fs::write(package.join("DEBIAN/triggers"), "activate-noawait ldconfig\n").map_err(said)?;
    let deb = to.join(format!("carrousel_{VERSION}_{architecture}.deb"));
    let mut build = Command::new("dpkg-deb");
    build.env("SOURCE_DATE_EPOCH", epoch().to_string());
    build.args(["--root-owner-group", "-Zxz", "--build"]).args([&package, &deb]);
    output_of(&mut build)?;
    Ok(deb)
}

/// The packages that have the libraries that programs here need, in the versions that they need.
fn depends(tree: &InstalledTree, place: &Path) -> Result<String, String> {
    // `dpkg-shlibdeps` works in the directory of a source package only.
    let source = place.join("source");
    fs::create_dir_all(source.join("debian"))
        .and_then(|()| {
            fs::write(
                source.join("debian/control"),
                "Source: carrousel\n\nPackage: carrousel\nArchitecture: any\n",
            )
        })
        .map_err(|error| format!("{}: {error}", source.display()))?;
    let mut command = Command::new("dpkg-shlibdeps");
    command.current_dir(source).arg("-O");
    command.args(tree.binaries()?.iter().map(|binary| format!("-e{}", binary.display())));
    let told = output_of(&mut command)?;
    let depends = told.lines().find_map(|line| line.strip_prefix("shlibs:Depends="));
    depends.map(str::to_owned).ok_or_else(|| format!("`dpkg-shlibdeps` says {told:?}"))
}

fn control(architecture: &str, depends: &str, kibibytes: u64) -> String {
    // The drivers of adapters, of which libibverbs knows none itself.
    let recommends = if depends.contains("libibverbs1") { "Recommends: ibverbs-providers\n" } else { "" };
    format!(
        "Package: carrousel\nVersion: {VERSION}\nArchitecture: {architecture}\nMaintainer: The developers of Carrousel\n\
         Installed-Size: {kibibytes}\nDepends: {depends}\n{recommends}Suggests: libfabric-bin, openmpi-bin\n\
         Section: science\nPriority: optional\n\
         Description: communication patterns of parallel programs, proven and run\n \
         Explores every order in which ranks, protocol and network can act, and proves that\n \
         nothing goes wrong, or shows the shortest way in which something does; runs patterns in\n \
         virtual time and as processes. The same protocols as a libfabric provider, for MPI\n \
         libraries (carrousel-fi), and as a C library. /usr/{DOC} has the documentation.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_are_recommended_where_libibverbs_is_needed() {
        assert!(
            control("amd64", "libc6 (>= 2.34), libibverbs1", 1).contains("\nRecommends: ibverbs-providers\n")
        );
        let text = control("amd64", "libc6 (>= 2.34)", 12);
        assert!(
            !text.contains("Recommends") && text.contains("\nInstalled-Size: 12\nDepends: libc6 (>= 2.34)\n")
        );
        // Of a field, all lines but the first begin with a blank.
        let mut names = text.lines().filter(|line| !line.starts_with(' '));
        assert!(names.clone().all(|line| line.contains(": ")), "{text}");
        assert_eq!(names.next_back().and_then(|line| line.split(':').next()), Some("Description"));
    }
}
