//! Registrations that are kept: what is sent is what the process has mapped, whatever it had mapped before.
#![allow(unsafe_code, reason = "the test maps and unmaps memory")]

use super::ends::{Watch, drive, pair, request};
use carrousel_transport::{Arrival, Memory, OnlyKeys, Outbound, RankId, Transport, Write};
use carrousel_transport_verbs::{Access, Registrations, Verbs};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, ftruncate, memfd_create};
use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags, mmap};
use rustix::process::{Pid, Signal};
use std::os::fd::OwnedFd;

/// Bytes that are transferred.
pub(super) const LEN: usize = 256;
/// Several pages.
pub(super) const MAPPED: usize = 16 << 10;

/// Memory at an address that stays the same, whatever is mapped there.
pub(super) struct Page(*mut u8);

impl Page {
    /// Maps new memory; at the same place as `before`.
    pub(super) fn map(before: Option<&Self>) -> Self {
        let at = before.map_or(std::ptr::null_mut(), |page| page.0.cast());
        let place = if before.is_some() { MapFlags::FIXED } else { MapFlags::empty() };
        let flags = MapFlags::PRIVATE | place;
        // SAFETY: a new mapping, wherever there is room, or in place of one of ours that nothing refers to.
        let start =
            unsafe { rustix::mm::mmap_anonymous(at, MAPPED, ProtFlags::READ | ProtFlags::WRITE, flags) };
        Self(start.expect("there is memory").cast())
    }

    /// Maps the beginning of a file.
    fn of(file: &OwnedFd) -> Self {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, wherever there is room.
        let start = unsafe { mmap(std::ptr::null_mut(), MAPPED, protection, MapFlags::SHARED, file, 0) };
        Self(start.expect("there is memory").cast())
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.0
    }

    /// The first bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: mapped, and filled only between uses.
        unsafe { std::slice::from_raw_parts(self.0, LEN) }
    }

    pub(super) fn unmap(&self) {
        // SAFETY: our mapping, to which nothing refers.
        unsafe { rustix::mm::munmap(self.0.cast(), MAPPED) }.expect("it is mapped");
    }

    pub(super) fn fill(&self, byte: u8) {
        // SAFETY: mapped, for writing, and nothing is under way.
        unsafe { self.0.write_bytes(byte, MAPPED) };
    }

    /// Replaces the first bytes.
    pub(super) fn set(&self, bytes: &[u8; LEN]) {
        // SAFETY: mapped, for writing, larger than that, and nothing is under way.
        unsafe { self.0.copy_from_nonoverlapping(bytes.as_ptr(), LEN) };
    }

    /// Gives the second half back to the system, which has zeros in it then.
    pub(super) fn discard_half(&self) {
        // SAFETY: within our mapping; what was in it is not needed.
        unsafe { rustix::mm::madvise(self.0.add(MAPPED / 2).cast(), MAPPED / 2, Advice::LinuxDontNeed) }
            .expect("it is mapped");
    }
}

struct StaleScene {
    ranks: [(Verbs, Watch); 2],
    registrations: Registrations,
    sent: u32,
}

impl StaleScene {
    fn new(make: fn(&Verbs) -> Registrations) -> Self {
        let ranks = pair();
        let registrations = make(&ranks[0].0);
        Self { ranks, registrations, sent: 0 }
    }

    /// Writes from the page to the peer, and returns what has arrived there.
    fn send(&mut self, page: &Page) -> Vec<u8> {
        self.sent += 1;
        // SAFETY: nobody touches the page until it is released.
        let held =
            unsafe { self.registrations.acquire(page.0, LEN, Access::Read) }.expect("it can be registered");
        let [(verbs, _), (_, peer)] = &mut self.ranks;
        let from = Memory { address: page.0.addr() as u64, key: 0 };
        let write = Write {
            to: RankId(1),
            from,
            into: peer.word(0),
            len: LEN as u64,
            request: request(self.sent),
            notice: None,
        };
        verbs.out().write(&write, &mut OnlyKeys(Some(held.keys())));
        let written = Arrival::Written(request(self.sent));
        drive(&mut self.ranks, |ranks| ranks[0].1.arrivals.contains(&written));
        self.registrations.release(held);
        self.ranks[1].1.bytes(LEN)
    }
}

fn watched(verbs: &Verbs) -> Registrations {
    let registrations = Registrations::new(verbs.device(), true, None);
    assert!(registrations.describe().starts_with("registrations are kept"), "{}", registrations.describe());
    registrations
}

#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn what_is_mapped_anew_is_sent_anew() {
    let mut scene = StaleScene::new(watched);
    let mut page = Page::map(None);
    for round in 1..20 {
        page.fill(round);
        assert_eq!(scene.send(&page), [round; LEN], "round {round}");
        // Again, from a registration that was kept.
        assert_eq!(scene.send(&page), [round; LEN], "round {round}");
        match round % 4 {
            0 => {
                page.unmap();
                page = Page::map(Some(&page));
            }
            // Over it.
            1 => page = Page::map(Some(&page)),
            2 => {
                // SAFETY: our mapping; what was in it is not needed.
                unsafe { rustix::mm::madvise(page.0.cast(), MAPPED, Advice::LinuxDontNeed) }
                    .expect("it is mapped");
            }
            _ => {
                let flags = MremapFlags::MAYMOVE;
                // SAFETY: our mapping, to which nothing refers; it is larger then, and elsewhere or not.
                let moved = unsafe { rustix::mm::mremap(page.0.cast(), MAPPED, MAPPED * 64, flags) };
                let moved = Page(moved.expect("there is memory").cast());
                if moved.0 == page.0 {
                    page = Page::map(Some(&moved));
                } else {
                    page = Page::map(Some(&page));
                }
            }
        }
    }
}

#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn what_a_file_has_after_it_was_emptied_is_sent() {
    let mut scene = StaleScene::new(watched);
    let file = memfd_create("pages", MemfdFlags::CLOEXEC).expect("there is memory");
    ftruncate(&file, MAPPED as u64).expect("it can be so long");
    let page = Page::of(&file);
    for round in 1..10 {
        page.fill(round);
        assert_eq!(scene.send(&page), [round; LEN], "round {round}");
        // None of them is told by the address.
        match round % 3 {
            0 => {
                let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                fallocate(&file, hole, 0, MAPPED as u64).expect("it can have holes");
            }
            1 => {
                ftruncate(&file, 0).expect("it can be empty");
                ftruncate(&file, MAPPED as u64).expect("it can be as long as before");
            }
            _ => continue,
        }
        assert_eq!(scene.send(&page), [0; LEN], "behind round {round}");
    }
}

#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn what_the_parent_writes_after_a_fork_is_sent() {
    let mut scene = StaleScene::new(watched);
    let page = Page::map(None);
    page.fill(1);
    assert_eq!(scene.send(&page), [1; LEN]);
    // SAFETY: the child makes one system call after the other, and nothing else.
    let child = match unsafe { nix::unistd::fork() }.expect("it can fork") {
        nix::unistd::ForkResult::Child => loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
        },
        nix::unistd::ForkResult::Parent { child } => Pid::from_raw(child.as_raw()).expect("it has a number"),
    };
    // The first to write gets a copy of the page, and that is this process.
    page.fill(2);
    let sent = scene.send(&page);
    rustix::process::kill_process(child, Signal::KILL).expect("it lives");
    rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty()).expect("it is a child");
    assert_eq!(sent, [2; LEN]);
}

/// Why memory is watched: without that, pages are sent that the process has long given back.
#[cfg(feature = "stale")]
#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn without_a_watch_stale_pages_are_sent() {
    let mut scene = StaleScene::new(|verbs| Registrations::trusting(verbs.device()));
    let page = Page::map(None);
    page.fill(1);
    assert_eq!(scene.send(&page), [1; LEN]);
    page.unmap();
    let page = Page::map(Some(&page));
    page.fill(2);
    assert_eq!(scene.send(&page), [1; LEN], "the pages of before");
}
