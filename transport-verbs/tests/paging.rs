//! On-demand paging: found where an adapter has it for what is needed, and then used for what stays registered.
#![cfg(feature = "verbs")]

mod fake;

use carrousel_registration::{Path, Policy, Thresholds};
use carrousel_transport_verbs::{Access, Choice, Device, Registrations};
use fake::{FakeAdapter, Newer, Registered};
use rdma_sys::ibv_odp_transport_cap_bits as can;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::sync::Arc;

const SEND: u32 = can::IBV_ODP_SUPPORT_SEND.0;
const WRITE: u32 = can::IBV_ODP_SUPPORT_WRITE.0;
const READ: u32 = can::IBV_ODP_SUPPORT_READ.0;
const ATOMIC: u32 = can::IBV_ODP_SUPPORT_ATOMIC.0;

const LEN: usize = 16 << 10;

/// Memory of its own pages.
struct Pages(*mut u8);

impl Pages {
    fn new(protection: ProtFlags) -> Self {
        // SAFETY: a new mapping, wherever there is room.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), LEN, protection, MapFlags::PRIVATE) };
        Self(start.expect("there is memory").cast())
    }

    /// Changes what may be done with the first page.
    fn protect(&self, flags: MprotectFlags) {
        // SAFETY: our mapping, to which nothing refers.
        unsafe { mprotect(self.0.cast(), 4 << 10, flags) }.expect("it is mapped");
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: our mapping, to which nothing refers.
        unsafe { munmap(self.0.cast(), LEN) }.expect("it is mapped");
    }
}

fn open(adapter: FakeAdapter) -> Arc<Device> {
    let choice = Choice { device: Some(adapter.name()), ..Choice::default() };
    Device::open(&choice).expect("there is such an adapter")
}

/// How often memory is registered that is used twice.
fn used_twice(
    adapter: FakeAdapter,
    registrations: &mut Registrations,
    pages: &Pages,
    access: Access,
) -> Registered {
    let before = adapter.registered();
    for _ in 0..2 {
        // SAFETY: nothing is ever done with the keys.
        let held = unsafe { registrations.acquire(pages.0, LEN, access) }.expect("it can be registered");
        registrations.release(held);
    }
    let after = adapter.registered();
    let (pinned, on_demand) = (after.pinned - before.pinned, after.on_demand - before.on_demand);
    Registered { pinned, on_demand }
}

#[test]
fn memory_is_kept_registered_over_an_adapter_that_pages_on_demand() {
    let adapter = FakeAdapter(0).with(Newer::Paging(SEND | WRITE | READ));
    let device = open(adapter);
    assert!(device.is_on_demand());
    let mut registrations = Registrations::new(&device, true, None);
    assert_eq!(registrations.describe(), "registrations are kept: the adapter pages on demand");
    let pages = Pages::new(ProtFlags::READ | ProtFlags::WRITE);
    let used = used_twice(adapter, &mut registrations, &pages, Access::Read);
    assert_eq!(used, Registered { pinned: 0, on_demand: 1 });
}

#[test]
fn what_is_not_kept_is_pinned_even_where_pages_could_be_faulted_in() {
    let adapter = FakeAdapter(1).with(Newer::Paging(SEND | WRITE | READ));
    let mut registrations = Registrations::new(&open(adapter), false, None);
    let pages = Pages::new(ProtFlags::READ | ProtFlags::WRITE);
    let used = used_twice(adapter, &mut registrations, &pages, Access::Read);
    assert_eq!(used, Registered { pinned: 2, on_demand: 0 });
}

#[test]
fn memory_that_cannot_be_written_to_is_pinned_for_each_use() {
    let adapter = FakeAdapter(3).with(Newer::Paging(SEND | WRITE | READ));
    let mut registrations = Registrations::new(&open(adapter), true, None);
    let pages = Pages::new(ProtFlags::READ);
    let used = used_twice(adapter, &mut registrations, &pages, Access::Read);
    assert_eq!(used, Registered { pinned: 2, on_demand: 0 });
}

#[test]
fn memory_that_has_become_read_only_is_pinned_for_each_use_until_it_can_be_written_to_again() {
    let adapter = FakeAdapter(4).with(Newer::Paging(SEND | WRITE | READ));
    let policy = Policy { thresholds: Thresholds::uniform(1), ..Policy::default() };
    let mut registrations = Registrations::new(&open(adapter), true, Some(policy));
    let pages = Pages::new(ProtFlags::READ | ProtFlags::WRITE);
    let mut used = || used_twice(adapter, &mut registrations, &pages, Access::Read);
    assert_eq!(used(), Registered { pinned: 0, on_demand: 1 });
    pages.protect(MprotectFlags::READ);
    assert_eq!(used(), Registered { pinned: 2, on_demand: 0 });
    pages.protect(MprotectFlags::READ | MprotectFlags::WRITE);
    assert_eq!(used(), Registered { pinned: 0, on_demand: 1 });
    // Small ones are copied meanwhile.
    let mut is_found = || {
        // SAFETY: nothing is ever done with the keys.
        let held = unsafe { registrations.acquire_often_used(pages.0, 512, Path::EagerByWrite) };
        held.map(|held| registrations.release(held)).is_some()
    };
    assert!(is_found());
    pages.protect(MprotectFlags::READ);
    assert_eq!([(); 3].map(|()| is_found()), [false; 3]);
}

#[test]
fn an_adapter_that_cannot_page_all_that_is_needed_is_not_asked_to() {
    let lacking = [
        Newer::Absent,
        // The function that would say it is not to be called.
        Newer::Short,
        Newer::Paging(0),
        Newer::Paging(WRITE | READ | ATOMIC),
        Newer::Paging(SEND | READ | ATOMIC),
        Newer::Paging(SEND | WRITE | ATOMIC),
    ];
    for newer in lacking {
        let adapter = FakeAdapter(2).with(newer);
        let device = open(adapter);
        assert!(!device.is_on_demand(), "{newer:?}");
        let mut registrations = Registrations::new(&device, true, None);
        assert!(!registrations.describe().contains("on demand"), "{newer:?}");
        let pages = Pages::new(ProtFlags::READ | ProtFlags::WRITE);
        let used = used_twice(adapter, &mut registrations, &pages, Access::Read);
        assert!(used.on_demand == 0 && used.pinned > 0, "{newer:?}: {used:?}");
    }
}
