//! The files in which the system describes adapters.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the system describes adapters, below the root of its files.
pub(crate) const CLASS: &str = "sys/class/infiniband";

/// The directory of a port.
pub(crate) fn port(root: &Path, device: &str, port: u8) -> PathBuf {
    root.join(CLASS).join(device).join(format!("ports/{port}"))
}

/// A file of one line; `None` if it cannot be read, or is empty.
pub(crate) fn read(path: PathBuf) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Whether an identifier of a port is of RoCE v2, which libibverbs' older calls do not tell.
pub(crate) fn is_v2(root: &Path, device: &str, number: u8, index: u8) -> bool {
    let kind = read(port(root, device, number).join(format!("gid_attrs/types/{index}")));
    kind.is_some_and(|kind| kind == "RoCE v2")
}
