//! Segments, and files that are not segments.

use super::*;
use crate::{Consumer, Producer};
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::Relaxed;

fn layout() -> Layout {
    Layout::new(2, 64).expect("it is right")
}

/// A file in memory, of this size and with these seals, that begins as `words` say.
fn file(bytes: u64, seals: SealFlags, words: &[u64]) -> OwnedFd {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = rustix::fs::memfd_create("test", flags).expect("it can be created");
    rustix::fs::ftruncate(&fd, bytes).expect("it can have this size");
    let content: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    if !content.is_empty() {
        rustix::io::pwrite(&fd, &content, 0).expect("it can be written");
    }
    rustix::fs::fcntl_add_seals(&fd, seals).expect("it can be sealed");
    fd
}

fn refusal(fd: OwnedFd) -> SegmentError {
    Segment::open(fd.as_fd()).map(|_| ()).expect_err("this is not a segment")
}

#[test]
fn the_owner_pops_the_messages_that_a_peer_pushes() {
    let owner = Segment::create(layout()).expect("it can be created");
    let peer = Segment::open_of(std::process::id(), owner.as_fd().as_raw_fd()).expect("it is a segment");
    assert_eq!(peer.layout(), layout());
    let mut inbound = Consumer::new(owner.ring(1).expect("it is a peer")).expect("it fits");
    let mut outbound = Producer::new(peer.ring(1).expect("it is a peer")).expect("it fits");
    // A ring keeps its memory when the segment is dropped.
    drop((owner, peer));
    outbound.push(7, &[b"across"]).expect("there is room");
    let mut message = Vec::new();
    assert_eq!(inbound.pop(&mut message), Ok(Some(7)));
    assert_eq!(message, b"across");
}

#[test]
fn rings_of_a_segment_do_not_touch_each_other() {
    let owner = Segment::create(layout()).expect("it can be created");
    let rings = [0, 1].map(|peer| owner.ring(peer).expect("it is a peer"));
    rings[0].iter().for_each(|word| word.store(u64::MAX, Relaxed));
    assert!(rings[1].iter().all(|word| word.load(Relaxed) == 0));
    assert_eq!(rings[0].as_ptr().addr() % 128, 0);
    assert_eq!(rings[1].as_ptr().addr() % 128, 0);
    assert!(matches!(owner.ring(2), Err(SegmentError::NoPeer { peer: 2, peers: 2 })));
}

#[test]
fn a_segment_has_its_size_for_good() {
    let owner = Segment::create(layout()).expect("it can be created");
    let bytes = layout().bytes() as u64;
    for size in [0, bytes - 1, bytes + 1] {
        assert_eq!(rustix::fs::ftruncate(&owner, size), Err(Errno::PERM));
    }
    assert_eq!(rustix::fs::fcntl_add_seals(&owner, SealFlags::FUTURE_WRITE), Err(Errno::PERM));
}

#[test]
fn a_file_whose_size_can_change_is_refused() {
    for seals in [SealFlags::empty(), SealFlags::GROW, SealFlags::SHRINK] {
        let error = refusal(file(layout().bytes() as u64, seals, &[]));
        assert_eq!(error, SegmentError::Unsealed(seals.bits()));
    }
}

#[test]
fn a_file_that_is_too_small_is_refused() {
    for size in [0, 8, Layout::BYTES_MIN as u64 - 1] {
        assert_eq!(refusal(file(size, SEALS, &[])), SegmentError::Size(size));
    }
    // The right header, and fewer bytes than it says; with an odd size, for the page that begins then.
    let owner = Segment::create(layout()).expect("it can be created");
    let header: Vec<u64> = owner.header.words()[..4].iter().map(|word| word.load(Relaxed)).collect();
    let (found, expected) = (layout().bytes() as u64 - 8, layout().bytes() as u64);
    let error = refusal(file(found + 7, SEALS, &header));
    assert_eq!(error, SegmentError::Layout(LayoutError::Small { found, expected }));
    assert!(Segment::open(file(expected, SEALS, &header).as_fd()).is_ok());
}

#[test]
fn a_file_that_is_not_a_segment_is_refused() {
    let error = refusal(file(4096, SEALS, &[]));
    assert_eq!(error, SegmentError::Layout(LayoutError::Magic(0)));
    let (reader, _writer) = std::io::pipe().expect("there are pipes");
    assert!(matches!(refusal(reader.into()), SegmentError::System { why: Errno::INVAL, .. }));
    let none = Segment::open_of(std::process::id(), 1 << 20).map(|_| ());
    let what = "open a segment of another process";
    assert_eq!(none, Err(SegmentError::System { what, why: Errno::NOENT }));
}

#[test]
fn huge_pages_are_refused() {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::HUGETLB;
    // Not every kernel has them.
    let Ok(fd) = rustix::fs::memfd_create("test", flags) else { return };
    rustix::fs::fcntl_add_seals(&fd, SEALS).expect("it can be sealed");
    assert!(matches!(refusal(fd), SegmentError::FileSystem(_)));
}

#[test]
fn a_segment_that_cannot_be_written_is_refused() {
    let owner = Segment::create(layout()).expect("it can be created");
    let path = format!("/proc/self/fd/{}", owner.as_fd().as_raw_fd());
    let reader = std::fs::File::open(path).expect("it can be opened for reading");
    assert!(matches!(refusal(reader.into()), SegmentError::System { why: Errno::ACCESS, .. }));
}

#[test]
fn too_few_open_files_are_named_with_their_limit() {
    let limit = getrlimit(Resource::Nofile).current.expect("a process of a test has one");
    let error = cannot("open a segment of another process")(Errno::MFILE);
    assert_eq!(
        error.to_string(),
        format!(
            "cannot open a segment of another process: Too many open files (os error 24): this process may have {limit} open at once \
             (RLIMIT_NOFILE, `ulimit -n`), and each peer takes some"
        )
    );
    assert!(error.is_shortage());
}
