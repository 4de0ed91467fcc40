//! The windows of a rank: its epochs, whose requests stand beside those of messages.
//!
//! A window keeps its epochs ([`carrousel_epoch::Window`]). What it needs of a rank are names for its requests, so that a
//! program waits for epochs, flushes and messages in one call, and news of peers that are lost.

use crate::messages::Messages;
use crate::window_work::{WindowIndex, WindowWork};
use crate::{Failure, Sink, Status, UsageError, Work};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use carrousel_epoch as epoch;
use carrousel_epoch::{AllEpochRules, EpochEventError, FlushPoint, Output, Returned, Window, WindowSetup};
use carrousel_matching::{Handle, RankId};
use carrousel_rendezvous::Protocol;

/// What a call on a window has left to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Called {
    /// Nothing: the call is complete.
    Done,
    /// A request, complete already or not.
    Request(Handle),
    /// The driver goes on until [`crate::Rank::is_flushed`].
    Flush(FlushPoint),
}

/// All windows of a rank.
///
/// Invariant: each request of a window that is not complete has a handle, and each such handle a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Windows {
    list: Vec<RankWindow>,
    /// What one call or event has brought; empty between two of them.
    outputs: Vec<Output>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct RankWindow {
    window: Window<AllEpochRules>,
    /// The names of its requests that are not complete.
    handles: BTreeMap<epoch::RequestId, Handle>,
}

impl Windows {
    /// Makes the next window.
    pub(crate) fn create(&mut self, me: RankId, ranks: u32, setup: WindowSetup) -> WindowIndex {
        let window = RankWindow { window: Window::new(me, ranks, setup), handles: BTreeMap::new() };
        self.list.push(window);
        WindowIndex(self.list.len() as u32 - 1)
    }

    pub(crate) fn get(&self, id: WindowIndex) -> Option<&Window<AllEpochRules>> {
        self.list.get(id.0 as usize).map(|window| &window.window)
    }

    pub(crate) fn call<P: Protocol>(
        &mut self,
        id: WindowIndex,
        call: epoch::Call<'_>,
        messages: &mut Messages<P>,
        out: &mut impl Sink,
    ) -> Result<Called, UsageError> {
        let Self { list, outputs } = self;
        let window = list.get_mut(id.0 as usize).ok_or(UsageError::NoSuchWindow(id))?;
        let called = match window.window.call(call, outputs)? {
            Returned::Nothing => Called::Done,
            Returned::Flush(point) => Called::Flush(point),
            Returned::Request(request) => {
                let handle = messages.open_of_window();
                window.handles.insert(request, handle);
                Called::Request(handle)
            }
        };
        window.pass_on(id, outputs, messages, out);
        Ok(called)
    }

    pub(crate) fn event<P: Protocol>(
        &mut self,
        id: WindowIndex,
        event: epoch::Event,
        messages: &mut Messages<P>,
        out: &mut impl Sink,
    ) -> Result<(), WindowError> {
        let Self { list, outputs } = self;
        let window = list.get_mut(id.0 as usize).ok_or(WindowError::NoSuchWindow(id))?;
        window.window.event(event, outputs)?;
        window.pass_on(id, outputs, messages, out);
        Ok(())
    }

    /// Tells every window that a peer is lost.
    pub(crate) fn lose<P: Protocol>(
        &mut self,
        peer: RankId,
        messages: &mut Messages<P>,
        out: &mut impl Sink,
    ) {
        for id in (0..self.list.len() as u32).map(WindowIndex) {
            let told = self.event(id, epoch::Event::Died(peer), messages, out);
            debug_assert_eq!(told, Ok(()), "a peer of the job may die");
        }
    }

    /// Asserts the invariant, in debug builds.
    pub(crate) fn check_invariants<P: Protocol>(&self, messages: &Messages<P>) {
        if cfg!(debug_assertions) {
            debug_assert_eq!(self.outputs, [], "every output is passed on");
            for handle in self.list.iter().flat_map(|window| window.handles.values()) {
                debug_assert_eq!(messages.status(*handle), Ok(None), "{handle} is complete, and waits");
            }
        }
    }
}

impl RankWindow {
    /// Completes requests, and passes everything else on.
    fn pass_on<P: Protocol>(
        &mut self,
        window: WindowIndex,
        outputs: &mut Vec<Output>,
        messages: &mut Messages<P>,
        out: &mut impl Sink,
    ) {
        for output in outputs.drain(..) {
            match output {
                Output::Complete { request, result } => {
                    let handle = self.handles.remove(&request);
                    debug_assert!(handle.is_some(), "{request} has no name");
                    let Some(handle) = handle else { continue };
                    let failure = result.err().map(|epoch::Failure::PeerDied(peer)| Failure::PeerLost(peer));
                    messages.complete(handle, Status::without_message(0, failure), out);
                }
                Output::Issue { operation, epoch, transfer, is_staged } => {
                    let work = WindowWork::Transfer { operation, epoch, transfer, is_staged };
                    out.work(Work::Window { window, work });
                }
                Output::Post { to, packet, order } => {
                    out.work(Work::Window { window, work: WindowWork::Post { to, packet, order } });
                }
                Output::Store { to, word, value } => {
                    out.work(Work::Window { window, work: WindowWork::Store { to, word, value } });
                }
                Output::Report(report) => {
                    out.work(Work::Window { window, work: WindowWork::Report(report) });
                }
            }
        }
    }
}

/// What happened outside of a window cannot have happened; nothing of it was acted upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WindowError {
    /// There is no such window here.
    #[error("window {} does not exist here", .0.0)]
    NoSuchWindow(WindowIndex),
    /// A peer's or the driver's mistake.
    #[error(transparent)]
    Event(#[from] EpochEventError),
}
