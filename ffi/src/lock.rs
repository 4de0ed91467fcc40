//! The lock of a window alone: the queue at its host, and a ticket in memory that origins share.

use crate::border::carrousel_allocator;
use crate::error::{Fault, carrousel_error};
use crate::object::{self, Kind};
use crate::outputs::{Outputs, tell};
use crate::window_names::{carrousel_lock_mode, mode};
use ::carrousel_lock::{
    Access, AllLockRules, AllTicketRules, Death, Grant, LockManager, Progress, Standing, TicketLock, Word,
};
use carrousel_wire::RankId;
use core::ffi::c_char;
use core::mem::MaybeUninit;

/// The lock of one process's memory, as the process itself keeps it: first in, first out, with neighbouring
/// shared requests side by side.
pub struct carrousel_lock {
    lock: LockManager<AllLockRules>,
    grants: Outputs<Grant>,
}

impl Kind for carrousel_lock {
    const MARK: u32 = 0x4341_5206;
    /// A release may grant all shared requests that wait.
    const GROWTH: usize = 6;
}

/// Bytes that an origin takes.
const OF_ORIGIN: usize = 64;

/// An origin has the lock, until it releases it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_grant {
    /// The origin.
    pub origin: u32,
    /// A `carrousel_lock_mode`.
    pub mode: u32,
}

impl From<Grant> for carrousel_grant {
    fn from(Grant { origin, mode }: Grant) -> Self {
        Self { origin: origin.0, mode: carrousel_lock_mode::from(mode) as u32 }
    }
}

/// What an origin has to do with the lock.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_standing {
    /// Nothing.
    Idle = 0,
    /// Its request waits.
    Waits = 1,
    /// It holds the lock.
    Holds = 2,
    /// It has died, and did not hold the lock.
    Dead = 3,
    /// It has died as a holder: the lock stays held.
    DeadHolder = 4,
}

/// Makes the lock of a window of `ranks`, which nobody holds.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_lock_create(
    abi: u32,
    allocator: Option<&carrousel_allocator>,
    ranks: u32,
    lock: Option<&mut MaybeUninit<*mut carrousel_lock>>,
) -> carrousel_error {
    object::create(abi, allocator, (ranks as usize).saturating_mul(OF_ORIGIN), lock, || {
        Ok(carrousel_lock { lock: LockManager::new(ranks), grants: Outputs::new() })
    })
}

/// Frees a lock, and sets the pointer to null.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_lock_free(lock: Option<&mut *mut carrousel_lock>) -> carrousel_error {
    object::free(lock)
}

/// As `carrousel_rank_error_text`.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_lock_error_text(
    lock: *mut carrousel_lock,
    buffer: *mut c_char,
    len: usize,
    needed: Option<&mut MaybeUninit<usize>>,
) -> carrousel_error {
    object::detail(lock, buffer, len, needed)
}

/// A request has arrived, of a `carrousel_lock_mode`.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_lock_request(
    lock: *mut carrousel_lock,
    origin: u32,
    how: u32,
) -> carrousel_error {
    object::enter(lock, |it| Ok(it.lock.request(RankId(origin), mode(how)?, it.grants.begin()?)?))
}

/// A release has arrived, behind the data of its origin.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_lock_release(lock: *mut carrousel_lock, origin: u32) -> carrousel_error {
    object::enter(lock, |it| Ok(it.lock.release(RankId(origin), it.grants.begin()?)?))
}

/// An origin has died. `held` and `waited` get the `carrousel_lock_mode` in which it held the lock, or waited
/// for it, or 0. A lock that it holds stays held.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_lock_died(
    lock: *mut carrousel_lock,
    origin: u32,
    held: Option<&mut MaybeUninit<u32>>,
    waited: Option<&mut MaybeUninit<u32>>,
) -> carrousel_error {
    object::enter(lock, |it| {
        let (Some(held), Some(waited)) = (held, waited) else {
            return Err(carrousel_error::NullPointer.into());
        };
        let death: Death = it.lock.died(RankId(origin), it.grants.begin()?)?;
        let number = |mode: Option<_>| mode.map_or(0, |mode| carrousel_lock_mode::from(mode) as u32);
        held.write(number(death.held));
        waited.write(number(death.waited));
        Ok(())
    })
}

/// The next grant. `EMPTY` if none is left.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_lock_next_grant(
    lock: *mut carrousel_lock,
    grant: Option<&mut MaybeUninit<carrousel_grant>>,
) -> carrousel_error {
    object::enter(lock, |it| it.grants.next(grant))
}

/// What an origin has to do with the lock: a `carrousel_standing`.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_lock_standing(
    lock: *mut carrousel_lock,
    origin: u32,
    standing: Option<&mut MaybeUninit<u32>>,
) -> carrousel_error {
    object::enter(lock, |it| {
        let its = it.lock.standing(RankId(origin)).ok_or(carrousel_error::NoSuchRank)?;
        let its = match its {
            Standing::Idle => carrousel_standing::Idle,
            Standing::Waits(_) => carrousel_standing::Waits,
            Standing::Holds(_) => carrousel_standing::Holds,
            Standing::Dead(None) => carrousel_standing::Dead,
            Standing::Dead(Some(_)) => carrousel_standing::DeadHolder,
        };
        tell(Some(its as u32), standing)
    })
}

/// One origin's side of a lock whose words are in memory that origins share. It asks for accesses, which the
/// host carries out, each atomic, one after the other.
pub struct carrousel_ticket {
    ticket: TicketLock<AllTicketRules>,
}

impl Kind for carrousel_ticket {
    const MARK: u32 = 0x4341_5207;
}

/// An access to a word.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_access_kind {
    /// Load it (acquire).
    Load = 1,
    /// Store `value` (release).
    Store = 2,
    /// Add 1, modulo 2^64, and answer with the value before (of NEXT acquire and release, of others release).
    Increment = 3,
}

/// A word of the lock. All are 0 at first.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_word {
    /// The next ticket.
    Next = 1,
    /// The ticket whose exclusive request has its turn.
    WriteServing = 2,
    /// The ticket whose shared request has its turn.
    ReadServing = 3,
    /// What rank `owner` has to do with the lock.
    Owner = 4,
}

/// What the host of a ticket does next.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_ticket_state {
    /// Carry the access out, and give its answer to `carrousel_ticket_answer`.
    Access = 1,
    /// It is not the turn of the ticket yet: `carrousel_ticket_poll` looks again.
    Waits = 2,
    /// The origin has the lock.
    Holds = 3,
    /// The lock is released.
    Released = 4,
    /// The lock is lost, and every rank can read that.
    Lost = 5,
}

/// An access of a ticket.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_access {
    /// A `carrousel_access_kind`.
    pub kind: u32,
    /// A `carrousel_word`.
    pub word: u32,
    /// Of which rank the word OWNER is.
    pub owner: u32,
    /// What is stored.
    pub value: u64,
}

impl From<Access> for carrousel_access {
    fn from(access: Access) -> Self {
        use carrousel_access_kind as K;
        let (kind, word, value) = match access {
            Access::Load(word) => (K::Load, word, 0),
            Access::Store(word, value) => (K::Store, word, value),
            Access::Increment(word) => (K::Increment, word, 0),
        };
        let (word, owner) = match word {
            Word::Next => (carrousel_word::Next, 0),
            Word::WriteServing => (carrousel_word::WriteServing, 0),
            Word::ReadServing => (carrousel_word::ReadServing, 0),
            Word::Owner(rank) => (carrousel_word::Owner, rank.0),
        };
        Self { kind: kind as u32, word: word as u32, owner, value }
    }
}

/// Makes the side of rank `origin`.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_ticket_create(
    abi: u32,
    allocator: Option<&carrousel_allocator>,
    origin: u32,
    ticket: Option<&mut MaybeUninit<*mut carrousel_ticket>>,
) -> carrousel_error {
    object::create(abi, allocator, 0, ticket, || {
        Ok(carrousel_ticket { ticket: TicketLock::new(RankId(origin)) })
    })
}

/// Frees a ticket, and sets the pointer to null.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_ticket_free(ticket: Option<&mut *mut carrousel_ticket>) -> carrousel_error {
    object::free(ticket)
}

/// Requests the lock, of a `carrousel_lock_mode`: the first access.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_ticket_request(
    ticket: *mut carrousel_ticket,
    how: u32,
    access: Option<&mut MaybeUninit<carrousel_access>>,
) -> carrousel_error {
    object::enter(ticket, |it| {
        let out = access.ok_or(carrousel_error::NullPointer)?;
        let first = it.ticket.request(mode(how)?)?;
        tell(Some(first.into()), Some(out))
    })
}

/// Looks whether it is the turn of a ticket that waits: an access, or `EMPTY` if the ticket does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_ticket_poll(
    ticket: *mut carrousel_ticket,
    access: Option<&mut MaybeUninit<carrousel_access>>,
) -> carrousel_error {
    object::enter(ticket, |it| {
        let out = access.ok_or(carrousel_error::NullPointer)?;
        tell(it.ticket.poll().map(Into::into), Some(out))
    })
}

/// Releases the lock: the first access.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_ticket_release(
    ticket: *mut carrousel_ticket,
    access: Option<&mut MaybeUninit<carrousel_access>>,
) -> carrousel_error {
    object::enter(ticket, |it| {
        let out = access.ok_or(carrousel_error::NullPointer)?;
        let first = it.ticket.release()?;
        tell(Some(first.into()), Some(out))
    })
}

/// The answer of an access. `state` gets a `carrousel_ticket_state`; if it is `ACCESS`, `access` gets the
/// next one.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_ticket_answer(
    ticket: *mut carrousel_ticket,
    value: u64,
    state: Option<&mut MaybeUninit<u32>>,
    access: Option<&mut MaybeUninit<carrousel_access>>,
) -> carrousel_error {
    object::enter(ticket, |it| {
        let (Some(state), Some(out)) = (state, access) else {
            return Err(carrousel_error::NullPointer.into());
        };
        let progress = it.ticket.answer(value).map_err(Fault::from)?;
        let (kind, next) = told(progress);
        state.write(kind as u32);
        out.write(next);
        Ok(())
    })
}

fn told(progress: Progress) -> (carrousel_ticket_state, carrousel_access) {
    use carrousel_ticket_state as S;
    match progress {
        Progress::Access(access) => (S::Access, access.into()),
        Progress::Waits => (S::Waits, carrousel_access::default()),
        Progress::Granted => (S::Holds, carrousel_access::default()),
        Progress::Released => (S::Released, carrousel_access::default()),
        Progress::Lost => (S::Lost, carrousel_access::default()),
    }
}
