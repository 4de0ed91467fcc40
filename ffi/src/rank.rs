//! A rank: messages, collectives and windows of one process of a job.

use crate::border::{array, carrousel_allocator, text};
use crate::called::carrousel_called;
use crate::error::{Fault, carrousel_error};
use crate::inputs::{carrousel_call, carrousel_event, carrousel_options, place};
use crate::names::{
    carrousel_arrived, carrousel_envelope, carrousel_handle, carrousel_pattern, carrousel_status,
    communicator, of_source,
};
use crate::object::{self, Kind};
use crate::outputs::{Outputs, tell};
use crate::window::{extra, extra_of, list_of, over};
use crate::window_names::{carrousel_window_call, carrousel_window_event, carrousel_window_setup, flush};
use crate::work::carrousel_work;
use ::carrousel_rank::{
    Call, Called, Event, Members, Mirror, Options, Pattern, Rank, RankId, Source, Status, UsageError,
    WindowIndex, Work,
};
use carrousel_epoch::WindowSetup;
use core::ffi::c_char;
use core::mem::MaybeUninit;

/// One process of a job. A host makes one for each process, gives it the calls of its application and what
/// its network reports, and does the work that it asks for: all of it, in order, before the next input. One
/// thread at a time uses it.
pub struct carrousel_rank {
    rank: Rank<Mirror>,
    work: Outputs<Work>,
}

impl Kind for carrousel_rank {
    const MARK: u32 = 0x4341_5201;
}

/// An input that may end or begin as many requests as there are.
const MANY: usize = 12;

impl carrousel_rank {
    /// Takes an input.
    #[inline]
    fn input<T>(
        &mut self,
        act: impl FnOnce(&mut Rank<Mirror>, &mut Vec<Work>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let work = self.work.begin()?;
        act(&mut self.rank, work)
    }
}

/// What options are if the host chooses none.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_options_default(
    options: Option<&mut MaybeUninit<carrousel_options>>,
) -> carrousel_error {
    let Some(options) = options else { return carrousel_error::NullPointer };
    options.write(Options::default().into());
    carrousel_error::None
}

/// Makes the rank `me` of a job of `ranks`, with `options` or the default ones. `abi` is
/// `CARROUSEL_ABI_VERSION`. Without an allocator its memory is malloc's.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_create(
    abi: u32,
    allocator: Option<&carrousel_allocator>,
    me: u32,
    ranks: u32,
    options: Option<&carrousel_options>,
    rank: Option<&mut MaybeUninit<*mut carrousel_rank>>,
) -> carrousel_error {
    object::create(abi, allocator, 0, rank, || {
        let options = options.map_or(Ok(Options::default()), Options::try_from)?;
        let (me, job) = place(me, ranks)?;
        Ok(carrousel_rank { rank: Rank::new(me, &job, &options), work: Outputs::new() })
    })
}

/// Frees a rank, and sets the pointer to null.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_free(rank: Option<&mut *mut carrousel_rank>) -> carrousel_error {
    object::free(rank)
}

/// Writes what was wrong with the last refused call, in words, if more is known of it than its code: the text
/// that a trace has for a refused call. It ends with 0; `needed` gets its bytes, and `WRONG_LENGTH` says that
/// it did not fit.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_error_text(
    rank: *mut carrousel_rank,
    buffer: *mut c_char,
    len: usize,
    needed: Option<&mut MaybeUninit<usize>>,
) -> carrousel_error {
    object::detail(rank, buffer, len, needed)
}

/// The application calls. `request` gets the request that the call opens, or that it is about.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_call(
    rank: *mut carrousel_rank,
    call: Option<&carrousel_call>,
    request: Option<&mut MaybeUninit<carrousel_handle>>,
) -> carrousel_error {
    object::enter(rank, |rank| {
        let (Some(call), Some(out)) = (call, request) else {
            return Err(carrousel_error::NullPointer.into());
        };
        let call = Call::try_from(call)?;
        let request = rank.input(|rank, work| Ok(rank.call(call, work)?))?;
        out.write(request.into());
        Ok(())
    })
}

/// Sends a message with its data, if that is possible now: then it is complete, and no request is left of it.
/// `EMPTY` if it is not, and nothing has been done. The call's kind has to be `SEND`, and is not looked at.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_send_eagerly(
    rank: *mut carrousel_rank,
    call: Option<&carrousel_call>,
) -> carrousel_error {
    object::enter(rank, |rank| {
        let send = call.ok_or(carrousel_error::NullPointer)?.send()?;
        let sent = rank.input(|rank, work| Ok(rank.send_eagerly(&send, work)?))?;
        if sent { Ok(()) } else { Err(carrousel_error::Empty.into()) }
    })
}

/// Receives a message that has arrived with its data, if there is one: then the receive is complete, and no
/// request is left of it. `EMPTY` if there is none. The call's kind has to be `RECEIVE`, and is not looked
/// at.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_receive_kept(
    rank: *mut carrousel_rank,
    call: Option<&carrousel_call>,
    status: Option<&mut MaybeUninit<carrousel_status>>,
) -> carrousel_error {
    object::enter(rank, |rank| {
        let receive = call.ok_or(carrousel_error::NullPointer)?.receive()?;
        let out = status.ok_or(carrousel_error::NullPointer)?;
        let status = rank.input(|rank, work| Ok(rank.receive_kept(&receive, work)?))?;
        tell(status.map(Into::into), Some(out))
    })
}

/// Receives an eager message of `len` bytes, without 8 bytes beside its own, that has come just now, if a
/// receive like this would get it: then it is complete, and no request is left of it. `EMPTY` if not; then
/// the message is an event.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_receive_next(
    rank: *mut carrousel_rank,
    call: Option<&carrousel_call>,
    envelope: Option<&carrousel_envelope>,
    len: u64,
    status: Option<&mut MaybeUninit<carrousel_status>>,
) -> carrousel_error {
    object::enter(rank, |rank| {
        let receive = call.ok_or(carrousel_error::NullPointer)?.receive()?;
        let envelope = *envelope.ok_or(carrousel_error::NullPointer)?;
        let out = status.ok_or(carrousel_error::NullPointer)?;
        let status = rank.input(|rank, work| {
            rank.check_peer(receive.from)?;
            Ok(rank.receive_next(&receive, envelope.into(), len, work))
        })?;
        tell(status.map(Into::into), Some(out))
    })
}

/// The network reports. Packets of one peer, context and direction come in the order in which they were sent.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_event(
    rank: *mut carrousel_rank,
    event: Option<&carrousel_event>,
) -> carrousel_error {
    let growth =
        if event.is_some_and(carrousel_event::ends_many) { MANY } else { <carrousel_rank as Kind>::GROWTH };
    object::enter_growing(
        rank,
        growth,
        |_| Ok(0),
        |rank| {
            let event = Event::try_from(event.ok_or(carrousel_error::NullPointer)?)?;
            if let Event::Lost(peer) = event {
                rank.rank.check_peer(Source::Rank(peer))?;
            }
            rank.input(|rank, work| Ok(rank.event(event, work)?))
        },
    )
}

/// The next thing to do. `EMPTY` if nothing is left.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_next_work(
    rank: *mut carrousel_rank,
    work: Option<&mut MaybeUninit<carrousel_work>>,
) -> carrousel_error {
    object::enter(rank, |rank| rank.work.next_by(work, carrousel_work::write))
}

/// The first receive that may be announced now. A host that speculates asks after each call and event, and
/// answers with the event `ANNOUNCE` until it is `EMPTY`. Not to announce, or later, is safe.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_may_announce(
    rank: *mut carrousel_rank,
    request: Option<&mut MaybeUninit<carrousel_handle>>,
) -> carrousel_error {
    object::enter(rank, |rank| tell(rank.rank.may_announce().map(Into::into), request))
}

/// How a request has ended; `INCOMPLETE` if it has not.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_status(
    rank: *mut carrousel_rank,
    request: carrousel_handle,
    status: Option<&mut MaybeUninit<carrousel_status>>,
) -> carrousel_error {
    object::enter(rank, |rank| complete(rank.rank.status(request.into())?.copied(), status))
}

/// Releases a complete request, and tells how it has ended; `INCOMPLETE` leaves it as it is.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_release(
    rank: *mut carrousel_rank,
    request: carrousel_handle,
    status: Option<&mut MaybeUninit<carrousel_status>>,
) -> carrousel_error {
    object::enter(rank, |rank| {
        if status.is_none() {
            return Err(carrousel_error::NullPointer.into());
        }
        complete(rank.rank.release(request.into())?, status)
    })
}

#[inline]
fn complete(status: Option<Status>, out: Option<&mut MaybeUninit<carrousel_status>>) -> Result<(), Fault> {
    let status = status.ok_or(carrousel_error::Incomplete)?;
    tell(Some(status.into()), out)
}

/// The first message that a receive like this would get now (`MPI_Iprobe`), or `EMPTY`.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_probe(
    rank: *mut carrousel_rank,
    pattern: Option<&carrousel_pattern>,
    arrived: Option<&mut MaybeUninit<carrousel_arrived>>,
) -> carrousel_error {
    object::enter(rank, |rank| {
        let pattern = (*pattern.ok_or(carrousel_error::NullPointer)?).into();
        tell(rank.rank.probe(&pattern).map(Into::into), arrived)
    })
}

/// Claims the first message that a receive like this would get now (`MPI_Improbe`), or `EMPTY`. `request` is
/// the one that receives or discards it. A context of the library has no messages of the application.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_claim(
    rank: *mut carrousel_rank,
    pattern: Option<&carrousel_pattern>,
    request: Option<&mut MaybeUninit<carrousel_handle>>,
    arrived: Option<&mut MaybeUninit<carrousel_arrived>>,
) -> carrousel_error {
    object::enter(rank, |rank| {
        let pattern = Pattern::from(*pattern.ok_or(carrousel_error::NullPointer)?);
        let (Some(request), Some(arrived)) = (request, arrived) else {
            return Err(carrousel_error::NullPointer.into());
        };
        if pattern.context.is_collective() {
            return Err(carrousel_error::UnknownValue.into());
        }
        let communicator = pattern.context.communicator();
        let claimed =
            rank.input(|rank, work| Ok(rank.claim(pattern.source, pattern.tag, communicator, work)))?;
        let Some((own, message)) = claimed else { return Err(carrousel_error::Empty.into()) };
        request.write(own.into());
        arrived.write(message.into());
        Ok(())
    })
}

/// Makes a communicator known, so that its collectives can be called: `len` members, in the order of their
/// numbers in it, the same at each of them. `CARROUSEL_WORLD` is known from the beginning.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_define(
    rank: *mut carrousel_rank,
    number: u32,
    members: *const u32,
    len: usize,
) -> carrousel_error {
    let measure = |rank: &carrousel_rank| {
        // A table has a place for each rank between the lowest and the highest member.
        Ok(list_of(members, len, rank.rank.ranks())?
            .saturating_add(rank.rank.ranks() as usize * size_of::<u32>()))
    };
    object::enter_growing(rank, <carrousel_rank as Kind>::GROWTH, measure, |rank| {
        let communicator = communicator(number)?;
        let members: Vec<RankId> = array(members, len)?.iter().copied().map(RankId).collect();
        rank.input(|rank, work| {
            let members = Members::new(&members, rank.ranks())?;
            Ok(rank.define(communicator, members, work)?)
        })
    })
}

/// Forgets a communicator that no member uses any more, so that its number can be defined again.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_forget(rank: *mut carrousel_rank, number: u32) -> carrousel_error {
    object::enter(rank, |rank| {
        let communicator = communicator(number)?;
        Ok(rank.rank.forget(communicator)?)
    })
}

/// Whether a communicator can be forgotten as far as this rank knows: if not, it is `IN_USE`.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_may_forget(rank: *mut carrousel_rank, number: u32) -> carrousel_error {
    object::enter(rank, |rank| {
        let communicator = communicator(number)?;
        if rank.rank.may_forget(communicator) { Ok(()) } else { Err(carrousel_error::InUse.into()) }
    })
}

/// The lost rank because of which a receive from `source` that finds no message would fail, or `EMPTY`.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_lost_for(
    rank: *mut carrousel_rank,
    source: u32,
    number: u32,
    lost: Option<&mut MaybeUninit<u32>>,
) -> carrousel_error {
    object::enter(rank, |rank| {
        let found = rank.rank.lost_for(of_source(source), communicator(number)?);
        tell(found.map(|peer| peer.0), lost)
    })
}

/// Whether all that has arrived has to be given to the rank before it makes this call (initial progress):
/// `needed` gets 1 or 0. Without it nothing goes wrong, but no data moves while both sides compute.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_needs_initial_progress(
    rank: *mut carrousel_rank,
    call: Option<&carrousel_call>,
    needed: Option<&mut MaybeUninit<u32>>,
) -> carrousel_error {
    object::enter(rank, |rank| {
        let call = Call::try_from(call.ok_or(carrousel_error::NullPointer)?)?;
        tell(Some(rank.rank.needs_initial_progress(&call).into()), needed)
    })
}

/// Bytes that a collective needs.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_schedule {
    /// Of the source.
    pub source_len: u64,
    /// Of the target.
    pub target_len: u64,
    /// Of the scratch.
    pub scratch_len: u64,
}

/// What a collective needs at this rank.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_schedule(
    rank: *mut carrousel_rank,
    call: Option<&carrousel_call>,
    schedule: Option<&mut MaybeUninit<carrousel_schedule>>,
) -> carrousel_error {
    object::enter(rank, |rank| {
        let call = call.ok_or(carrousel_error::NullPointer)?.collective()?;
        let its = rank.rank.schedule(&call)?;
        let (source_len, target_len) = its.source_and_target_len();
        tell(Some(carrousel_schedule { source_len, target_len, scratch_len: its.scratch_len() }), schedule)
    })
}

/// Writes how far a request is, for a person. It ends with 0; `needed` gets its bytes.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_progress_text(
    rank: *mut carrousel_rank,
    request: carrousel_handle,
    buffer: *mut c_char,
    len: usize,
    needed: Option<&mut MaybeUninit<usize>>,
) -> carrousel_error {
    object::enter(rank, |rank| {
        let request = request.into();
        let progress = rank.rank.progress_of(request).ok_or(UsageError::NoSuchRequest(request))?;
        match text(&progress, buffer, len, needed) {
            carrousel_error::None => Ok(()),
            error => Err(error.into()),
        }
    })
}

/// The request of the application that is not complete and comes first, or after `after` if that is given; or
/// `EMPTY`.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_pending(
    rank: *mut carrousel_rank,
    after: Option<&carrousel_handle>,
    request: Option<&mut MaybeUninit<carrousel_handle>>,
) -> carrousel_error {
    object::enter(rank, |rank| {
        let next = rank.rank.pending().find(|pending| after.is_none_or(|after| pending.index > after.index));
        tell(next.map(Into::into), request)
    })
}

/// What a setup is without promises and neighbours.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_window_setup_default(
    setup: Option<&mut MaybeUninit<carrousel_window_setup>>,
) -> carrousel_error {
    let Some(setup) = setup else { return carrousel_error::NullPointer };
    setup.write((&WindowSetup::default()).into());
    carrousel_error::None
}

/// Makes a window. All ranks of the job make the same ones in the same order; `window` gets its number.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_create_window(
    rank: *mut carrousel_rank,
    setup: Option<&carrousel_window_setup>,
    window: Option<&mut MaybeUninit<u32>>,
) -> carrousel_error {
    let measure = |rank: &carrousel_rank| extra(rank.rank.ranks(), setup);
    object::enter_growing(rank, <carrousel_rank as Kind>::GROWTH, measure, |rank| {
        let setup = setup.map_or(Ok(WindowSetup::default()), WindowSetup::try_from)?;
        let window = window.ok_or(carrousel_error::NullPointer)?;
        rank.work.check_taken()?;
        window.write(rank.rank.create_window(setup).0);
        Ok(())
    })
}

/// The application calls on a window. `called` gets a `carrousel_called`, `request` the request if there is
/// one.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_window_call(
    rank: *mut carrousel_rank,
    window: u32,
    call: Option<&carrousel_window_call>,
    called: Option<&mut MaybeUninit<u32>>,
    request: Option<&mut MaybeUninit<carrousel_handle>>,
) -> carrousel_error {
    let measure = |rank: &carrousel_rank| extra_of(call, rank.rank.ranks());
    object::enter_growing(rank, MANY, measure, |rank| {
        let call = call.ok_or(carrousel_error::NullPointer)?;
        let (Some(called), Some(request)) = (called, request) else {
            return Err(carrousel_error::NullPointer.into());
        };
        let done = call
            .with(|call| rank.input(|rank, work| Ok(rank.call_window(WindowIndex(window), call, work)?)))?;
        let (kind, own) = match done {
            Called::Done => (carrousel_called::Done, carrousel_handle::default()),
            Called::Request(own) => (carrousel_called::Request, own.into()),
            Called::Flush(_) => (carrousel_called::Flush, carrousel_handle::default()),
        };
        called.write(kind as u32);
        request.write(own);
        Ok(())
    })
}

/// The network reports what concerns a window.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_window_event(
    rank: *mut carrousel_rank,
    window: u32,
    event: Option<&carrousel_window_event>,
) -> carrousel_error {
    object::enter_growing(
        rank,
        MANY,
        |_| Ok(0),
        |rank| {
            let event = event.ok_or(carrousel_error::NullPointer)?.try_into()?;
            rank.input(|rank, work| Ok(rank.event_window(WindowIndex(window), event, work)?))
        },
    )
}

/// Whether a flush without a request is over: `INCOMPLETE` if not, `PEER_LOST` if an operation of it has
/// failed.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_rank_is_flushed(
    rank: *mut carrousel_rank,
    window: u32,
    target: u32,
    is_local: u32,
) -> carrousel_error {
    object::enter(rank, |rank| {
        let flush = flush(target, is_local)?;
        over(rank.rank.is_flushed(WindowIndex(window), flush.into()).ok())
    })
}
