//! Objects that a host has pointers to: how one is made, used and freed.
//!
//! An object lies in memory of its host, with its heap in front of it. Each use of it comes through
//! [`enter`], which refuses null, objects of another kind and freed ones, one that is in use already (a
//! host's allocator that calls back), and one that has failed; and which lets no panic out.

use crate::CARROUSEL_ABI_VERSION;
use crate::border::{carrousel_allocator, text};
use crate::error::{Detail, Fault, carrousel_error};
use crate::heap::{Heap, Host};
use core::ffi::c_char;
use std::alloc::Layout;
use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What a host has a pointer to.
pub(crate) trait Kind {
    /// Stands at the begin of each object of this kind, and in no other.
    const MARK: u32;

    /// How many times as large one call may make what the object holds.
    const GROWTH: usize = 3;
}

/// An object in memory of the host.
#[repr(C)]
struct Object<T> {
    /// [`Kind::MARK`], or 0 once it is freed.
    mark: AtomicU32,
    state: AtomicU32,
    heap: Heap,
    detail: Cell<Option<Detail>>,
    value: UnsafeCell<MaybeUninit<T>>,
}

const READY: u32 = 0;
const BUSY: u32 = 1;
const FAILED: u32 = 2;

/// Makes an object.
pub(crate) fn create<T: Kind>(
    abi: u32,
    allocator: Option<&carrousel_allocator>,
    extra: usize,
    out: Option<&mut MaybeUninit<*mut T>>,
    make: impl FnOnce() -> Result<T, Fault>,
) -> carrousel_error {
    let Some(out) = out else { return carrousel_error::NullPointer };
    out.write(ptr::null_mut());
    if abi != CARROUSEL_ABI_VERSION {
        return carrousel_error::WrongAbi;
    }
    let host = match Host::new(allocator) {
        Ok(host) => host,
        Err(error) => return error,
    };
    let layout = Layout::new::<Object<T>>();
    let object = host.allocate(layout).cast::<Object<T>>();
    if object.is_null() {
        return carrousel_error::OutOfMemory;
    }
    let begun = Object {
        mark: AtomicU32::new(0),
        state: AtomicU32::new(READY),
        heap: Heap::new(host),
        detail: Cell::new(None),
        value: UnsafeCell::new(MaybeUninit::uninit()),
    };
    // SAFETY: the host has given memory for an object, which nobody else knows yet.
    let begun = unsafe {
        object.write(begun);
        &mut *object
    };
    let made = begun.heap.provide(0, extra).map_err(Fault::from);
    let made = made.and_then(|()| begun.heap.enter(|| caught(make)));
    match made {
        Ok(value) => {
            begun.value.get_mut().write(value);
            begun.mark.store(T::MARK, Relaxed);
            out.write(object.cast());
            carrousel_error::None
        }
        Err(fault) => {
            begun.heap.give_up_reserve();
            // SAFETY: it came from this host, and nobody has a pointer to it.
            unsafe { host.release(object.cast(), layout) };
            fault.code()
        }
    }
}

/// Frees an object, and sets the pointer of the host to null. Null is freed already.
pub(crate) fn free<T: Kind>(pointer: Option<&mut *mut T>) -> carrousel_error {
    let Some(pointer) = pointer else { return carrousel_error::NullPointer };
    if pointer.is_null() {
        return carrousel_error::None;
    }
    let object = match find(*pointer) {
        Ok(object) => object,
        Err(error) => return error,
    };
    if object.state.load(Relaxed) == BUSY {
        return carrousel_error::Busy;
    }
    object.mark.store(0, Relaxed);
    // SAFETY: an object with its mark has a value, which nobody sees any more.
    let value = unsafe { &mut *object.value.get() };
    let dropped = object.heap.enter(|| {
        caught(|| {
            // SAFETY: as above; the mark is gone, so that this is done once.
            unsafe { value.assume_init_drop() };
            Ok(())
        })
    });
    object.heap.give_up_reserve();
    let host = object.heap.host();
    // SAFETY: it came from this host, and its mark is gone.
    unsafe { host.release((*pointer).cast(), Layout::new::<Object<T>>()) };
    *pointer = ptr::null_mut();
    dropped.map_or_else(|fault| fault.code(), |()| carrousel_error::None)
}

/// Uses an object: calls `act` with it, unless it cannot be used now.
#[inline]
pub(crate) fn enter<T: Kind>(
    pointer: *mut T,
    act: impl FnOnce(&mut T) -> Result<(), Fault>,
) -> carrousel_error {
    enter_growing(pointer, T::GROWTH, |_| Ok(0), act)
}

/// As [`enter`], for a call that makes what the object holds `growth` times as large at most, and needs as
/// many bytes more as `measure` says of what it is given.
#[inline]
pub(crate) fn enter_growing<T: Kind>(
    pointer: *mut T,
    growth: usize,
    measure: impl FnOnce(&T) -> Result<usize, carrousel_error>,
    act: impl FnOnce(&mut T) -> Result<(), Fault>,
) -> carrousel_error {
    let object = match find(pointer) {
        Ok(object) => object,
        Err(error) => return error,
    };
    match object.state.load(Relaxed) {
        READY => {}
        BUSY => return carrousel_error::Busy,
        _ => return carrousel_error::Failed,
    }
    // SAFETY: an object with its mark has a value, which is not in use: it is `READY`.
    let measured = measure(unsafe { (*object.value.get()).assume_init_ref() });
    if let Err(error) = measured.and_then(|extra| object.heap.provide(growth, extra)) {
        return error;
    }
    object.state.store(BUSY, Relaxed);
    // SAFETY: an object with its mark has a value; `BUSY` keeps everybody else out.
    let value = unsafe { (*object.value.get()).assume_init_mut() };
    let done = object.heap.enter(|| caught(|| act(value)));
    match done {
        Ok(()) => {
            object.state.store(READY, Relaxed);
            carrousel_error::None
        }
        Err(fault) => refused(object, fault),
    }
}

#[cold]
fn refused<T>(object: &Object<T>, fault: Fault) -> carrousel_error {
    let code = fault.code();
    object.state.store(if code == carrousel_error::Failed { FAILED } else { READY }, Relaxed);
    if let Fault::Detail(detail) = fault {
        object.detail.set(Some(detail));
    }
    code
}

/// What was wrong with the last call that was refused for a reason that has more than a code.
pub(crate) fn detail<T: Kind>(
    pointer: *mut T,
    buffer: *mut c_char,
    len: usize,
    needed: Option<&mut MaybeUninit<usize>>,
) -> carrousel_error {
    let object = match find(pointer) {
        Ok(object) => object,
        Err(error) => return error,
    };
    match object.detail.get() {
        Some(detail) => text(&detail, buffer, len, needed),
        None => text(&"", buffer, len, needed),
    }
}

/// The object that a host means.
#[inline]
fn find<'a, T: Kind>(pointer: *mut T) -> Result<&'a Object<T>, carrousel_error> {
    let object = pointer.cast::<Object<T>>();
    if object.is_null() {
        return Err(carrousel_error::NullPointer);
    }
    if !object.is_aligned() {
        return Err(carrousel_error::WrongObject);
    }
    // SAFETY: the host promises that its pointers are null, or of objects of this library. All kinds begin
    // with a mark, so that it is read before it is known which kind it is.
    let mark = unsafe { (*object.cast::<AtomicU32>()).load(Relaxed) };
    if mark != T::MARK {
        return Err(carrousel_error::WrongObject);
    }
    // SAFETY: the mark says that it is an object of this kind, and the host promises that it frees none that
    // is in use.
    Ok(unsafe { &*object })
}

/// Lets no panic out. The assertion is sound as an object whose call panics is never used again.
#[inline]
fn caught<T>(act: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(done) => done,
        Err(payload) => {
            // The drop of a payload of somebody else's could panic; ours are texts.
            drop(payload);
            Err(Fault::Code(carrousel_error::Failed))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel_error as E;
    use core::ffi::c_void;

    struct List(Vec<u64>);
    impl Kind for List {
        const MARK: u32 = 1;
    }

    struct Other;
    impl Kind for Other {
        const MARK: u32 = 2;
    }

    /// Memory that is never given to anybody again, so that a freed object can be looked at.
    #[derive(Default)]
    struct Arena {
        taken: Cell<usize>,
        given_back: Cell<usize>,
        bytes: Cell<usize>,
    }

    extern "C" fn allocate(context: *mut c_void, size: usize, align: usize) -> *mut c_void {
        // SAFETY: the context is the arena of the test.
        let arena = unsafe { &*context.cast::<Arena>() };
        arena.taken.set(arena.taken.get() + 1);
        arena.bytes.set(arena.bytes.get() + size);
        let layout = Layout::from_size_align(size, align).expect("it is one");
        Box::leak(vec![0_u128; size.div_ceil(16) + layout.align() / 16].into_boxed_slice())
            .as_mut_ptr()
            .cast()
    }

    extern "C" fn release(context: *mut c_void, _: *mut c_void, size: usize, _: usize) {
        // SAFETY: the context is the arena of the test.
        let arena = unsafe { &*context.cast::<Arena>() };
        arena.given_back.set(arena.given_back.get() + 1);
        arena.bytes.set(arena.bytes.get() - size);
    }

    impl Arena {
        fn allocator(&self) -> carrousel_allocator {
            let context = ptr::from_ref(self).cast_mut().cast();
            carrousel_allocator { allocate: Some(allocate), release: Some(release), context }
        }
    }

    fn created<T: Kind>(allocator: &carrousel_allocator, value: T) -> *mut T {
        let mut pointer = MaybeUninit::uninit();
        let made = create(CARROUSEL_ABI_VERSION, Some(allocator), 0, Some(&mut pointer), || Ok(value));
        assert_eq!(made, E::None);
        // SAFETY: it was made.
        unsafe { pointer.assume_init() }
    }

    #[test]
    fn what_an_object_allocates_is_its_hosts_and_goes_back_there() {
        let arena = Arena::default();
        let mut list = created(&arena.allocator(), List(Vec::new()));
        let at_first = arena.taken.get();
        for number in 0..1000 {
            let pushed = enter(list, |list| {
                list.0.push(number);
                Ok(())
            });
            assert_eq!(pushed, E::None);
        }
        assert!(arena.bytes.get() > 8000 && arena.taken.get() > at_first);
        assert_eq!(free(Some(&mut list)), E::None);
        assert!(list.is_null());
        assert_eq!((arena.bytes.get(), arena.given_back.get()), (0, arena.taken.get()));
    }

    #[test]
    fn a_pointer_that_is_not_of_the_object_is_refused() {
        let arena = Arena::default();
        let allocator = arena.allocator();
        let mut list = created(&allocator, List(Vec::new()));
        let nothing = |_: &mut Other| -> Result<(), Fault> { unreachable!("there is none") };
        assert_eq!(enter(list.cast::<Other>(), nothing), E::WrongObject);
        assert_eq!(enter(ptr::null_mut::<Other>(), nothing), E::NullPointer);
        assert_eq!(enter(list.cast::<u8>().wrapping_add(1).cast::<Other>(), nothing), E::WrongObject);
        assert_eq!(free(Some(&mut list.cast::<Other>())), E::WrongObject);
        let (stale, mut twice) = (list, list);
        assert_eq!(free(Some(&mut list)), E::None);
        assert_eq!(enter(stale, |_| Ok(())), E::WrongObject, "it was freed");
        assert_eq!(free(Some(&mut twice)), E::WrongObject, "it was freed");
        assert_eq!(free(Some(&mut list)), E::None, "it is null now");
        assert_eq!(free::<Other>(None), E::NullPointer);
    }

    #[test]
    fn a_call_within_a_call_is_refused() {
        let arena = Arena::default();
        let mut list = created(&arena.allocator(), List(Vec::new()));
        let outer = enter(list, |_| {
            assert_eq!(enter(list, |_| Ok(())), E::Busy);
            assert_eq!(free(Some(&mut list.clone())), E::Busy);
            Ok(())
        });
        assert_eq!(outer, E::None);
        assert_eq!(enter(list, |_| Ok(())), E::None);
        assert_eq!(free(Some(&mut list)), E::None);
    }

    #[test]
    fn a_panic_is_an_error_and_the_object_is_out_of_use() {
        let arena = Arena::default();
        let mut list = created(&arena.allocator(), List(vec![1]));
        let failed = enter(list, |list| {
            list.0.push(2);
            panic!("a mistake of the library");
        });
        assert_eq!(failed, E::Failed);
        assert_eq!(enter(list, |_| Ok(())), E::Failed);
        assert_eq!(free(Some(&mut list)), E::None);
        assert_eq!(arena.bytes.get(), 0, "a panic leaves nothing behind in the host's memory");
    }

    #[test]
    fn an_object_that_cannot_be_made_leaves_nothing() {
        let arena = Arena::default();
        let allocator = arena.allocator();
        let mut pointer = MaybeUninit::uninit();
        let mut make = |abi, allocator, value: fn() -> Result<Other, Fault>| {
            let made = create(abi, allocator, 0, Some(&mut pointer), value);
            // SAFETY: it is written first.
            assert!(unsafe { pointer.assume_init() }.is_null());
            made
        };
        let version = CARROUSEL_ABI_VERSION;
        assert_eq!(make(version + 1, Some(&allocator), || Ok(Other)), E::WrongAbi);
        assert_eq!(make(version, Some(&allocator), || Err(E::NoSuchRank.into())), E::NoSuchRank);
        assert_eq!(make(version, Some(&allocator), || panic!("a mistake")), E::Failed);
        let half = carrousel_allocator { release: None, ..allocator };
        assert_eq!(make(version, Some(&half), || Ok(Other)), E::NullPointer);
        assert_eq!(create(version, None, 0, None, || Ok(Other)), E::NullPointer);
        assert_eq!((arena.bytes.get(), arena.given_back.get()), (0, arena.taken.get()));
    }

    #[test]
    fn what_was_wrong_is_told_in_words() {
        let arena = Arena::default();
        let mut list = created(&arena.allocator(), List(Vec::new()));
        let (mut words, mut needed) = ([1; 8], MaybeUninit::uninit());
        assert_eq!(detail(list, words.as_mut_ptr(), words.len(), Some(&mut needed)), E::None);
        assert_eq!(words[0], 0, "nothing was wrong");
        let refused = enter(list, |_| Err(::carrousel_rank::UsageError::TagTooGreat { tag: 9 }.into()));
        assert_eq!(refused, E::UnknownValue);
        assert_eq!(detail(list, words.as_mut_ptr(), words.len(), Some(&mut needed)), E::WrongLength);
        assert_eq!(words.map(|byte| byte as u8), *b"tag 9 i\0", "it is cut where the room ends");
        // SAFETY: it is written.
        let needed = unsafe { needed.assume_init() };
        let mut words = vec![1; needed];
        assert_eq!(detail(list, words.as_mut_ptr(), needed, None), E::None);
        assert_eq!(words.iter().position(|byte| *byte == 0), Some(needed - 1));
        assert_eq!(detail(list, ptr::null_mut(), 1, None), E::NullPointer);
        assert_eq!(free(Some(&mut list)), E::None);
    }
}
