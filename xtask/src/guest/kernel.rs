//! The guests' kernel: Debian's own, from its package, which is unpacked and not installed.
//!
//! It lies in `target/vm`, once downloaded, and stays of that version until the directory is deleted.

use super::packages::{self, command};
use crate::tools::{self, output_of};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// The package that depends on the newest kernel's.
const NEWEST: &str = "linux-image-amd64";
/// How compressed data begins (the XZ file format, 2.1.1.1).
const XZ: &[u8] = b"\xfd7zXZ\0";
const ELF: &[u8] = b"\x7fELF";

/// A kernel and its modules.
#[derive(Debug)]
pub(super) struct Kernel {
    version: String,
    /// Its unpacked package.
    package: PathBuf,
}

/// Where kernels and runs have their files.
pub(super) fn directory() -> PathBuf {
    tools::target().join("vm")
}

/// Takes the lock on what is shared in the directory, for as long as the value lives.
pub(super) fn lock() -> Result<File, String> {
    let path = directory().join("lock");
    let wrong = |error: io::Error| format!("cannot lock {}: {error}", path.display());
    fs::create_dir_all(directory()).map_err(wrong)?;
    let file = File::create(&path).map_err(wrong)?;
    file.lock().map_err(wrong)?;
    Ok(file)
}

impl Kernel {
    /// The kernel that is there, or Debian's newest one.
    ///
    /// # Errors
    /// When it cannot be downloaded or unpacked.
    pub(super) fn obtain() -> Result<Self, String> {
        let _lock = lock()?;
        let pin = directory().join("version");
        let version = match fs::read_to_string(&pin) {
            Ok(version) if !version.trim().is_empty() => version.trim().to_owned(),
            _ => {
                let version = Self::install()?;
                fs::write(&pin, &version)
                    .map_err(|error| format!("cannot write {}: {error}", pin.display()))?;
                version
            }
        };
        Ok(Self { package: package_directory(&version), version })
    }

    /// Downloads and unpacks the newest one; says which that is.
    fn install() -> Result<String, String> {
        match Self::download() {
            // Debian deletes a kernel when there is a newer one; old lists of packages still name it.
            Err(_) if packages::is_root() => packages::update().and_then(|()| Self::download()),
            Err(error) => Err(format!("{error}\nas root, apt-get update may help")),
            done => done,
        }
    }

    fn download() -> Result<String, String> {
        let depends = output_of(command("apt-cache")?.args(["depends", NEWEST]))?;
        let version = version_in(&depends).ok_or_else(|| {
            format!("apt knows no {NEWEST}: guests need a Debian for x86-64, and its package lists")
        })?;
        let directory = package_directory(version);
        let wrong = |error: io::Error| format!("cannot make {}: {error}", directory.display());
        if directory.exists() {
            // Left by a download that has not ended.
            fs::remove_dir_all(&directory).map_err(wrong)?;
        }
        fs::create_dir_all(&directory).map_err(wrong)?;
        eprintln!("downloading linux-image-{version} to {}", directory.display());
        let mut download = command("apt-get")?;
        // Without a user of its own, which could not write here.
        download.args(["download", "--quiet", "-o", "APT::Sandbox::User=root"]);
        download.arg(format!("linux-image-{version}")).current_dir(&directory).stdout(io::stderr());
        tools::run(download)?;
        for entry in fs::read_dir(&directory).map_err(wrong)? {
            let path = entry.map_err(wrong)?.path();
            if path.extension().is_some_and(|extension| extension == "deb") {
                let mut unpack = command("dpkg-deb")?;
                unpack.arg("--extract").arg(&path).arg(&directory);
                tools::run(unpack)?;
                fs::remove_file(&path).map_err(wrong)?;
            }
        }
        let mut depmod = command("depmod")?;
        depmod.arg("-b").arg(&directory).arg(version);
        tools::run(depmod)?;
        let compressed = directory.join(format!("boot/vmlinuz-{version}"));
        decompress_kernel(&compressed, &directory.join("vmlinux"))?;
        Ok(version.to_owned())
    }

    /// The image that QEMU boots.
    pub(super) fn image(&self) -> PathBuf {
        self.package.join("vmlinux")
    }

    /// The files of these modules and of all that they need, in an order in which they can be loaded. A module
    /// that is part of the kernel has no file.
    pub(super) fn modules(&self, names: &[&str]) -> Result<Vec<PathBuf>, String> {
        let mut files = Vec::new();
        for name in names {
            let mut show = command("modprobe")?;
            show.arg("-d").arg(&self.package).args(["-S", &self.version, "--show-depends", name]);
            for file in modules_in(&output_of(&mut show)?) {
                if !files.contains(&file) {
                    files.push(file);
                }
            }
        }
        Ok(files)
    }
}

/// The contents of a module's file; later Debians compress them.
pub(super) fn module(path: &Path) -> Result<Vec<u8>, String> {
    let bytes = fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    if bytes.starts_with(XZ) { decompress(bytes) } else { Ok(bytes) }
}

fn package_directory(version: &str) -> PathBuf {
    directory().join(format!("kernel-{version}"))
}

/// A guest takes seconds to decompress its kernel. So that is done once, here, if its compression is one that
/// we know; otherwise the guest has to.
fn decompress_kernel(from: &Path, to: &Path) -> Result<(), String> {
    let mut bytes = fs::read(from).map_err(|error| format!("cannot read {}: {error}", from.display()))?;
    let begin = bytes.windows(XZ.len()).position(|window| window == XZ);
    let image = begin.and_then(|begin| decompress(bytes.split_off(begin)).ok());
    match image.filter(|image| image.starts_with(ELF)) {
        Some(image) => fs::write(to, image),
        None => fs::copy(from, to).map(drop),
    }
    .map_err(|error| format!("cannot write {}: {error}", to.display()))
}

/// The contents of an xz file. Other data may follow it, as in a kernel.
fn decompress(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let wrong = |error: io::Error| format!("xz does not decompress: {error}");
    let mut xz: Command = command("xz")?;
    xz.args(["--decompress", "--stdout", "--single-stream"]);
    xz.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = xz.spawn().map_err(wrong)?;
    // It does not read on behind the end; what it has said by then is what counts.
    let feed = child.stdin.take().map(|mut to| thread::spawn(move || io::Write::write_all(&mut to, &bytes)));
    let mut all = Vec::new();
    let read = child.stdout.take().map(|mut from| from.read_to_end(&mut all));
    child.wait().map_err(wrong)?;
    drop(feed.map(thread::JoinHandle::join));
    read.transpose().map_err(wrong)?;
    if all.is_empty() { Err("xz has found nothing that it can decompress".to_owned()) } else { Ok(all) }
}

/// The kernel's version, in what `apt-cache depends linux-image-amd64` prints.
fn version_in(depends: &str) -> Option<&str> {
    depends.lines().find_map(|line| line.trim().strip_prefix("Depends: linux-image-"))
}

/// The modules' files, in what `modprobe --show-depends` prints.
fn modules_in(shown: &str) -> Vec<PathBuf> {
    let files = shown.lines().filter_map(|line| line.strip_prefix("insmod "));
    files.filter_map(|file| file.split_whitespace().next()).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_package_that_is_depended_on() {
        let depends = "linux-image-amd64\n  Depends: linux-image-6.1.0-44-amd64\n  Suggests: firmware\n";
        assert_eq!(version_in(depends), Some("6.1.0-44-amd64"));
        assert_eq!(version_in("linux-image-amd64\n"), None);
    }

    #[test]
    fn modules_come_in_the_order_in_which_they_are_loaded() {
        let shown = "insmod /k/crc32.ko \nbuiltin ipv6\ninsmod /k/rxe.ko option=1\n";
        assert_eq!(modules_in(shown), ["/k/crc32.ko", "/k/rxe.ko"].map(PathBuf::from));
    }

    #[test]
    fn what_is_behind_compressed_data_does_not_matter() {
        // `printf hello | xz`, and four bytes more, as a kernel has them.
        let mut bytes =
            b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4F\x02\0!\x01\x16\0\0\0t/\xe5\xa3\x01\0\x04hello\0\0\0\0".to_vec();
        bytes.extend(
            b"\xb17\xb9\xdb\xe5\xda\x1e\x9b\0\x01\x1d\x05\xb8-\x80\xaf\x1f\xb6\xf3}\x01\0\0\0\0\x04YZ",
        );
        bytes.extend([5, 0, 0, 0]);
        assert_eq!(decompress(bytes).unwrap(), b"hello");
        assert!(decompress(b"hello".to_vec()).is_err());
    }
}
