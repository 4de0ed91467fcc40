//! The archive: the tree below one directory, compressed.

use super::making::{VERSION, epoch};
use super::tree::InstalledTree;
use crate::tools::run;
use std::env::consts::ARCH;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory that it unpacks to.
pub(super) fn directory() -> String {
    format!("carrousel-{VERSION}")
}

/// Writes it; says where it is.
pub(super) fn make(tree: &InstalledTree, to: &Path) -> Result<PathBuf, String> {
    let archive = to.join(format!("carrousel-{VERSION}-{ARCH}-linux.tar.gz"));
    let mut tar = Command::new("tar");
    // Names in one order, no user of this machine, and one time.
    tar.args(["--sort=name", "--format=ustar", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg(format!("--mtime=@{}", epoch())).arg(format!("--transform=flags=rSh;s,^\\.,{},", directory()));
    // Without the time and the name that gzip would keep.
    tar.args(["--use-compress-program", "gzip -9n", "--create", "--file"]).arg(&archive);
    tar.arg("--directory").arg(&tree.root).arg(".");
    run(tar)?;
    Ok(archive)
}
