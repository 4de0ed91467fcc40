//! The registration cache, case by case.

use carrousel_registration::*;

const PAGE: u64 = 4096;

struct Driver {
    cache: Cache,
    work: Vec<Deregister>,
}

impl Driver {
    fn new(entries: u32, pages: u64) -> Self {
        let limits = Limits { page_bits: 12, entries, bytes: pages * PAGE };
        Self { cache: Cache::new(limits), work: Vec::new() }
    }

    fn acquire(&mut self, span: Span) -> Acquired {
        self.cache.acquire(span, &mut self.work)
    }

    /// Acquires memory that is not registered, and registers it.
    fn register(&mut self, span: Span) -> RegionId {
        let Acquired::Register(region, _) = self.acquire(span) else { panic!("{span} is registered") };
        assert_eq!(self.cache.registered(region, &mut self.work), Ok(Registration::Usable));
        region
    }

    /// The same, and releases it.
    fn keep(&mut self, span: Span) -> RegionId {
        let region = self.register(span);
        self.release(region);
        region
    }

    fn release(&mut self, region: RegionId) {
        self.cache.release(region, &mut self.work).expect("it is held");
    }

    fn invalidate(&mut self, span: Span) {
        self.cache.invalidate(span, &mut self.work);
    }

    /// The registrations that were deregistered since the last time.
    fn gone(&mut self) -> Vec<RegionId> {
        self.work.drain(..).map(|Deregister(region)| region).collect()
    }
}

/// Whole pages, from one up to another.
fn pages(first: u64, end: u64) -> Span {
    Span::new(first * PAGE, (end - first) * PAGE).expect("there are pages")
}

fn bytes(address: u64, len: u64) -> Span {
    Span::new(address, len).expect("there are bytes")
}

#[test]
fn whole_pages_are_registered_and_found_by_any_part() {
    let mut driver = Driver::new(8, 8);
    let acquired = driver.acquire(bytes(PAGE + 100, PAGE));
    let Acquired::Register(region, span) = acquired else { panic!("{acquired:?}") };
    assert_eq!(span, pages(1, 3));
    assert_eq!(driver.cache.registered(region, &mut driver.work), Ok(Registration::Usable));
    assert_eq!(driver.acquire(bytes(3 * PAGE - 1, 1)), Acquired::Hit(region));
    assert!(matches!(driver.acquire(bytes(3 * PAGE - 1, 2)), Acquired::Register(..)));
}

#[test]
fn a_longer_message_from_the_same_address_is_no_hit() {
    let mut driver = Driver::new(8, 8);
    driver.keep(pages(0, 1));
    assert!(matches!(driver.acquire(pages(0, 2)), Acquired::Register(_, span) if span == pages(0, 2)));
}

#[test]
fn who_registers_more_takes_the_place_of_less() {
    let mut driver = Driver::new(8, 8);
    let (idle, used) = (driver.keep(pages(1, 2)), driver.register(pages(2, 3)));
    let all = driver.register(pages(0, 4));
    assert_eq!(driver.gone(), [idle]);
    assert_eq!(driver.acquire(pages(2, 3)), Acquired::Hit(all));
    driver.release(used);
    assert_eq!(driver.gone(), [used]);
    assert_eq!(driver.cache.len(), 1);
}

#[test]
fn of_two_registrations_asked_for_at_once_one_is_kept() {
    let mut driver = Driver::new(8, 8);
    let Acquired::Register(first, _) = driver.acquire(pages(0, 1)) else { panic!("it is new") };
    let second = driver.register(pages(0, 1));
    assert_eq!(driver.cache.registered(first, &mut driver.work), Ok(Registration::Usable));
    driver.release(second);
    driver.release(first);
    assert_eq!(driver.gone(), [first]);
    assert_eq!(driver.acquire(pages(0, 1)), Acquired::Hit(second));
}

#[test]
fn what_was_unused_for_longest_makes_room() {
    let mut driver = Driver::new(2, 8);
    let (first, second) = (driver.keep(pages(0, 1)), driver.keep(pages(2, 3)));
    assert_eq!(driver.acquire(pages(0, 1)), Acquired::Hit(first));
    driver.release(first);
    driver.register(pages(4, 5));
    assert_eq!(driver.gone(), [second]);
}

#[test]
fn bytes_are_bounded_too() {
    let mut driver = Driver::new(8, 3);
    let (first, second) = (driver.keep(pages(0, 1)), driver.keep(pages(2, 3)));
    driver.keep(pages(4, 7));
    assert_eq!(driver.gone(), [first, second]);
    assert_eq!(driver.cache.bytes(), 3 * PAGE);
    assert_eq!(driver.acquire(pages(10, 14)), Acquired::Refused(RegistrationError::TooLarge));
    assert_eq!(driver.gone(), []);
}

#[test]
fn what_is_in_use_makes_no_room_and_then_nothing_is_evicted_in_vain() {
    let mut driver = Driver::new(8, 3);
    let used = driver.register(pages(0, 2));
    let idle = driver.keep(pages(2, 3));
    assert_eq!(driver.acquire(pages(4, 6)), Acquired::Refused(RegistrationError::Full));
    assert_eq!(driver.gone(), []);
    driver.release(used);
    assert!(matches!(driver.acquire(pages(4, 6)), Acquired::Register(..)));
    assert_eq!(driver.gone(), [idle, used]);
}

#[test]
fn the_last_addresses_are_refused() {
    let mut driver = Driver::new(8, 8);
    assert_eq!(driver.acquire(bytes(u64::MAX - 9, 5)), Acquired::Refused(RegistrationError::NoSuchPages));
}

#[test]
fn an_invalidated_registration_is_gone() {
    let mut driver = Driver::new(8, 8);
    let (left, right, apart) = (driver.keep(pages(0, 2)), driver.keep(pages(1, 4)), driver.keep(pages(4, 5)));
    driver.invalidate(bytes(PAGE + 7, 1));
    assert_eq!(driver.gone(), [right, left]);
    assert!(matches!(driver.acquire(pages(0, 1)), Acquired::Register(..)));
    assert_eq!(driver.acquire(pages(4, 5)), Acquired::Hit(apart));
}

#[test]
fn an_invalidated_registration_in_use_is_deregistered_behind_its_last_transfer() {
    let mut driver = Driver::new(8, 8);
    let region = driver.register(pages(0, 1));
    assert_eq!(driver.acquire(pages(0, 1)), Acquired::Hit(region));
    driver.invalidate(pages(0, 1));
    let again = driver.register(pages(0, 1));
    driver.release(region);
    assert_eq!(driver.gone(), []);
    driver.release(region);
    assert_eq!(driver.gone(), [region]);
    assert_eq!(driver.acquire(pages(0, 1)), Acquired::Hit(again));
}

#[test]
fn an_invalidation_before_the_answer_makes_the_registration_useless() {
    let mut driver = Driver::new(8, 8);
    let Acquired::Register(region, _) = driver.acquire(pages(0, 2)) else { panic!("it is new") };
    driver.invalidate(pages(1, 2));
    assert_eq!(driver.gone(), []);
    assert_eq!(driver.cache.registered(region, &mut driver.work), Ok(Registration::Stale));
    assert_eq!(driver.gone(), [region]);
    assert!(driver.cache.is_empty());
    driver.register(pages(0, 2));
}

#[test]
fn a_registration_that_failed_was_never_there() {
    let mut driver = Driver::new(1, 8);
    let Acquired::Register(region, _) = driver.acquire(pages(0, 2)) else { panic!("it is new") };
    driver.cache.failed(region).expect("it was asked for");
    assert_eq!((driver.cache.len(), driver.cache.bytes()), (0, 0));
    assert_eq!(driver.gone(), []);
    assert!(matches!(driver.acquire(pages(0, 2)), Acquired::Register(other, _) if other != region));
}

#[test]
fn a_region_is_acquired_by_name_while_it_is_valid_and_covers() {
    let mut driver = Driver::new(8, 8);
    let region = driver.keep(pages(0, 2));
    assert!(driver.cache.acquire_again(region, pages(1, 2)));
    assert!(!driver.cache.acquire_again(region, pages(1, 3)));
    driver.invalidate(pages(0, 1));
    assert!(!driver.cache.acquire_again(region, pages(1, 2)), "it is doomed");
    driver.release(region);
    let other = driver.keep(pages(0, 2));
    assert_eq!(other.index, region.index);
    assert!(!driver.cache.acquire_again(region, pages(0, 2)), "it is another one");
}

#[test]
fn everything_ends_at_once() {
    let mut driver = Driver::new(8, 8);
    let (idle, used) = (driver.keep(pages(0, 1)), driver.register(pages(1, 2)));
    let Acquired::Register(asked, _) = driver.acquire(pages(2, 3)) else { panic!("it is new") };
    driver.cache.clear(&mut driver.work);
    assert_eq!(driver.gone(), [idle]);
    assert!(!driver.cache.is_valid(used));
    driver.release(used);
    assert_eq!(driver.cache.registered(asked, &mut driver.work), Ok(Registration::Stale));
    assert_eq!(driver.gone(), [used, asked]);
    assert!(driver.cache.is_empty());
}

#[test]
fn a_driver_that_miscounts_is_told() {
    let mut driver = Driver::new(8, 8);
    let Acquired::Register(region, _) = driver.acquire(pages(0, 1)) else { panic!("it is new") };
    let work = &mut driver.work;
    assert_eq!(driver.cache.release(region, work), Err(RegionError::NotHeld(region)));
    assert_eq!(driver.cache.registered(region, work), Ok(Registration::Usable));
    assert_eq!(driver.cache.registered(region, work), Err(RegionError::NotAsked(region)));
    assert_eq!(driver.cache.failed(region), Err(RegionError::NotAsked(region)));
    assert_eq!(driver.cache.release(region, work), Ok(()));
    assert_eq!(driver.cache.release(region, work), Err(RegionError::NotHeld(region)));
    let other = RegionId { generation: 1, ..region };
    assert_eq!(driver.cache.release(other, work), Err(RegionError::NoSuchRegion(other)));
    let none = RegionId { index: 9, generation: 0 };
    assert_eq!(driver.cache.release(none, work), Err(RegionError::NoSuchRegion(none)));
    assert_eq!(driver.cache.span(region), Some(pages(0, 1)));
    assert_eq!((driver.cache.span(other), driver.cache.is_valid(other)), (None, false));
}
