//! The Python wheel, which `wheel.py` writes: the tree below the directory of a virtual environment.

use super::making::{VERSION, epoch};
use super::tree::InstalledTree;
use crate::tools::{output_of, root};
use std::env::consts::ARCH;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes it; says where it is.
pub(super) fn make(tree: &InstalledTree, to: &Path) -> Result<PathBuf, String> {
    let tag = tag(&tree.glibc()?);
    let wheel = to.join(format!("carrousel-{VERSION}-{tag}.whl"));
    let mut python = Command::new("python3");
    python.arg(root().join("xtask/dist/wheel.py")).args([&tree.root, &wheel]);
    output_of(python.args([VERSION, &tag, &epoch().to_string()]))?;
    Ok(wheel)
}

/// The systems on which it runs, as pip names them: any Python 3, and this version of glibc or a later one.
fn tag(glibc: &str) -> String {
    format!("py3-none-manylinux_{}_{ARCH}", glibc.replace('.', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_names_the_version_of_glibc() {
        assert_eq!(tag("2.34"), format!("py3-none-manylinux_2_34_{ARCH}"));
    }
}
