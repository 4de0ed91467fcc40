//! Memory hooks: memory that is unmapped, moved or emptied is noticed before the call that does it returns.
//!
//! A registration is of pages, its name is of addresses. When the application unmaps memory and maps other there, a kept
//! registration is of pages that are no longer mapped. The kernel tells the holder of a userfaultfd of every change of a
//! range that was registered with it, and lets the call that makes the change return only when the message has been
//! read (Linux: Documentation/admin-guide/mm/userfaultfd.rst, "Non-cooperative mode"). The ranges are
//! registered for write protection, which is never switched on: so nothing faults. Mappings are watched as a whole: one that
//! is watched in part is two to the kernel, and `mremap` refuses to move two at once.
//!
//! A thread reads. It holds a lock while it does, and raises a flag before: a look-up that sees no flag has missed nothing
//! that was over before, and one that sees it waits for the lock. That is one load for every look-up.
//!
//! **The holder of the lock must not allocate or free, be it the thread or a look-up.** The allocator may give memory back to the system
//! that is watched: then the thread would wait for itself.

use crate::VerbsError;
use carrousel_registration::Span;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use userfaultfd::{Event, FeatureFlags, RegisterMode, Uffd, UffdBuilder};

/// Changes that are stored one by one until they are taken; more than these are stored as one, of all memory.
const REMEMBERED: usize = 512;

/// Changes that have not been taken.
#[derive(Debug)]
struct UnmappedSpans {
    spans: [Option<Span>; REMEMBERED],
    count: usize,
}

impl UnmappedSpans {
    fn add(&mut self, start: u64, end: u64) {
        let Some(span) = Span::new(start, end.saturating_sub(start)) else { return };
        match self.spans.get_mut(self.count) {
            Some(place) => {
                *place = Some(span);
                self.count += 1;
            }
            None => self.spans[0] = Some(Span::ALL),
        }
    }
}

#[derive(Debug)]
struct HookState {
    /// Raised before something is read.
    flag: AtomicBool,
    gone: Mutex<Box<UnmappedSpans>>,
}

/// Watches over ranges of this process's memory.
#[derive(Debug)]
pub(crate) struct MemoryHooks {
    /// `None` when it has come to its end.
    watched: Option<Arc<Uffd>>,
    state: Arc<HookState>,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    /// What is watched, as far as it has not changed.
    covered: Vec<Span>,
}

fn refused(error: &userfaultfd::Error) -> VerbsError {
    VerbsError::System { what: "watching memory (userfaultfd)", why: io::Error::other(error.to_string()) }
}

impl MemoryHooks {
    /// Starts the thread.
    pub(crate) fn start() -> Result<Self, VerbsError> {
        let features = FeatureFlags::EVENT_UNMAP
            | FeatureFlags::EVENT_REMAP
            | FeatureFlags::EVENT_REMOVE
            | FeatureFlags::PAGEFAULT_FLAG_WP;
        let mut builder = UffdBuilder::new();
        // There are no faults to be handled, so none of the kernel's: then no privilege is needed.
        builder.close_on_exec(true).non_blocking(true).user_mode_only(true).require_features(features);
        let watched = Arc::new(builder.create().map_err(|error| refused(&error))?);
        let gone = Box::new(UnmappedSpans { spans: [None; REMEMBERED], count: 0 });
        let state = Arc::new(HookState { flag: AtomicBool::new(false), gone: Mutex::new(gone) });
        let system = |why: io::Error| VerbsError::System { what: "a thread that watches memory", why };
        let stop = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC);
        let stop = Arc::new(stop.map_err(|why| system(why.into()))?);
        let (reader, listener, stopped) = (Arc::clone(&watched), Arc::clone(&state), Arc::clone(&stop));
        let thread = std::thread::Builder::new()
            .name("carrousel-watch".to_owned())
            .spawn(move || read(reader, &listener, &stopped))
            .map_err(system)?;
        Ok(Self { watched: Some(watched), state, stop, thread: Some(thread), covered: Vec::new() })
    }

    /// Watches over these pages, from now on, if they are private memory without a file behind it.
    ///
    /// # Errors
    /// When they are not, or the system refuses.
    pub(crate) fn cover(&mut self, pages: Span) -> Result<(), VerbsError> {
        if self.covered.iter().any(|covered| covered.contains(pages)) {
            return Ok(());
        }
        let maps = File::open("/proc/self/maps").and_then(|maps| mappings(BufReader::new(maps), pages));
        let all = maps.map_err(|why| VerbsError::System { what: "watching memory", why })?;
        let start = std::ptr::with_exposed_provenance_mut(all.start() as usize);
        let mode = RegisterMode::WRITE_PROTECT;
        if let Some(watched) = &self.watched {
            let covered = watched.register_with_mode(start, all.len() as usize, mode);
            covered.map_err(|error| refused(&error))?;
        }
        self.covered.retain(|covered| !all.contains(*covered));
        self.covered.push(all);
        Ok(())
    }

    /// Hands over what has changed since this was last called: all that was over when it is called is among it.
    #[inline]
    pub(crate) fn look(&mut self, each: impl FnMut(Span)) {
        if self.state.flag.load(Ordering::SeqCst) {
            self.look_closely(each);
        }
    }

    #[cold]
    fn look_closely(&mut self, mut each: impl FnMut(Span)) {
        let mut copy = [None; REMEMBERED];
        let count = {
            let mut gone = self.state.gone.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            // What is read from here on raises it again.
            self.state.flag.store(false, Ordering::SeqCst);
            copy = std::mem::replace(&mut gone.spans, copy);
            std::mem::take(&mut gone.count)
        };
        for span in copy.into_iter().take(count).flatten() {
            // What is mapped there next is another mapping.
            self.covered.retain(|covered| !covered.overlaps(span));
            each(span);
        }
    }
}

/// The mappings that have these pages, as one range, from what the kernel says of all mappings (proc(5)). An error if one of
/// them is not private anonymous memory, or is missing.
fn mappings(maps: impl BufRead, pages: Span) -> io::Result<Span> {
    let unsupported = |why| io::Error::new(io::ErrorKind::Unsupported, why);
    let mut all: Option<Span> = None;
    for line in maps.lines() {
        let line = line?;
        let (span, is_anonymous) = mapping(&line).ok_or(io::ErrorKind::InvalidData)?;
        // They are in the order of their addresses: what follows need not be made by the kernel, nor read.
        if span.start() >= pages.end() {
            break;
        }
        if !span.overlaps(pages) {
            continue;
        }
        if !is_anonymous {
            return Err(unsupported("a file is behind it, which can lose its pages unheard"));
        }
        // What is between two is not mapped; it is noticed below.
        let first = all
            .map_or(span.start(), |all| if all.end() == span.start() { all.start() } else { span.start() });
        all = Span::new(first, span.end() - first);
    }
    all.filter(|all| all.contains(pages)).ok_or_else(|| unsupported("a part of it is not mapped"))
}

/// One line: which addresses, and whether that is private memory without a file. All that others can have as well has an
/// inode, as shared anonymous memory and huge pages of a `hugetlbfs` have.
fn mapping(line: &str) -> Option<(Span, bool)> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    // Behind permissions, offset, and device.
    let inode: u64 = words.nth(3)?.parse().ok()?;
    Some((Span::new(start, end.checked_sub(start)?)?, inode == 0))
}

/// What the thread does. See above: it does not allocate.
fn read(watched: Arc<Uffd>, state: &HookState, stop: &OwnedFd) {
    // SAFETY: the descriptor belongs to `watched`, which lives as long as this borrow of it.
    #[allow(unsafe_code, reason = "borrows a descriptor that outlives the thread")]
    let fd = unsafe { BorrowedFd::borrow_raw(watched.as_raw_fd()) };
    loop {
        let mut fds = [
            PollFd::from_borrowed_fd(fd, PollFlags::IN),
            PollFd::from_borrowed_fd(stop.as_fd(), PollFlags::IN),
        ];
        if poll(&mut fds, None).is_err() {
            continue;
        }
        if !fds[1].revents().is_empty() {
            // Before the end of this thread, which gives back memory that may be watched.
            return drop(watched);
        }
        let mut gone = state.gone.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // Before it is read: the call that made the change returns as soon as it is.
        state.flag.store(true, Ordering::SeqCst);
        while let Ok(Some(event)) = watched.read_event() {
            match event {
                Event::Unmap { start, end } | Event::Remove { start, end } => {
                    gone.add(start.addr() as u64, end.addr() as u64);
                }
                Event::Remap { from, len, .. } => gone.add(from.addr() as u64, (from.addr() + len) as u64),
                // Neither is asked for.
                Event::Pagefault { .. } | Event::Fork { .. } => {}
            }
        }
    }
}

impl Drop for MemoryHooks {
    fn drop(&mut self) {
        // It can only fail when it was told before.
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        // No thread reads any more: a call that waits for that must not.
        self.watched = None;
        if let Some(thread) = self.thread.take() {
            // That it has panicked was printed.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

    /// Several pages.
    const LEN: usize = 16 << 10;
    const MAPS: &str = "\
1000-3000 rw-p 00000000 00:00 0                          [heap]
3000-4000 r--p 00000000 00:00 0 
5000-9000 rw-p 00000000 00:00 0
9000-a000 rw-s 00000000 00:01 1046                       /memfd:some thing (deleted)
a000-b000 rw-p 00000000 00:01 1047                       /dev/zero (deleted)
b000-c000 r--p 00001000 08:01 123                        /usr/lib/some thing.so
";

    fn span(start: u64, end: u64) -> Span {
        Span::new(start, end - start).expect("it is not empty")
    }

    #[test]
    fn mappings_of_private_anonymous_memory_are_taken_as_a_whole() {
        use io::ErrorKind::Unsupported;
        for (pages, all) in [
            ((0x2000, 0x3000), Ok((0x1000, 0x3000))),
            ((0x2000, 0x4000), Ok((0x1000, 0x4000))),
            ((0x6000, 0x7000), Ok((0x5000, 0x9000))),
            // A part of it is not mapped.
            ((0x3000, 0x6000), Err(Unsupported)),
            ((0x4000, 0x5000), Err(Unsupported)),
            ((0xb000, 0xd000), Err(Unsupported)),
            // A file is behind a part of it.
            ((0x8000, 0xa000), Err(Unsupported)),
            ((0x9000, 0xa000), Err(Unsupported)),
            ((0xa000, 0xb000), Err(Unsupported)),
            ((0xb000, 0xc000), Err(Unsupported)),
        ] {
            let found = mappings(MAPS.as_bytes(), span(pages.0, pages.1)).map_err(|why| why.kind());
            assert_eq!(found, all.map(|(start, end)| span(start, end)), "{pages:x?}");
        }
    }

    #[test]
    fn no_more_is_read_than_to_the_end_of_the_pages() {
        let mut lines = MAPS.as_bytes();
        mappings(&mut lines, span(0x1000, 0x3000)).expect("they are there");
        assert!(lines.starts_with(b"5000"), "the line that ends them is the last");
    }

    #[test]
    fn memory_of_a_file_is_not_watched() {
        // A process that may not watch at all is told so when a transport is made.
        let Ok(mut hooks) = MemoryHooks::start() else { return };
        let map = |flags| {
            // SAFETY: a new mapping, wherever there is room.
            #[allow(unsafe_code, reason = "the test maps memory")]
            let start = unsafe { mmap_anonymous(std::ptr::null_mut(), LEN, ProtFlags::READ, flags) };
            let start = start.expect("there is memory").addr() as u64;
            span(start, start + LEN as u64)
        };
        hooks.cover(map(MapFlags::PRIVATE)).expect("it is the process's own");
        // A file in memory is behind it.
        assert!(hooks.cover(map(MapFlags::SHARED)).is_err());
    }
}
