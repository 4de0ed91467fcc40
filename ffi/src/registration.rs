//! Registered memory alone: which registrations are kept, and which small buffers get one.

use crate::border::carrousel_allocator;
use crate::error::carrousel_error;
use crate::names::{flag, numbered};
use crate::object::{self, Kind};
use crate::outputs::{Outputs, tell};
use ::carrousel_registration::{
    Acquired, CLASSES, Deregister, Limits, Path, Policy, RegionId, Registration, RegistrationCache, Route,
    Span, Thresholds,
};
use core::ffi::c_char;
use core::mem::MaybeUninit;

/// The registrations of a process.
pub struct carrousel_registration {
    cache: RegistrationCache,
    work: Outputs<Deregister>,
    /// Bytes of the table of counted buffers when it begins.
    table: usize,
}

impl Kind for carrousel_registration {
    const MARK: u32 = 0x4341_5208;
    /// The table of counted buffers doubles its chains and its entries at once.
    const GROWTH: usize = 6;
}

/// A registration. Its index is used again, the generation tells the uses apart.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_region {
    /// Position in the table of the host's keys.
    pub index: u32,
    /// How many registrations have used the position before.
    pub generation: u32,
}

impl From<RegionId> for carrousel_region {
    fn from(RegionId { index, generation }: RegionId) -> Self {
        Self { index, generation }
    }
}

impl From<carrousel_region> for RegionId {
    fn from(carrousel_region { index, generation }: carrousel_region) -> Self {
        Self { index, generation }
    }
}

impl From<Deregister> for carrousel_region {
    fn from(Deregister(region): Deregister) -> Self {
        region.into()
    }
}

/// Size classes: class k is from k KiB on, the last one has all larger messages.
pub const CARROUSEL_CLASSES: usize = 9;
const _: () = assert!(CARROUSEL_CLASSES == CLASSES);

/// The bounds of the registrations, and when a small buffer gets one.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct carrousel_registration_policy {
    /// A page has 2^`page_bits` bytes.
    pub page_bits: u32,
    /// The most registrations at a time.
    pub entries: u32,
    /// The most registered bytes at a time.
    pub bytes: u64,
    /// The least number of uses for which a registration pays, by `carrousel_path` (the first is row 0) and
    /// size class.
    pub thresholds: [[u32; 9]; 4],
    /// Register after this percentage of the uses that pay.
    pub speculation_percent: u32,
    /// The table of counted buffers begins with 2^`bucket_bits_min` chains ..
    pub bucket_bits_min: u32,
    /// .. and grows to 2^`bucket_bits_max`, at most 2^31.
    pub bucket_bits_max: u32,
    /// The most counted buffers.
    pub entries_max: u32,
    /// Count no more buffers while the chains grow and less than this percentage of them is registered.
    pub share_percent: u32,
    /// 1: speculate less while most registrations do not pay.
    pub learns: u32,
    /// Shorter messages are copied.
    pub bytes_min: u64,
    /// Longer ones are not small, and not counted.
    pub bytes_max: u64,
}

/// The way in which a small message travels.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_path {
    /// Written into the receiver's ring.
    EagerByWrite = 1,
    /// Sent, and received into staging memory.
    EagerBySend = 2,
    /// Written into the target's window.
    Put = 3,
    /// Read from the target's window.
    Get = 4,
}
numbered!(carrousel_path: EagerByWrite, EagerBySend, Put, Get);

/// What a host does with a buffer.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_route_kind {
    /// Copy: it has no registration, and waits for none.
    Copy = 1,
    /// Use `region`, and release it when the transfer is over.
    Direct = 2,
    /// Register the pages from `start` up to `end` as `region`, and report by
    /// `carrousel_registration_registered` or
    /// `carrousel_registration_failed`.
    Register = 3,
}

/// What a host does with a buffer, and with which registration.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_buffer_route {
    /// A `carrousel_route_kind`.
    pub kind: u32,
    /// The registration.
    pub region: carrousel_region,
    /// The first byte to register.
    pub start: u64,
    /// The byte behind the last one.
    pub end: u64,
}

fn route(
    kind: carrousel_route_kind,
    region: Option<RegionId>,
    pages: Option<Span>,
) -> carrousel_buffer_route {
    carrousel_buffer_route {
        kind: kind as u32,
        region: region.map(Into::into).unwrap_or_default(),
        start: pages.map_or(0, Span::start),
        end: pages.map_or(0, Span::end),
    }
}

/// What a policy is if the host chooses none.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_registration_policy_default(
    policy: Option<&mut MaybeUninit<carrousel_registration_policy>>,
) -> carrousel_error {
    let (Limits { page_bits, entries, bytes }, its) = (Limits::default(), Policy::default());
    let all = carrousel_registration_policy {
        page_bits,
        entries,
        bytes,
        thresholds: Path::ALL.map(|path| *its.thresholds.of(path)),
        speculation_percent: its.speculation_percent,
        bucket_bits_min: its.bucket_bits_min,
        bucket_bits_max: its.bucket_bits_max,
        entries_max: its.entries_max,
        share_percent: its.share_percent,
        learns: its.learns.into(),
        bytes_min: its.bytes_min,
        bytes_max: its.bytes_max,
    };
    match policy {
        Some(policy) => {
            policy.write(all);
            carrousel_error::None
        }
        None => carrousel_error::NullPointer,
    }
}

impl carrousel_registration_policy {
    fn both(&self) -> Result<(Limits, Policy), carrousel_error> {
        let mut thresholds = Thresholds::uniform(0);
        for (path, its) in Path::ALL.into_iter().zip(self.thresholds) {
            *thresholds.of_mut(path) = its;
        }
        if self.page_bits >= u64::BITS
            || self.bucket_bits_min > self.bucket_bits_max
            || self.bucket_bits_max > 31
        {
            return Err(carrousel_error::UnknownValue);
        }
        let Self { page_bits, entries, bytes, .. } = *self;
        let policy = Policy {
            thresholds,
            speculation_percent: self.speculation_percent,
            bytes_min: self.bytes_min,
            bytes_max: self.bytes_max,
            bucket_bits_min: self.bucket_bits_min,
            bucket_bits_max: self.bucket_bits_max,
            entries_max: self.entries_max,
            share_percent: self.share_percent,
            learns: flag(self.learns)?,
        };
        Ok((Limits { page_bits, entries, bytes }, policy))
    }
}

/// Makes a cache without registrations, with a policy or the default one.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_registration_create(
    abi: u32,
    allocator: Option<&carrousel_allocator>,
    policy: Option<&carrousel_registration_policy>,
    cache: Option<&mut MaybeUninit<*mut carrousel_registration>>,
) -> carrousel_error {
    object::create(abi, allocator, 0, cache, || {
        let (limits, policy) = policy.map_or(Ok(Default::default()), carrousel_registration_policy::both)?;
        let table = size_of::<u32>() << policy.bucket_bits_min;
        Ok(carrousel_registration {
            cache: RegistrationCache::new(limits, policy),
            work: Outputs::new(),
            table,
        })
    })
}

/// Frees a cache, and sets the pointer to null. What is registered stays so: `carrousel_registration_clear`
/// comes first.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_registration_free(
    cache: Option<&mut *mut carrousel_registration>,
) -> carrousel_error {
    object::free(cache)
}

/// As `carrousel_rank_error_text`.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_registration_error_text(
    cache: *mut carrousel_registration,
    buffer: *mut c_char,
    len: usize,
    needed: Option<&mut MaybeUninit<usize>>,
) -> carrousel_error {
    object::detail(cache, buffer, len, needed)
}

/// A small message of `len` bytes at `address` is about to travel, by a `carrousel_path`.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_registration_transfer(
    cache: *mut carrousel_registration,
    address: u64,
    len: u64,
    path: u32,
    out: Option<&mut MaybeUninit<carrousel_buffer_route>>,
) -> carrousel_error {
    object::enter_growing(
        cache,
        carrousel_registration::GROWTH,
        |it| Ok(it.table),
        |it| {
            let out = out.ok_or(carrousel_error::NullPointer)?;
            let path = match carrousel_path::of(path)? {
                carrousel_path::EagerByWrite => Path::EagerByWrite,
                carrousel_path::EagerBySend => Path::EagerBySend,
                carrousel_path::Put => Path::Put,
                carrousel_path::Get => Path::Get,
            };
            out.write(match it.cache.transfer(address, len, path, it.work.begin()?) {
                Route::Copy => route(carrousel_route_kind::Copy, None, None),
                Route::Direct(region) => route(carrousel_route_kind::Direct, Some(region), None),
                Route::Register(region, pages) => {
                    route(carrousel_route_kind::Register, Some(region), Some(pages))
                }
            });
            Ok(())
        },
    )
}

/// A message that should not be copied needs `len` bytes at `address` registered: `DIRECT`, `REGISTER`, or
/// `COPY` if they cannot be, so that the data has to go another way.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_registration_acquire(
    cache: *mut carrousel_registration,
    address: u64,
    len: u64,
    out: Option<&mut MaybeUninit<carrousel_buffer_route>>,
) -> carrousel_error {
    object::enter(cache, |it| {
        let out = out.ok_or(carrousel_error::NullPointer)?;
        let span = Span::new(address, len).ok_or(carrousel_error::WrongLength)?;
        let (kind, region, pages) = match it.cache.acquire(span, it.work.begin()?) {
            Acquired::Hit(region) => (carrousel_route_kind::Direct, Some(region), None),
            Acquired::Register(region, pages) => (carrousel_route_kind::Register, Some(region), Some(pages)),
            // The data goes another way.
            Acquired::Refused(_) => (carrousel_route_kind::Copy, None, None),
        };
        out.write(route(kind, region, pages));
        Ok(())
    })
}

/// The host has registered a region. `usable` gets 1 if the transfer that asked for it holds it, 0 if its
/// pages have gone meanwhile: then it is deregistered.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_registration_registered(
    cache: *mut carrousel_registration,
    region: carrousel_region,
    usable: Option<&mut MaybeUninit<u32>>,
) -> carrousel_error {
    object::enter(cache, |it| {
        let out = usable.ok_or(carrousel_error::NullPointer)?;
        let answer = it.cache.registered(region.into(), it.work.begin()?)?;
        tell(Some((answer == Registration::Usable).into()), Some(out))
    })
}

/// The host could not register a region.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_registration_failed(
    cache: *mut carrousel_registration,
    region: carrousel_region,
) -> carrousel_error {
    object::enter(cache, |it| {
        it.work.check_taken()?;
        Ok(it.cache.failed(region.into())?)
    })
}

/// A transfer is over that has held a region.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_registration_release(
    cache: *mut carrousel_registration,
    region: carrousel_region,
) -> carrousel_error {
    object::enter(cache, |it| Ok(it.cache.release(region.into(), it.work.begin()?)?))
}

/// The pages of `len` bytes at `address` are about to go.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_registration_invalidate(
    cache: *mut carrousel_registration,
    address: u64,
    len: u64,
) -> carrousel_error {
    object::enter(cache, |it| {
        let span = Span::new(address, len).ok_or(carrousel_error::WrongLength)?;
        it.cache.invalidate(span, it.work.begin()?);
        Ok(())
    })
}

/// Ends all registrations that no transfer holds, and those that one holds with its end.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_registration_clear(cache: *mut carrousel_registration) -> carrousel_error {
    object::enter(cache, |it| {
        it.cache.clear(it.work.begin()?);
        Ok(())
    })
}

/// The next region to deregister, and to forget the keys of. `EMPTY` if none is left.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_registration_next_work(
    cache: *mut carrousel_registration,
    region: Option<&mut MaybeUninit<carrousel_region>>,
) -> carrousel_error {
    object::enter(cache, |it| it.work.next(region))
}
