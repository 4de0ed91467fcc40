//! A window alone: the epochs of one process in one window, for hosts with messages of their own.

use crate::border::{array, carrousel_allocator};
use crate::called::carrousel_called;
use crate::error::{Fault, carrousel_error};
use crate::inputs::place;
use crate::object::{self, Kind};
use crate::outputs::Outputs;
use crate::window_names::{
    carrousel_window_call, carrousel_window_event, carrousel_window_setup, carrousel_window_work, flush,
};
use carrousel_epoch::{AllEpochRules, Output, Returned, Window, WindowSetup};
use core::ffi::c_char;
use core::mem::MaybeUninit;

/// The epochs of one process in one window. Its requests are numbers, and each is named by the work
/// `COMPLETE` once.
pub struct carrousel_window {
    window: Window<AllEpochRules>,
    work: Outputs<Output>,
}

impl Kind for carrousel_window {
    const MARK: u32 = 0x4341_5202;
    /// An epoch that is activated begins all of its operations.
    const GROWTH: usize = 12;
}

/// Bytes that a rank of a window takes.
const OF_WINDOW: usize = 512;
/// Bytes that a rank of a list takes, while it is made and later.
const OF_LIST: usize = 64;

/// Bytes for a list of ranks of a job of so many. A longer one would name a rank twice.
pub(crate) fn list_of(first: *const u32, len: usize, ranks: u32) -> Result<usize, carrousel_error> {
    array(first, len)?;
    if len > ranks as usize {
        return Err(carrousel_error::WrongLength);
    }
    Ok(len.saturating_mul(OF_LIST))
}

/// Bytes for a window of so many ranks.
pub(crate) fn extra(ranks: u32, setup: Option<&carrousel_window_setup>) -> Result<usize, carrousel_error> {
    let neighbours = setup.map_or(Ok(0), |setup| list_of(setup.neighbours, setup.neighbours_len, ranks))?;
    Ok((ranks as usize).saturating_mul(OF_WINDOW).saturating_add(neighbours))
}

/// Bytes for the group of a call.
pub(crate) fn extra_of(call: Option<&carrousel_window_call>, ranks: u32) -> Result<usize, carrousel_error> {
    call.map_or(
        Ok(0),
        |call| if call.has_group() { list_of(call.group, call.group_len, ranks) } else { Ok(0) },
    )
}

/// Makes the part of rank `me` of a window of `ranks`. Without a setup it is the default one.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_window_create(
    abi: u32,
    allocator: Option<&carrousel_allocator>,
    me: u32,
    ranks: u32,
    setup: Option<&carrousel_window_setup>,
    window: Option<&mut MaybeUninit<*mut carrousel_window>>,
) -> carrousel_error {
    let extra = match extra(ranks, setup) {
        Ok(extra) => extra,
        Err(error) => return error,
    };
    object::create(abi, allocator, extra, window, || {
        let (me, _) = place(me, ranks)?;
        let setup = setup.map_or(Ok(WindowSetup::default()), WindowSetup::try_from)?;
        Ok(carrousel_window { window: Window::new(me, ranks, setup), work: Outputs::new() })
    })
}

/// Frees a window, and sets the pointer to null.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_window_free(window: Option<&mut *mut carrousel_window>) -> carrousel_error {
    object::free(window)
}

/// As `carrousel_rank_error_text`.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_window_error_text(
    window: *mut carrousel_window,
    buffer: *mut c_char,
    len: usize,
    needed: Option<&mut MaybeUninit<usize>>,
) -> carrousel_error {
    object::detail(window, buffer, len, needed)
}

/// The application calls. `called` gets a `carrousel_called`, `request` the request if there is one.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_window_take_call(
    window: *mut carrousel_window,
    call: Option<&carrousel_window_call>,
    called: Option<&mut MaybeUninit<u32>>,
    request: Option<&mut MaybeUninit<u64>>,
) -> carrousel_error {
    let measure = |it: &carrousel_window| extra_of(call, it.window.ranks());
    object::enter_growing(window, carrousel_window::GROWTH, measure, |it| {
        let call = call.ok_or(carrousel_error::NullPointer)?;
        let (Some(called), Some(request)) = (called, request) else {
            return Err(carrousel_error::NullPointer.into());
        };
        let work = it.work.begin()?;
        let (kind, number) = match call.with(|call| Ok(it.window.call(call, work)?))? {
            Returned::Nothing => (carrousel_called::Done, 0),
            Returned::Request(number) => (carrousel_called::Request, number.0),
            Returned::Flush(_) => (carrousel_called::Flush, 0),
        };
        called.write(kind as u32);
        request.write(number);
        Ok(())
    })
}

/// Something has happened.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_window_take_event(
    window: *mut carrousel_window,
    event: Option<&carrousel_window_event>,
) -> carrousel_error {
    object::enter(window, |it| {
        let event = event.ok_or(carrousel_error::NullPointer)?.try_into()?;
        Ok(it.window.event(event, it.work.begin()?)?)
    })
}

/// The next thing to do. `EMPTY` if nothing is left.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_window_next_work(
    window: *mut carrousel_window,
    work: Option<&mut MaybeUninit<carrousel_window_work>>,
) -> carrousel_error {
    object::enter(window, |it| it.work.next(work))
}

/// Whether a flush without a request is over: `INCOMPLETE` if not, `PEER_LOST` if an operation of it has
/// failed.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_window_is_flushed(
    window: *mut carrousel_window,
    target: u32,
    is_local: u32,
) -> carrousel_error {
    object::enter(window, |it| over(it.window.is_flushed(flush(target, is_local)?.into()).ok()))
}

/// Whether a flush is over, or, if it is `None`, has failed.
pub(crate) fn over(flushed: Option<bool>) -> Result<(), Fault> {
    match flushed {
        Some(true) => Ok(()),
        Some(false) => Err(carrousel_error::Incomplete.into()),
        None => Err(carrousel_error::PeerLost.into()),
    }
}

/// Whether nothing is open, pending or held: otherwise it is `IN_USE`.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_window_is_quiet(window: *mut carrousel_window) -> carrousel_error {
    object::enter(window, |it| if it.window.is_quiet() { Ok(()) } else { Err(carrousel_error::InUse.into()) })
}
