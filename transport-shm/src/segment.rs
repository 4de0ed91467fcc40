//! A segment: memory without a name, shared with each process that has its file descriptor.
//!
//! All `unsafe` of the crate is here, but for a hint to the processor (`fetch`), and claims one thing: that the
//! words of a mapping may be used as atomics for as long as the mapping is there. Three facts carry it. Only
//! `Mapping::drop` removes the mapping. The memory behind it cannot shrink, which would kill a process that touches
//! the part that is gone (SIGBUS): the file is sealed against that, and an unsealed file is refused. And
//! an atomic word has no wrong value, so it does not matter which values other processes write there, and when.

use crate::announce::{self, Sound};
use crate::layout::{DOORBELL, FINISHED, LEAVES, Layout, LayoutError, NONCE, PROCESSOR, RINGERS, STAGE};
use crate::sync::{AtomicU64, Ordering};
use carrousel_system::{Call, SYSTEM, System};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::process::{Pid, Resource, getrlimit};
use std::ops::{Deref, Range};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;
use std::{ptr, slice};
use thiserror::Error;

/// The seals of a segment: its size cannot change, and no process can add a seal that would keep a peer from
/// mapping it.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// The file system of files without a name in ordinary memory (TMPFS_MAGIC of linux/magic.h).
const TMPFS: i64 = 0x0102_1994;

/// Why a segment cannot be created, opened or mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// The system has refused a call.
    #[error("cannot {what}: {why}{}", way_out(*.why))]
    System {
        /// The purpose of the call.
        what: &'static str,
        /// The system's answer.
        why: Errno,
    },
    /// The file's size is not fixed: its owner could take the memory away from under this process.
    #[error("the segment is not sealed: it has the seals {0:#x}, which do not prevent resizing")]
    Unsealed(u32),
    /// The file is sealed, but not in ordinary memory: it has huge pages, which are mapped and unmapped by other
    /// rules.
    #[error("the segment is in a file system of type {0:#x}, and not in ordinary memory")]
    FileSystem(i64),
    /// The file is elsewhere than segments are.
    #[error("the segment is on device {0:#x}, where none of this process would be")]
    Device(u64),
    /// The limit on the size of files counts for memory that processes share, too, and is too low: the system would
    /// end this process by SIGXFSZ.
    #[error(
        "a segment needs {bytes} bytes, and the limit on the size of files is {limit} (RLIMIT_FSIZE, ulimit -f): \
         raise it to at least {} KiB", bytes.div_ceil(1024)
    )]
    FileSizeLimit {
        /// Bytes of the segment.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The file is smaller than any segment, or larger than the address space.
    #[error("a file of {0} bytes cannot be a segment")]
    Size(u64),
    /// The memory is not a segment of this version.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The segment has no ring for this peer.
    #[error("peer {peer} has no ring: the segment has {peers}")]
    NoPeer {
        /// The peer that was asked for.
        peer: usize,
        /// How many peers have a ring.
        peers: usize,
    },
}

impl SegmentError {
    /// Whether the cause is a lack of memory, or of descriptors.
    pub fn is_shortage(&self) -> bool {
        let shortages = [Errno::NOMEM, Errno::NOSPC, Errno::MFILE, Errno::NFILE, Errno::AGAIN];
        matches!(self, Self::System { why, .. } if shortages.contains(why))
    }
}

/// What to do about an error, behind its name.
fn way_out(why: Errno) -> String {
    match (why, getrlimit(Resource::Nofile).current) {
        (Errno::MFILE, Some(limit)) => {
            format!(
                ": this process may have {limit} open at once (RLIMIT_NOFILE, `ulimit -n`), and each peer takes some"
            )
        }
        (Errno::NFILE, _) => ": all of this system's are open (sysctl fs.file-max)".to_owned(),
        _ => String::new(),
    }
}

/// The error of a call for the purpose `what`.
fn cannot(what: &'static str) -> impl Fn(Errno) -> SegmentError {
    move |why| SegmentError::System { what, why }
}

/// Mappings begin at multiples of this, the largest page that Linux knows.
const PAGE_MAX: u64 = 64 << 10;

/// A segment of which this process has mapped the header: its own, or a peer's.
#[derive(Debug)]
pub struct Segment {
    fd: OwnedFd,
    header: Arc<Mapping>,
    layout: Layout,
    nonce: u64,
}

impl Segment {
    /// A new segment, with empty rings. Only its header takes memory: a ring does when it is [used](Segment::ring).
    ///
    /// The descriptor is closed on `exec`.
    pub fn create(layout: Layout) -> Result<Self, SegmentError> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Some systems insist that the memory is not executable (Linux 6.3, sysctl vm.memfd_noexec); older ones
        // do not know the flag.
        let fd = SYSTEM.attempt(Call::CreateMemory).and_then(|()| {
            match rustix::fs::memfd_create("carrousel", flags | MemfdFlags::NOEXEC_SEAL) {
                Err(Errno::INVAL) => rustix::fs::memfd_create("carrousel", flags),
                other => other,
            }
        });
        let fd = fd.map_err(cannot("create a segment"))?;
        let bytes = layout.bytes() as u64;
        if let Some(limit) = getrlimit(Resource::Fsize).current.filter(|limit| *limit < bytes) {
            return Err(SegmentError::FileSizeLimit { bytes, limit });
        }
        rustix::fs::ftruncate(&fd, layout.bytes() as u64).map_err(cannot("give a segment its size"))?;
        rustix::fs::fcntl_add_seals(&fd, SEALS).map_err(cannot("seal a segment"))?;
        let header = 0..layout.header_bytes() as u64;
        allocate(fd.as_fd(), header.clone()).map_err(cannot("allocate the header of a segment"))?;
        let header = Mapping::new(fd.as_fd(), header)?;
        let nonce = SYSTEM.random();
        layout.write(nonce, header.words());
        Ok(Self { fd, header: Arc::new(header), layout, nonce })
    }

    /// The segment behind a descriptor of this process, inherited or sent by its owner. A file that is not a segment,
    /// or whose size could change, is refused.
    pub fn open(fd: BorrowedFd<'_>) -> Result<Self, SegmentError> {
        let fd = rustix::io::fcntl_dupfd_cloexec(fd, 0);
        Self::checked(fd.map_err(cannot("keep the descriptor of a segment"))?)
    }

    /// The segment behind descriptor `fd` of process `pid`, which runs as the same user and whose
    /// `/proc` this process sees. As [`Segment::open`] otherwise.
    pub fn open_of(pid: u32, fd: i32) -> Result<Self, SegmentError> {
        let pid = Pid::from_raw(pid as i32).ok_or(Errno::NOENT);
        let fd = pid.and_then(|pid| SYSTEM.open_descriptor(pid, fd));
        Self::checked(fd.map_err(cannot("open a segment of another process"))?)
    }

    fn checked(fd: OwnedFd) -> Result<Self, SegmentError> {
        // Seals first: only with them is the size that is read next final.
        let seals = rustix::fs::fcntl_get_seals(&fd).map_err(cannot("read the seals of a segment"))?;
        if !seals.contains(SealFlags::SHRINK | SealFlags::GROW) {
            return Err(SegmentError::Unsealed(seals.bits()));
        }
        let stat = rustix::fs::fstat(&fd).map_err(cannot("read the size of a segment"))?;
        match rustix::fs::fstatfs(&fd) {
            Ok(system) if system.f_type == TMPFS => {}
            Ok(system) => return Err(SegmentError::FileSystem(system.f_type)),
            // A filter refuses the call: the segment is where a new one of this process would be, or else refused.
            Err(Errno::PERM | Errno::ACCESS | Errno::NOSYS) => {
                let own = rustix::fs::memfd_create("carrousel", MemfdFlags::CLOEXEC);
                let own = own.and_then(rustix::fs::fstat).map_err(cannot("compare segments"))?;
                if own.st_dev != stat.st_dev {
                    return Err(SegmentError::Device(stat.st_dev));
                }
            }
            Err(error) => return Err(cannot("read the file system of a segment")(error)),
        }
        let size = stat.st_size as u64;
        let bytes = usize::try_from(size).ok().filter(|bytes| isize::try_from(*bytes).is_ok());
        let bytes = bytes.filter(|bytes| *bytes >= Layout::BYTES_MIN).ok_or(SegmentError::Size(size))?;
        let first = Mapping::new(fd.as_fd(), 0..Layout::BYTES_MIN as u64)?;
        let layout = Layout::read(first.words(), bytes as u64 / 8 * 8)?;
        // A layout that was read is no larger than the file.
        let header = Mapping::new(fd.as_fd(), 0..layout.header_bytes() as u64)?;
        let nonce = header.words()[NONCE].load(Ordering::Relaxed);
        Ok(Self { fd, header: Arc::new(header), layout, nonce })
    }

    /// The number of rings and their capacity.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// A number that no other segment has, unless its owner lies.
    pub fn nonce(&self) -> u64 {
        self.nonce
    }

    /// Says that the application of this process, which has created the segment, receives no message any more.
    pub fn leave(&self) {
        self.header.words()[STAGE].store(LEAVES, Ordering::Release);
    }

    /// Says that this process, which has created the segment, has sent all of its messages.
    pub fn finish(&self) {
        self.header.words()[STAGE].store(FINISHED, Ordering::Release);
    }

    /// The word that says whether the segment's owner [leaves](Self::leave), or has [finished](Self::finish).
    pub(crate) fn stage(&self) -> Word {
        self.word(STAGE)
    }

    /// Announces that this process has connected as `peer`: from now on the owner polls its ring.
    ///
    /// # Errors
    /// When the segment has no ring for this peer.
    pub fn announce(&self, peer: usize) -> Result<(), SegmentError> {
        if peer >= self.layout.peers() {
            return Err(SegmentError::NoPeer { peer, peers: self.layout.peers() });
        }
        announce::announce::<Sound>(self.announced(), peer);
        Ok(())
    }

    /// Claims a ring that no other process has, where the owner does not know its peers ahead.
    ///
    /// # Errors
    /// When all rings are taken.
    pub(crate) fn claim(&self) -> Result<usize, SegmentError> {
        let peers = self.layout.peers();
        announce::claim(self.announced(), peers).ok_or(SegmentError::NoPeer { peer: peers, peers })
    }

    /// The words in which peers announce that they have connected.
    pub(crate) fn announced(&self) -> &[AtomicU64] {
        &self.header.words()[self.layout.announced()]
    }

    /// The first of these words, which changes whenever a peer connects.
    pub(crate) fn announcements(&self) -> Word {
        self.word(self.layout.announced().start + announce::COUNTER)
    }

    /// The word of the owner's [doorbell](crate::doorbell).
    pub(crate) fn doorbell(&self) -> Word {
        self.word(DOORBELL)
    }

    /// The word that counts the peers that ring the doorbell.
    pub(crate) fn ringers(&self) -> Word {
        self.word(RINGERS)
    }

    /// The word that says on which processor the owner runs, see [`crate::layout`].
    pub(crate) fn processor(&self) -> Word {
        self.word(PROCESSOR)
    }

    fn word(&self, at: usize) -> Word {
        Word { word: NonNull::from(&self.header.words()[at]), mapping: Arc::clone(&self.header) }
    }

    /// The ring with which a peer begins: for a [`Consumer`](crate::Consumer) in the process that created the segment,
    /// for a [`Producer`](crate::Producer) in the peer. It keeps the memory mapped. The memory is allocated at once, so
    /// that a node with too little memory is an error of this call, and not a signal when the first messages come.
    ///
    /// # Errors
    /// When the segment has no ring for this peer, or the node too little memory.
    pub fn ring(&self, peer: usize) -> Result<Ring, SegmentError> {
        let none = SegmentError::NoPeer { peer, peers: self.layout.peers() };
        self.ring_of(self.layout.first_ring(peer).ok_or(none)?)
    }

    /// The ring of the whole capacity, to which a peer moves that needs more room; `None` if it has begun with that. As
    /// [`Segment::ring`] otherwise.
    ///
    /// # Errors
    /// When the node has too little memory.
    pub fn second_ring(&self, peer: usize) -> Result<Option<Ring>, SegmentError> {
        self.layout.second_ring(peer).map(|words| self.ring_of(words)).transpose()
    }

    fn ring_of(&self, words: Range<usize>) -> Result<Ring, SegmentError> {
        let bytes = words.start as u64 * 8..words.end as u64 * 8;
        allocate(self.fd.as_fd(), bytes.clone()).map_err(cannot("allocate a ring"))?;
        let begin = bytes.start / PAGE_MAX * PAGE_MAX;
        let mapping = Mapping::new(self.fd.as_fd(), begin..bytes.end)?;
        let words = NonNull::from(&mapping.words()[(bytes.start - begin) as usize / 8..]);
        Ok(Ring { words, mapping: Arc::new(mapping) })
    }
}

/// Allocates the memory of these bytes. On a system that cannot do this ahead, a page is allocated when it is touched.
fn allocate(fd: BorrowedFd<'_>, bytes: Range<u64>) -> Result<(), Errno> {
    SYSTEM.attempt(Call::Allocate)?;
    let (begin, len) = (bytes.start, bytes.end - bytes.start);
    let allocate = || rustix::fs::fallocate(fd, FallocateFlags::empty(), begin, len);
    match rustix::io::retry_on_intr(allocate) {
        Err(Errno::NOSYS | Errno::PERM | Errno::OPNOTSUPP) => Ok(()),
        other => other,
    }
}

impl AsFd for Segment {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The memory of one ring.
#[derive(Clone, Debug)]
pub struct Ring {
    /// Words within the mapping.
    words: NonNull<[AtomicU64]>,
    /// The mapping that keeps them valid.
    #[expect(dead_code, reason = "dropped with the ring, and no sooner")]
    mapping: Arc<Mapping>,
}

// SAFETY: a `Ring` is a reference to words of its mapping, and as such may go where the mapping may.
unsafe impl Send for Ring {}
// SAFETY: as for `Send`.
unsafe impl Sync for Ring {}

impl Deref for Ring {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: `words` was made of a reference into the mapping, see there for what that is; nothing
        // but its drop ends it, and `mapping` lives as long as `self`, which the result borrows.
        // Noticed by: tests/processes.rs.
        unsafe { self.words.as_ref() }
    }
}

/// A word of a header. It keeps the memory mapped.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    /// A word within the mapping.
    word: NonNull<AtomicU64>,
    /// The mapping that keeps it valid.
    #[expect(dead_code, reason = "dropped with the word, and no sooner")]
    mapping: Arc<Mapping>,
}

// SAFETY: a `Word` is a reference to a word of its mapping, and as such may go where the mapping may.
unsafe impl Send for Word {}
// SAFETY: as for `Send`.
unsafe impl Sync for Word {}

impl Deref for Word {
    type Target = AtomicU64;

    #[inline]
    fn deref(&self) -> &AtomicU64 {
        // SAFETY: as for a `Ring`, of which this is one word.
        // Noticed by: tests/processes.rs.
        unsafe { self.word.as_ref() }
    }
}

impl Word {
    /// The lower half, as the system waits for it. No code of ours accesses memory by it.
    fn lower(&self) -> &AtomicU32 {
        const { assert!(cfg!(target_endian = "little"), "the layout has the lower half first") };
        // SAFETY: the word is valid, and aligned for more than its half.
        unsafe { self.word.cast().as_ref() }
    }

    /// Blocks as long as the lower half is `value`, until it is [woken](Self::wake_waiter), at most for `timeout`. May
    /// return sooner.
    pub(crate) fn wait_while(&self, value: u32, timeout: Duration) {
        SYSTEM.wait(self.lower(), value, timeout);
    }

    /// Wakes the process that waits.
    pub(crate) fn wake_waiter(&self) {
        SYSTEM.wake(self.lower());
    }
}

/// Mapped memory, which is unmapped when this value is dropped.
#[derive(Debug)]
struct Mapping {
    start: NonNull<AtomicU64>,
    bytes: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and nothing but atomics is in it.
unsafe impl Send for Mapping {}
// SAFETY: a shared `Mapping` gives out shared references to atomics, which threads may share.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps these bytes of `fd`, which has as many, and is sealed. They begin at a multiple of [`PAGE_MAX`]. Bytes at
    /// the end that do not fill a word are not used.
    fn new(fd: BorrowedFd<'_>, range: Range<u64>) -> Result<Self, SegmentError> {
        SYSTEM.attempt(Call::Map).map_err(cannot("map a segment"))?;
        let bytes = (range.end - range.start) as usize;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: with a null address and without MAP_FIXED the kernel chooses a range that is free, so
        // no memory that anything of this process refers to changes.
        let start = unsafe {
            rustix::mm::mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, fd, range.start)
        }
        .map_err(cannot("map a segment"))?;
        // A mapping at address zero is not made unless asked for.
        let start = NonNull::new(start.cast()).ok_or(cannot("map a segment")(Errno::FAULT))?;
        Ok(Self { start, bytes })
    }

    #[inline]
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: valid, since `new` mapped `bytes` bytes at `start` readable and writable, the file
        // is no shorter and cannot become so (seals, checked by the callers of `new`), and the
        // mapping lasts as long as `self`, which the result borrows. Aligned, as mappings are to pages.
        // Initialised, as files are, and every value is one of an `AtomicU64`. Aliased by other
        // references of this process and by other processes only as the type allows: memory that
        // changes under a shared reference; nothing in this process has a `&mut` to it or accesses
        // it otherwise. `bytes` fits `isize`: it is that of a `Layout`, or `Segment::checked` has looked.
        // Noticed by: tests/processes.rs.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.bytes / 8) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `start` and `bytes` are what `new` mapped, so nothing else is unmapped. No reference is
        // left: each borrows `self`. Unmapped once, here.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "a mapping of our own can be unmapped");
    }
}

#[cfg(all(test, not(miri)))]
mod tests;
