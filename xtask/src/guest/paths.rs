//! Paths of files that are put into guests.

use std::fs;
use std::path::{Path, PathBuf};

/// Where a file is, and will be in the guest. Links stay what they are, as far as there is no `..`.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, String> {
    let wrong = |error: std::io::Error| format!("cannot find {}: {error}", path.display());
    let whole = std::path::absolute(path).map_err(wrong)?;
    let goes_up = whole.components().any(|part| part == std::path::Component::ParentDir);
    if goes_up { fs::canonicalize(whole).map_err(wrong) } else { Ok(whole) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_goes_up_is_made_short() {
        assert_eq!(absolute(Path::new("/usr/../etc")).unwrap(), Path::new("/etc"));
        assert_eq!(absolute(Path::new("/usr/./lib")).unwrap(), Path::new("/usr/lib"));
    }
}
