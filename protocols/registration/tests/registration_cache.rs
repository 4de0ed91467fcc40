//! The ways in which messages travel, case by case.

use carrousel_registration::*;

const KIB: u64 = 1 << 10;

type Memory = RegistrationCache<AllCacheRules, AllReuseRules>;

/// Registered at the second use.
fn memory(limits: Limits) -> Memory {
    let policy = Policy { thresholds: Thresholds::uniform(2), speculation_percent: 100, ..Policy::default() };
    Memory::new(limits, policy)
}

fn put(memory: &mut Memory, address: u64, len: u64, work: &mut Vec<Deregister>) -> Route {
    memory.transfer(address, len, Path::Put, work)
}

/// Uses a buffer until it is registered, and holds it.
fn register(memory: &mut Memory, address: u64, len: u64) -> RegionId {
    let work = &mut Vec::new();
    loop {
        match put(memory, address, len, work) {
            Route::Copy => {}
            Route::Direct(region) => return region,
            Route::Register(region, _) => {
                assert_eq!(memory.registered(region, work), Ok(Registration::Usable));
                return region;
            }
        }
    }
}

#[test]
fn what_a_rendezvous_has_registered_a_small_message_finds() {
    let (mut memory, mut work) = (memory(Limits::default()), Vec::new());
    let large = Span::new(0, 1 << 20).expect("there are bytes");
    let Acquired::Register(region, _) = memory.acquire(large, &mut work) else { panic!("it is new") };
    assert_eq!(memory.registered(region, &mut work), Ok(Registration::Usable));
    assert_eq!(put(&mut memory, 5000, KIB, &mut work), Route::Copy);
    assert_eq!(put(&mut memory, 5000, KIB, &mut work), Route::Direct(region));
    assert_eq!(memory.reuse().registered_len(), 1);
}

#[test]
fn a_buffer_whose_registration_became_a_larger_one_goes_on() {
    let (mut memory, mut work) = (memory(Limits::default()), Vec::new());
    let small = register(&mut memory, 5000, KIB);
    memory.release(small, &mut work).expect("it is held");
    let large = Span::new(0, 1 << 20).expect("there are bytes");
    let Acquired::Register(region, _) = memory.acquire(large, &mut work) else { panic!("it is new") };
    assert_eq!(memory.registered(region, &mut work), Ok(Registration::Usable));
    assert_eq!(work, [Deregister(small)]);
    assert_eq!(put(&mut memory, 5000, KIB, &mut work), Route::Direct(region));
    assert_eq!(put(&mut memory, 5000, KIB, &mut work), Route::Direct(region));
}

#[test]
fn a_longer_message_of_the_same_class_registers_its_own_pages() {
    let (mut memory, mut work) = (memory(Limits::default()), Vec::new());
    let first = register(&mut memory, 4096 - 1100, 1100);
    let route = put(&mut memory, 4096 - 1100, 1200, &mut work);
    let Route::Register(second, pages) = route else { panic!("{route:?}") };
    assert_eq!(Some(pages), Span::new(0, 8192));
    assert_eq!(memory.registered(second, &mut work), Ok(Registration::Usable));
    assert_eq!(work, []);
    memory.release(first, &mut work).expect("it is held");
    assert_eq!(work, [Deregister(first)]);
    assert_eq!(memory.reuse().registered_len(), 1);
}

#[test]
fn what_is_invalidated_begins_anew() {
    let (mut memory, mut work) = (memory(Limits::default()), Vec::new());
    let region = register(&mut memory, 4096, KIB);
    memory.invalidate(Span::ALL, &mut work);
    assert_eq!(put(&mut memory, 4096, KIB, &mut work), Route::Copy);
    assert_eq!(memory.reuse().registered_len(), 0);
    let route = put(&mut memory, 4096, KIB, &mut work);
    assert!(matches!(route, Route::Register(other, _) if other != region), "{route:?}");
}

#[test]
fn who_finds_a_registration_invalidated_in_use_says_so_for_all_its_buffers() {
    let (mut memory, mut work) = (memory(Limits::default()), Vec::new());
    let region = register(&mut memory, 4096, KIB);
    assert_eq!(register(&mut memory, 6000, KIB), region);
    assert_eq!(memory.reuse().registered_len(), 2);
    memory.invalidate(Span::ALL, &mut work);
    assert_eq!(put(&mut memory, 4096, KIB, &mut work), Route::Copy);
    assert_eq!((memory.reuse().registered_len(), work.len()), (0, 0));
}

#[test]
fn what_cannot_be_registered_is_copied_and_asked_for_again_later() {
    let (mut memory, mut work) = (memory(Limits { entries: 1, ..Limits::default() }), Vec::new());
    let region = register(&mut memory, 4096, KIB);
    // There is no room.
    let routes = [(); 3].map(|()| put(&mut memory, 0, KIB, &mut work));
    assert_eq!(routes, [Route::Copy; 3]);
    memory.release(region, &mut work).expect("it is held");
    let Route::Register(other, _) = put(&mut memory, 0, KIB, &mut work) else { panic!("there is room") };
    assert_eq!(work, [Deregister(region)]);
    memory.failed(other).expect("it was asked for");
    let routes = [(); 2].map(|()| put(&mut memory, 0, KIB, &mut work));
    assert_eq!(routes, [Route::Copy; 2]);
    let Route::Register(other, _) = put(&mut memory, 0, KIB, &mut work) else { panic!("it failed") };
    // A registration that comes too late is held by no transfer.
    memory.invalidate(Span::ALL, &mut work);
    assert_eq!(memory.registered(other, &mut work), Ok(Registration::Stale));
    assert_eq!(memory.reuse().registered_len(), 0);
    let routes = [(); 2].map(|()| put(&mut memory, 0, KIB, &mut work));
    assert_eq!(routes, [Route::Copy; 2]);
    assert!(matches!(put(&mut memory, 0, KIB, &mut work), Route::Register(..)));
}

#[test]
fn nothing_is_left_of_what_was_cleared() {
    let (mut memory, mut work) = (memory(Limits::default()), Vec::new());
    let region = register(&mut memory, 4096, KIB);
    memory.clear(&mut work);
    assert_eq!((work.len(), memory.reuse().len(), memory.reuse().registered_len()), (0, 0, 0));
    memory.release(region, &mut work).expect("it is held");
    assert_eq!(work, [Deregister(region)]);
    assert!(memory.cache().is_empty());
    assert_eq!(put(&mut memory, 4096, KIB, &mut work), Route::Copy);
}

#[test]
fn impossible_buffers_are_copied() {
    let (mut memory, mut work) = (memory(Limits::default()), Vec::new());
    for (address, len) in [(u64::MAX, KIB), (0, 0), (u64::MAX - KIB, KIB)] {
        assert_eq!([(); 3].map(|()| put(&mut memory, address, len, &mut work)), [Route::Copy; 3]);
    }
}

#[test]
fn a_direct_transfer_is_complete_when_it_is_done() {
    assert_eq!(Memory::completion(), Completion::WhenDone);
}
