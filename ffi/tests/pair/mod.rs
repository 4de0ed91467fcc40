//! Two ranks in one process, through the C interface: whatever one posts for the other has arrived when a
//! step is over.
#![allow(dead_code, reason = "no test uses all of it")]

use carrousel_error as E;
use carrousel_ffi::*;
use std::mem::MaybeUninit;
use std::ptr;

/// What a function of C writes, if it is done.
pub(crate) fn got<T: Copy>(call: impl FnOnce(Option<&mut MaybeUninit<T>>) -> E) -> Result<T, E> {
    let mut out = MaybeUninit::uninit();
    match call(Some(&mut out)) {
        // SAFETY: a call that is done has written its result.
        E::None => Ok(unsafe { out.assume_init() }),
        error => Err(error),
    }
}

/// Whether a function of C is done.
pub(crate) fn done(error: E) -> Result<(), E> {
    if error == E::None { Ok(()) } else { Err(error) }
}

pub(crate) fn create(
    allocator: Option<&carrousel_allocator>,
    me: u32,
    ranks: u32,
) -> Result<*mut carrousel_rank, E> {
    got(|rank| carrousel_rank_create(CARROUSEL_ABI_VERSION, allocator, me, ranks, None, rank))
}

/// The next thing to do.
pub(crate) fn next_work(rank: *mut carrousel_rank) -> Result<carrousel_work, E> {
    // The library leaves fields as they are that the work does not have.
    let mut work = MaybeUninit::zeroed();
    done(carrousel_rank_next_work(rank, Some(&mut work)))?;
    // SAFETY: the fields are numbers, and none of them is without a value.
    Ok(unsafe { work.assume_init() })
}

pub(crate) fn send(tag: u64, len: u64) -> carrousel_call {
    carrousel_call { kind: carrousel_call_kind::Send as u32, peer: 1, tag, len, ..Default::default() }
}

pub(crate) fn receive(tag: u64, len: u64) -> carrousel_call {
    carrousel_call { kind: carrousel_call_kind::Receive as u32, peer: 0, tag, len, ..Default::default() }
}

pub(crate) fn call(rank: *mut carrousel_rank, call: &carrousel_call) -> Result<carrousel_handle, E> {
    got(|request| carrousel_rank_call(rank, Some(call), request))
}

pub(crate) fn packet(from: u32, context: u16, packet: carrousel_packet) -> carrousel_event {
    carrousel_event {
        kind: carrousel_event_kind::Packet as u32,
        peer: from,
        context,
        packet,
        ..Default::default()
    }
}

pub(crate) struct Pair {
    pub(crate) ranks: [*mut carrousel_rank; 2],
    /// Events that are still to come, with the ranks that they are for.
    pub(crate) coming: Vec<(usize, Coming)>,
    /// Tries every step again that was refused for want of memory, after this was called.
    pub(crate) more: Option<fn()>,
}

#[derive(Clone, Copy)]
pub(crate) enum Coming {
    Event(carrousel_event),
    Window(carrousel_window_event),
}

impl Pair {
    pub(crate) fn new(allocator: Option<&carrousel_allocator>) -> Self {
        let rank = |me| create(allocator, me, 2).expect("it can be made");
        Self { ranks: [rank(0), rank(1)], coming: Vec::new(), more: None }
    }

    /// Does something; again, with more memory, if it was refused for want of it.
    pub(crate) fn step<T>(&self, act: impl Fn() -> Result<T, E>) -> Result<T, E> {
        match (act(), self.more) {
            (Err(E::OutOfMemory), Some(more)) => {
                more();
                act()
            }
            (other, _) => other,
        }
    }

    pub(crate) fn call(&mut self, me: usize, it: &carrousel_call) -> carrousel_handle {
        let request = self.step(|| call(self.ranks[me], it)).expect("it is right");
        self.work(me);
        request
    }

    pub(crate) fn window_call(&mut self, me: usize, it: &carrousel_window_call) -> carrousel_handle {
        let request = self.step(|| {
            let mut called = MaybeUninit::uninit();
            got(|request| carrousel_rank_window_call(self.ranks[me], 0, Some(it), Some(&mut called), request))
        });
        self.work(me);
        request.expect("it is right")
    }

    fn work(&mut self, me: usize) {
        loop {
            match self.step(|| next_work(self.ranks[me])) {
                Ok(work) => self.carry_out(me, &work),
                Err(error) => {
                    assert_eq!(error, E::Empty);
                    return;
                }
            }
        }
    }

    fn carry_out(&mut self, me: usize, work: &carrousel_work) {
        use carrousel_work_kind as K;
        let from = me as u32;
        if work.has_packet == 1 {
            self.coming.push((work.peer as usize, Coming::Event(packet(from, work.context, work.packet))));
        }
        let over = |kind: carrousel_event_kind| {
            Coming::Event(carrousel_event { kind: kind as u32, request: work.request, ..Default::default() })
        };
        if work.kind == K::Write as u32 {
            self.coming.push((me, over(carrousel_event_kind::Written)));
        } else if work.kind == K::Read as u32 {
            self.coming.push((me, over(carrousel_event_kind::Read)));
        } else if work.kind == K::Window as u32 {
            self.window_work(me, &work.window_work);
        }
    }

    fn window_work(&mut self, me: usize, work: &carrousel_window_work) {
        use carrousel_window_event_kind as V;
        use carrousel_window_work_kind as K;
        let of =
            |kind: V| carrousel_window_event { kind: kind as u32, peer: me as u32, ..Default::default() };
        let (to, event) = if work.kind == K::Transfer as u32 {
            (me, carrousel_window_event { operation: work.operation, ..of(V::Complete) })
        } else if work.kind == K::Post as u32 {
            (work.peer as usize, carrousel_window_event { packet: work.packet, ..of(V::Packet) })
        } else {
            assert_eq!(work.kind, K::Store as u32);
            let granted = of(V::Granted);
            (work.peer as usize, carrousel_window_event { word: work.word, value: work.value, ..granted })
        };
        self.coming.push((to, Coming::Window(event)));
    }

    /// Until nothing is on its way.
    pub(crate) fn settle(&mut self) {
        loop {
            for me in 0..2 {
                while let Ok(request) =
                    self.step(|| got(|request| carrousel_rank_may_announce(self.ranks[me], request)))
                {
                    let kind = carrousel_event_kind::Announce as u32;
                    self.event(me, &carrousel_event { kind, request, ..Default::default() });
                }
            }
            if self.coming.is_empty() {
                return;
            }
            let (to, coming) = self.coming.remove(0);
            match coming {
                Coming::Event(event) => self.event(to, &event),
                Coming::Window(event) => {
                    let given = || done(carrousel_rank_window_event(self.ranks[to], 0, Some(&event)));
                    self.step(given).expect("it is right");
                    self.work(to);
                }
            }
        }
    }

    pub(crate) fn event(&mut self, me: usize, event: &carrousel_event) {
        let given = || done(carrousel_rank_event(self.ranks[me], Some(event)));
        self.step(given).expect("it is right");
        self.work(me);
    }

    pub(crate) fn release(&self, me: usize, request: carrousel_handle) -> Result<carrousel_status, E> {
        self.step(|| got(|status| carrousel_rank_release(self.ranks[me], request, status)))
    }
}

/// A call on a window without operands.
pub(crate) fn window_call(kind: carrousel_window_call_kind) -> carrousel_window_call {
    carrousel_window_call {
        kind: kind as u32,
        target: 0,
        mode: 0,
        with_request: 0,
        is_local: 0,
        group_len: 0,
        group: ptr::null(),
        transfer: carrousel_transfer::default(),
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for rank in &mut self.ranks {
            assert_eq!(carrousel_rank_free(Some(rank)), E::None);
            assert_eq!(*rank, ptr::null_mut());
        }
    }
}
