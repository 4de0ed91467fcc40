//! Guests at work: starts them, passes on what they print, and ends them in time.
//!
//! Each run has a directory in `target/vm`. In it, `guest` is what all guests see: `control`, by which
//! [`init.sh`](init.sh) and this file understand each other, `shared` for the command, and `nI`, which is `/out` of
//! guest I.

use super::contents::contents;
use super::job::{End, GuestJob};
use super::kernel::{self, Kernel};
use super::packages;
use super::qemu::{INITRAMFS, SHARED, console, qemu, socket};
use super::signals::{Signals, end_by};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long guests may take to boot and to end, in addition to the command's time: far longer than they do on a busy
/// machine. Guests that are not gone by then hang.
const OVERHEAD: Duration = Duration::from_secs(120);
/// How the directory of a run begins, and the lock in it, which is held while the run lasts.
const RUN: &str = "run.";
const RUN_LOCK: &str = "lock";
/// Lines of a dead guest's log that are shown.
const LAST_LINES: usize = 30;
/// Bytes of a line that are passed on at once.
const LINE_MAX: u64 = 64 << 10;

/// The requirements of guests on this machine.
pub(super) struct Host {
    kernel: Kernel,
    signals: Signals,
}

impl Host {
    /// With the kernel that is there, or one that is downloaded.
    pub(super) fn prepare() -> Result<Self, String> {
        if std::env::consts::ARCH != "x86_64" {
            return Err("guests run programs of this machine, and are x86-64".to_owned());
        }
        Ok(Self { kernel: Kernel::obtain()?, signals: Signals::catch()? })
    }

    /// Runs a job; says how each node ended. `show` gets the output, a line at a time, with its node in front.
    ///
    /// # Errors
    /// When the guests cannot be started.
    pub(super) fn run(&self, job: &GuestJob, show: &mut dyn FnMut(&str)) -> Result<Vec<End>, String> {
        for program in ["setpriv", "qemu-system-x86_64"] {
            packages::program(program)?;
        }
        // Dropped last: guests write to it.
        let directory = Directory::make()?;
        let result = Crew::start(job, self, directory.path()).and_then(|crew| crew.work(show));
        match result? {
            Work::Done => directory.ends(job, show),
            Work::Interrupted(signal) => {
                drop(directory);
                end_by(signal);
                Err("interrupted".to_owned())
            }
        }
    }
}

/// The directory of a run, which goes with the value.
struct Directory {
    directory: TempDir,
    /// Says that this run goes on.
    _lock: File,
}

impl Directory {
    fn make() -> Result<Self, String> {
        let place = kernel::directory();
        let wrong = |error: io::Error| format!("cannot make a directory in {}: {error}", place.display());
        // Until our own lock is taken, a sweep would take the directory for one that was left behind.
        let _lock = kernel::lock()?;
        sweep(&place);
        let directory = tempfile::Builder::new().prefix(RUN).tempdir_in(&place).map_err(wrong)?;
        let lock = File::create(directory.path().join(RUN_LOCK)).map_err(wrong)?;
        lock.lock().map_err(wrong)?;
        for name in ["control", "shared"] {
            fs::create_dir_all(directory.path().join(SHARED).join(name)).map_err(wrong)?;
        }
        Ok(Self { directory, _lock: lock })
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// How the nodes ended; tells what there is to tell, and keeps what is to be kept.
    fn ends(&self, job: &GuestJob, show: &mut dyn FnMut(&str)) -> Result<Vec<End>, String> {
        let mut ends = Vec::new();
        for node in 0..job.nodes {
            let control = |name: &str| control(self.path(), name, node);
            let said = read_some(&control("log"));
            // A guest that has died has printed the reason on its console.
            let log = if said.is_empty() { read_some(&self.path().join(console(node))) } else { said };
            let log = String::from_utf8_lossy(&log);
            let status = String::from_utf8(read_some(&control("status"))).ok();
            let end = End::of(status.as_deref(), control("late").exists(), &log);
            match &end {
                End::Status(_) => {}
                End::Late => show(&format!("n{node}: killed after {} s", job.timeout_s)),
                End::Died => {
                    show(&format!("n{node}: the guest has died; its kernel's log ends with"));
                    let lines: Vec<&str> = log.lines().collect();
                    lines[lines.len().saturating_sub(LAST_LINES)..].iter().for_each(|line| show(line));
                }
                End::Complaint(lines) => {
                    show(&format!("n{node}: its kernel complains"));
                    lines.iter().for_each(|line| show(line));
                }
            }
            if let Some(out) = &job.out {
                let kept = out.join(format!("n{node}"));
                copy_all(&self.path().join(SHARED).join(format!("n{node}")), &kept)
                    .and_then(|()| fs::write(kept.with_extension("log"), log.as_bytes()))
                    .map_err(|error| format!("cannot keep the output in {}: {error}", out.display()))?;
            }
            ends.push(end);
        }
        Ok(ends)
    }
}

/// Removes the directories of killed runs: those without a lock.
fn sweep(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let is_run = entry.file_name().to_string_lossy().starts_with(RUN);
        let held = File::open(entry.path().join(RUN_LOCK)).is_ok_and(|lock| lock.try_lock().is_err());
        if is_run && !held {
            // A directory that cannot be removed takes room, and does no other harm.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A file by which guest and host tell each other something.
fn control(directory: &Path, name: &str, node: usize) -> PathBuf {
    directory.join(SHARED).join("control").join(format!("{name}.{node}"))
}

/// A directory, its files and its links.
fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (entry, kind) = entry.and_then(|entry| entry.file_type().map(|kind| (entry, kind)))?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if kind.is_dir() {
            copy_all(&from, &to)?;
        } else if kind.is_file() {
            fs::copy(from, to)?;
        } else if kind.is_symlink() {
            drop(fs::remove_file(&to));
            symlink(fs::read_link(from)?, to)?;
        }
    }
    Ok(())
}

enum Event {
    /// A guest has printed a line.
    Line {
        node: usize,
        line: String,
    },
    /// A guest will print nothing more: its QEMU has ended.
    Over {
        node: usize,
    },
    Signal(i32),
}

enum Work {
    Done,
    Interrupted(i32),
}

/// The guests of a run. They end with the value.
struct Crew<'a> {
    directory: &'a Path,
    guests: Vec<Child>,
    events: Receiver<Event>,
    deadline: Instant,
}

impl<'a> Crew<'a> {
    fn start(job: &GuestJob, host: &Host, directory: &'a Path) -> Result<Self, String> {
        let (sender, events) = mpsc::channel();
        let interrupted = sender.clone();
        host.signals.tell(move |signal| interrupted.send(Event::Signal(signal)).is_ok());
        let archive = contents(job, &host.kernel, directory)?;
        let wrong = |error: io::Error| format!("cannot write to {}: {error}", directory.display());
        let mut file = BufWriter::new(File::create(directory.join(INITRAMFS)).map_err(wrong)?);
        archive.write(&mut file)?;
        file.flush().map_err(wrong)?;
        let deadline = Instant::now() + OVERHEAD + Duration::from_secs(job.timeout_s.into());
        let mut crew = Self { directory, guests: Vec::new(), events, deadline };
        for node in 0..job.nodes {
            fs::create_dir(directory.join(SHARED).join(format!("n{node}"))).map_err(wrong)?;
            if node > 0 {
                crew.wait_for_socket(node)?;
            }
            let mut qemu = qemu(job, &host.kernel, node)?;
            // Keys at the terminal are for this process, which ends the guests itself.
            qemu.current_dir(directory).process_group(0).stdin(Stdio::null()).stdout(Stdio::piped());
            let mut guest = qemu.spawn().map_err(|error| format!("QEMU cannot be started: {error}"))?;
            let printed = guest.stdout.take();
            crew.guests.push(guest);
            if let Some(printed) = printed {
                let sender = sender.clone();
                thread::spawn(move || read(node, printed, &sender));
            }
        }
        Ok(crew)
    }

    /// The first guest makes the sockets by which the others are connected.
    fn wait_for_socket(&mut self, node: usize) -> Result<(), String> {
        let path = self.directory.join(socket(node));
        while !path.exists() {
            let ended =
                self.guests[0].try_wait().map_err(|error| format!("cannot wait for QEMU: {error}"))?;
            if let Some(status) = ended {
                return Err(format!("QEMU of n0 ended with {status} before it had its network"));
            }
            if Instant::now() > self.deadline {
                return Err("QEMU of n0 has not made its network".to_owned());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Waits until all guests have ended.
    fn work(mut self, show: &mut dyn FnMut(&str)) -> Result<Work, String> {
        let mut running = self.guests.len();
        while running > 0 {
            let left = self.deadline.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(Event::Line { node, line }) => show(&format!("[n{node}] {line}")),
                Ok(Event::Over { node }) => {
                    self.guests[node].wait().map_err(|error| format!("cannot wait for QEMU: {error}"))?;
                    running -= 1;
                    for barrier in ["up", "down"] {
                        let path = control(self.directory, barrier, node);
                        File::create(&path)
                            .map_err(|error| format!("cannot make {}: {error}", path.display()))?;
                    }
                }
                Ok(Event::Signal(signal)) => return Ok(Work::Interrupted(signal)),
                Err(RecvTimeoutError::Timeout) => {
                    show(&format!("guests that still run after {} s more are ended", OVERHEAD.as_secs()));
                    return Ok(Work::Done);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err("the reader of the guests' output has left".to_owned());
                }
            }
        }
        Ok(Work::Done)
    }
}

impl Drop for Crew<'_> {
    fn drop(&mut self) {
        for guest in &mut self.guests {
            // Most have ended; there is nothing more to do for one that cannot be ended.
            let _ = guest.kill();
            let _ = guest.wait();
        }
    }
}

/// The contents of a file of a guest; empty without a file. Of a file that the guest goes on writing, the beginning.
fn read_some(path: &Path) -> Vec<u8> {
    const BYTES_MAX: u64 = 64 << 20;
    let mut bytes = Vec::new();
    // The part that was read before an error is still worth looking at.
    let _ = File::open(path).and_then(|file| file.take(BYTES_MAX).read_to_end(&mut bytes));
    bytes
}

/// Passes on what a guest prints. A line that does not end is passed on in pieces.
fn read(node: usize, printed: impl Read, to: &Sender<Event>) {
    let mut printed = BufReader::new(printed);
    let mut bytes = Vec::new();
    while (&mut printed).take(LINE_MAX).read_until(b'\n', &mut bytes).is_ok_and(|read| read > 0) {
        let line = String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned();
        // Nobody listens any more once the run is over.
        let _ = to.send(Event::Line { node, line });
        bytes.clear();
    }
    let _ = to.send(Event::Over { node });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_guest_says_need_not_end() {
        let (to, from) = mpsc::channel();
        read(3, io::repeat(b'x').take(3 * LINE_MAX + 1), &to);
        drop(to);
        let lengths = from.iter().filter_map(|event| match event {
            Event::Line { node: 3, line } => Some(line.len() as u64),
            _ => None,
        });
        assert_eq!(lengths.collect::<Vec<_>>(), [LINE_MAX, LINE_MAX, LINE_MAX, 1]);
        assert_eq!(read_some(Path::new("/dev/zero")).len(), 64 << 20);
        assert!(read_some(Path::new("/nowhere/at-all")).is_empty());
    }

    #[test]
    fn what_a_killed_run_has_left_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let run = place.path().join(name);
            fs::create_dir(&run).unwrap();
            File::create(run.join(RUN_LOCK)).unwrap()
        };
        let running = make("run.running");
        running.lock().unwrap();
        drop(make("run.killed"));
        drop(make("kernel-6.1"));
        fs::create_dir(place.path().join("run.hardly-begun")).unwrap();
        sweep(place.path());
        let left: Vec<bool> = ["run.running", "run.killed", "kernel-6.1", "run.hardly-begun"]
            .map(|name| place.path().join(name).exists())
            .into();
        assert_eq!(left, [true, false, true, false]);
    }

    #[test]
    fn what_a_guest_has_left_is_copied_with_its_links() {
        let place = tempfile::tempdir().unwrap();
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        fs::create_dir_all(from.join("below")).unwrap();
        fs::write(from.join("below/file"), "text").unwrap();
        symlink("below/file", from.join("connection")).unwrap();
        // Twice: a directory may have been used before.
        copy_all(&from, &to).unwrap();
        copy_all(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("below/file")).unwrap(), "text");
        assert_eq!(fs::read_link(to.join("connection")).unwrap(), Path::new("below/file"));
    }
}
