//! The guest's root directory, as the archive that its kernel unpacks into memory: an initramfs.

use cpio::newc::{self, Builder, ModeFileType};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A file that all users may read, and none run.
pub(super) const PLAIN: u32 = 0o644;
/// A file that only root may read, as ssh wants its keys.
pub(super) const SECRET: u32 = 0o600;
/// A program.
pub(super) const PROGRAM: u32 = 0o755;
/// Directories that are links to those of the same name below `usr`, as in Debian.
const MERGED: [&str; 4] = ["bin", "lib", "lib64", "sbin"];

/// Files by their paths. All belong to root.
#[derive(Debug)]
pub(super) struct Archive {
    /// In this order a directory comes before what is in it, as the kernel needs it.
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug)]
enum Entry {
    Directory,
    Link(String),
    Bytes {
        bytes: Vec<u8>,
        mode: u32,
    },
    /// A file of this machine. It may be large, so it is read when the archive is written.
    Copy(PathBuf),
}

impl Archive {
    /// No file, but the links of a merged `/usr`.
    pub(super) fn new() -> Self {
        let mut archive = Self { entries: BTreeMap::new() };
        for name in MERGED {
            archive.directory(&format!("/usr/{name}"));
            archive.entries.insert(name.to_owned(), Entry::Link(format!("usr/{name}")));
        }
        archive
    }

    /// Whether there is something at this path.
    pub(super) fn contains(&self, path: &str) -> bool {
        self.entries.contains_key(&place(path))
    }

    /// Adds a directory, and those above it.
    pub(super) fn directory(&mut self, path: &str) {
        let path = place(path);
        for (end, _) in path.match_indices('/').chain([(path.len(), "")]) {
            self.entries.entry(path[..end].to_owned()).or_insert(Entry::Directory);
        }
    }

    /// Adds a symbolic link.
    pub(super) fn link(&mut self, path: &str, target: &str) {
        self.add(path, Entry::Link(target.to_owned()));
    }

    /// Adds a file with this content, and these permissions.
    pub(super) fn bytes(&mut self, path: &str, bytes: impl Into<Vec<u8>>, mode: u32) {
        self.add(path, Entry::Bytes { bytes: bytes.into(), mode });
    }

    /// Adds a copy of a file of this machine, with its permissions.
    pub(super) fn copy(&mut self, path: &str, from: &Path) {
        self.add(path, Entry::Copy(from.to_owned()));
    }

    fn add(&mut self, path: &str, entry: Entry) {
        let path = place(path);
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.directory(parent);
        }
        self.entries.insert(path, entry);
    }

    /// Writes it, uncompressed: the guest, which is emulated, would take longer to decompress it.
    pub(super) fn write(&self, mut to: impl Write) -> Result<(), String> {
        for (number, (path, entry)) in (1..).zip(&self.entries) {
            entry.write(Builder::new(path).ino(number), &mut to).map_err(|error| match entry {
                Entry::Copy(from) => format!("cannot put {} into the guest: {error}", from.display()),
                _ => format!("cannot write the guest's files: {error}"),
            })?;
        }
        newc::trailer(to).map(drop).map_err(|error| format!("cannot write the guest's files: {error}"))
    }
}

impl Entry {
    fn write(&self, header: Builder, to: &mut impl Write) -> io::Result<()> {
        let file = |mode| header.clone().mode(mode).set_mode_file_type(ModeFileType::Regular);
        match self {
            Self::Directory => {
                let header = header.mode(0o755).nlink(2).set_mode_file_type(ModeFileType::Directory);
                header.write(to, 0).finish().map(drop)
            }
            Self::Link(target) => {
                let header = header.mode(0o777).set_mode_file_type(ModeFileType::Symlink);
                content(header, target.as_bytes(), target.len() as u64, to)
            }
            Self::Bytes { bytes, mode } => content(file(*mode), &bytes[..], bytes.len() as u64, to),
            Self::Copy(from) => {
                let mode = fs::metadata(from)?.permissions().mode() & 0o777;
                let opened = File::open(from)?;
                let length = opened.metadata()?.len();
                content(file(mode), opened, length, to)
            }
        }
    }
}

fn content(header: Builder, from: impl Read, length: u64, to: &mut impl Write) -> io::Result<()> {
    let size = u32::try_from(length).map_err(|_| io::Error::other("it has 4 GiB or more"))?;
    let mut to = header.write(to, size);
    // A file that grows meanwhile must not get into the next one's place.
    if io::copy(&mut from.take(length), &mut to)? < length {
        return Err(io::Error::other("it has become shorter while it was read"));
    }
    to.finish().map(drop)
}

/// A path as it stands in the archive: from the root, and where the links of a merged `/usr` lead.
fn place(path: &str) -> String {
    let path = path.trim_matches('/');
    let first = path.split('/').next().unwrap_or_default();
    if MERGED.contains(&first) { format!("usr/{path}") } else { path.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpio::newc::Reader;

    /// Path, mode and content of each entry.
    fn read(archive: &Archive) -> Vec<(String, u32, String)> {
        let mut bytes = Vec::new();
        archive.write(&mut bytes).unwrap();
        let (mut left, mut entries) = (&bytes[..], Vec::new());
        loop {
            let mut reader = Reader::new(left).unwrap();
            if reader.entry().is_trailer() {
                return entries;
            }
            let mut content = String::new();
            reader.read_to_string(&mut content).unwrap();
            entries.push((reader.entry().name().to_owned(), reader.entry().mode(), content));
            left = reader.finish().unwrap();
        }
    }

    #[test]
    fn a_directory_comes_before_what_is_in_it() {
        let mut archive = Archive::new();
        archive.bytes("/a/b-c/d", "text", SECRET);
        archive.bytes("/a/b/e", "", PLAIN);
        let entries = read(&archive);
        let names: Vec<&str> = entries.iter().map(|(name, ..)| name.as_str()).collect();
        for (index, name) in names.iter().enumerate() {
            if let Some((parent, _)) = name.rsplit_once('/') {
                assert!(names[..index].contains(&parent), "{name} in {names:?}");
            }
        }
        assert!(entries.contains(&("a/b-c/d".to_owned(), 0o100_600, "text".to_owned())), "{entries:?}");
        assert!(entries.contains(&("a/b".to_owned(), 0o040_755, String::new())), "{entries:?}");
    }

    #[test]
    fn what_is_in_bin_or_lib_is_below_usr() {
        let mut archive = Archive::new();
        archive.bytes("/lib/x86_64-linux-gnu/libc.so.6", "c", PROGRAM);
        archive.bytes("/library", "", PLAIN);
        assert!(archive.contains("/usr/lib/x86_64-linux-gnu/libc.so.6") && archive.contains("/library"));
        let entries = read(&archive);
        assert!(entries.contains(&("lib".to_owned(), 0o120_777, "usr/lib".to_owned())), "{entries:?}");
        assert!(!entries.iter().any(|(name, ..)| name.starts_with("lib/")), "{entries:?}");
    }

    #[test]
    fn a_copy_keeps_its_permissions() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("script");
        fs::write(&script, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o711)).unwrap();
        let mut archive = Archive::new();
        archive.copy("/opt/script", &script);
        assert!(read(&archive).contains(&("opt/script".to_owned(), 0o100_711, "#!/bin/sh\n".to_owned())));
    }

    #[test]
    fn a_file_that_is_gone_is_named() {
        let mut archive = Archive::new();
        archive.copy("/opt/program", Path::new("/nowhere/program"));
        assert!(archive.write(Vec::new()).unwrap_err().contains("/nowhere/program"));
    }
}
