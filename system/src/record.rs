//! Files that a job writes for its user: traces, and the output of ranks. They hold what was typed and what was computed,
//! and go to directories that others may write to.
//!
//! **Promises.** Such a file is new, is its user's alone (0600), and is where its path says: what stood there under its
//! name, be it a link to another file, is removed and not written through. Its directory is opened once: who exchanges
//! it meanwhile gains nothing.
//! - A [`Record`] that has reached the limit on the size of files is an error, and not the end of the process by SIGXFSZ.

use rustix::fd::AsFd;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Resource, geteuid, getrlimit};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// How often a name may be taken again between its removal and its creation: somebody plays a game.
const ATTEMPTS: usize = 16;

/// A new file in place of what has this name: of a file, or of a symbolic link, which is not followed.
///
/// # Errors
/// When something else has the name, such as a directory or a pipe, or the system refuses.
pub fn replace(path: &Path) -> io::Result<File> {
    let refused = |what| io::Error::new(ErrorKind::InvalidInput, what);
    let name = path.file_name().ok_or_else(|| refused("it has no name"))?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let to_directory = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(CWD, parent, to_directory, Mode::empty())?;
    for _ in 0..ATTEMPTS {
        match new_in(&directory, Path::new(name)) {
            Ok(file) => return Ok(file),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let found = match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => FileType::from_raw_mode(found.st_mode),
            Err(Errno::NOENT) => continue,
            Err(error) => return Err(error.into()),
        };
        if !matches!(found, FileType::RegularFile | FileType::Symlink) {
            return Err(refused("something that is no file has this name"));
        }
        match unlinkat(&directory, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(refused("another process makes it again and again"))
}

/// A new file, where nothing has this name.
///
/// # Errors
/// When something has the name, a symbolic link too, or the system refuses.
pub fn create_new(path: &Path) -> io::Result<File> {
    Ok(new_in(CWD, path)?)
}

fn new_in(directory: impl AsFd, path: &Path) -> Result<File, Errno> {
    let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(directory, path, new, Mode::RUSR | Mode::WUSR).map(File::from)
}

/// The others who may take files away from a directory, and put new ones there. Its text follows a colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// It belongs to the user of this number, who is neither this one nor root.
    Owner(u32),
    /// Everybody may write there, and it is not sticky.
    Everybody,
}

impl fmt::Display for Exposure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(user) => write!(f, "the directory belongs to user {user}"),
            Self::Everybody => write!(f, "every user may write to the directory (`chmod o-w` ends that)"),
        }
    }
}

/// The others who may exchange the files in a directory; `None` if nobody may, or it cannot be told.
pub fn exposure(directory: &Path) -> Option<Exposure> {
    let found = fs::metadata(directory).ok()?;
    let (own, mode) = (geteuid().as_raw(), found.mode());
    match found.uid() {
        user if user != own && user != 0 => Some(Exposure::Owner(user)),
        _ if mode & 0o002 != 0 && mode & 0o1000 == 0 => Some(Exposure::Everybody),
        _ => None,
    }
}

/// A file that is written from its beginning, up to the limit on the size of files.
#[derive(Debug)]
pub struct Record {
    file: File,
    written: u64,
    limit: Option<u64>,
}

impl Record {
    /// The record that a new file will hold.
    pub fn new(file: File) -> Self {
        Self { file, written: 0, limit: getrlimit(Resource::Fsize).current }
    }
}

impl Write for Record {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let end = self.written.saturating_add(bytes.len() as u64);
        if let Some(limit) = self.limit.filter(|limit| end > *limit) {
            let what = format!("the limit on the size of files is {limit} bytes (RLIMIT_FSIZE, ulimit -f)");
            return Err(io::Error::new(ErrorKind::FileTooLarge, what));
        }
        let count = self.file.write(bytes)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("carrousel-record-{}-{name}", std::process::id()));
            fs::create_dir(&path).expect("it can be made");
            Self(path)
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_link_under_the_name_is_replaced_and_not_written_through() {
        let place = Place::new("link");
        let (precious, path) = (place.0.join("precious"), place.0.join("rank.0.out"));
        fs::write(&precious, "precious").expect("it can be written");
        symlink(&precious, &path).expect("it can be made");
        assert!(create_new(&path).is_err());
        replace(&path).expect("it can be made").write_all(b"new").expect("it can be written");
        assert_eq!(fs::read(&precious).expect("it is there"), b"precious");
        assert_eq!(fs::read(&path).expect("it is there"), b"new");
        let found = fs::symlink_metadata(&path).expect("it is there");
        assert!(found.is_file() && found.permissions().mode() & 0o777 == 0o600, "{found:?}");
        // Once more, over a file.
        replace(&path).expect("it can be made").write_all(b"n").expect("it can be written");
        assert_eq!(fs::read(&path).expect("it is there"), b"n");
    }

    #[test]
    fn what_is_no_file_is_not_removed() {
        let place = Place::new("directory");
        fs::create_dir(place.0.join("rank.0.out")).expect("it can be made");
        assert!(replace(&place.0.join("rank.0.out")).is_err());
        assert!(place.0.join("rank.0.out").is_dir());
        assert!(replace(&place.0.join("nowhere").join("rank.0.out")).is_err());
    }

    #[test]
    fn who_else_may_exchange_files_is_known() {
        let place = Place::new("exposure");
        let with = |mode| {
            fs::set_permissions(&place.0, fs::Permissions::from_mode(mode)).expect("it may");
            exposure(&place.0)
        };
        assert_eq!([with(0o755), with(0o777), with(0o1777)], [None, Some(Exposure::Everybody), None]);
        assert_eq!(exposure(&place.0.join("nowhere")), None);
    }

    #[test]
    fn a_record_ends_at_the_limit_on_the_size_of_files() {
        let place = Place::new("limit");
        let file = create_new(&place.0.join("rank-0.jsonl")).expect("it can be made");
        let mut record = Record { file, written: 0, limit: Some(8) };
        record.write_all(b"12345678").expect("it fits");
        let error = record.write_all(b"9").expect_err("it does not fit").to_string();
        assert_eq!(error, "the limit on the size of files is 8 bytes (RLIMIT_FSIZE, ulimit -f)");
    }
}
