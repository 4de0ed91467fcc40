//! Progress: the one place where an endpoint looks for what has arrived.
//!
//! | a call that .. | looks by |
//! | --- | --- |
//! | starts what may be a rendezvous | `poll_until_idle`: all that has arrived (speculative-rendezvous 4.2.1) |
//! | starts what stays eager | `poll_seldom`, which takes the slow path once a second |
//! | tests or probes | `poll_unblocked`, which may linger, takes the slow path once a period, and offers the processor if another rank waits for it |
//! | is one turn of another library, which may wait | [`Endpoint::progress`], the same |
//! | waits | [`Endpoint::block_until`] |
//! | waits for a receive that has no request | `poll_next` |
//! | is one turn of a task that waits | [`Endpoint::poll_or_block`] |
//! | is made by a thread that does nothing else | [`Endpoint::poll`] |

use super::Endpoint;
use super::arrivals::{FromNet, FromShm, NextFromShm, Wanted};
use super::launcher::Launcher;
use super::pending::Awaited;
use super::transports::Transports;
use super::wait_strategy::{PERIOD, WaitStep, WaitStrategy};
use crate::backends::AnyNetwork;
use crate::site::{CallSite, Located};
use carrousel_transport::Transport;

impl Endpoint {
    /// Processes what has arrived. Returns whether anything had.
    #[inline]
    pub fn poll(&mut self) -> bool {
        self.poll_inlined(false)
    }

    /// As [`Endpoint::poll`], but takes from a rank of this node no more messages than there are receives. Others stay in
    /// their ring, from where their receive will get them without a copy in between.
    #[inline(always)]
    fn poll_expected(&mut self) -> bool {
        self.poll_inlined(true)
    }

    /// As [`Endpoint::poll`], or [`Endpoint::poll_expected`], for callers that poll more often than they do anything else.
    #[inline(always)]
    pub(super) fn poll_inlined(&mut self, only_expected: bool) -> bool {
        let Self { node, net, driver, clock, .. } = self;
        let local = driver.local(&mut Transports::of(node, net));
        let from_net = net.as_mut().map(AnyNetwork::out);
        let taken = node.poll(clock.now(), &mut FromShm { driver, net: from_net, only_expected });
        local + taken + self.poll_net() > 0
    }

    /// As [`Endpoint::poll`], but the next message from a rank of this node may be for a receive without a request.
    #[inline(always)]
    pub(super) fn poll_next(&mut self, wanted: &mut Wanted<'_>) -> bool {
        let Self { node, net, driver, clock, .. } = self;
        let local = driver.local(&mut Transports::of(node, net));
        let from_net = net.as_mut().map(AnyNetwork::out);
        let shm = FromShm { driver, net: from_net, only_expected: false };
        let taken = node.poll(clock.now(), &mut NextFromShm { shm, wanted });
        local + taken + self.poll_net() > 0
    }

    /// Processes what has arrived from other nodes. Returns how much.
    #[inline(always)]
    fn poll_net(&mut self) -> usize {
        let Self { node, net: Some(net), driver, clock, .. } = self else { return 0 };
        let taken = net.poll(clock.now(), &mut FromNet { driver, shm: node.out() });
        self.reap_zcopy();
        taken
    }

    /// Progress for a call that stays eager: always while a rendezvous of this rank is open, because its peer may wait for
    /// an answer; otherwise in one call of many, because an application that only starts messages must learn what its
    /// peers have seen of them, too.
    #[inline(never)]
    pub(super) fn poll_seldom(&mut self) {
        self.poll_seldom_inlined();
    }

    /// As [`Endpoint::poll_seldom`], for callers that have nothing to save for a call.
    #[inline(always)]
    pub(super) fn poll_seldom_inlined(&mut self) {
        const CALLS: u32 = 32;
        self.calls = self.calls.wrapping_add(1);
        if self.pending.has_rendezvous() || self.calls.is_multiple_of(CALLS) {
            self.poll_apart();
        }
    }

    /// As [`Endpoint::poll`], out of line: what a poll saves on the stack, callers that do not poll would save, too. An empty
    /// one looks for peers that have ended.
    #[inline(never)]
    fn poll_apart(&mut self) -> bool {
        let has_arrival = self.poll();
        if !has_arrival {
            self.look_for_ends();
        }
        has_arrival
    }

    /// Checks once a second whether peers live: for calls that start messages, whose program may make no others. Later polls
    /// report the peers that have ended.
    #[inline]
    pub fn look_for_ends(&mut self) {
        if self.starts_timer.is_due(|| false) {
            self.slow_path(false);
        }
    }

    /// Initial progress (speculative-rendezvous 4.2.1): processes all that has arrived before a call that may be a
    /// rendezvous. Later arrivals may be processed too, but do not delay the call.
    #[inline(never)]
    pub(super) fn poll_until_idle(&mut self) {
        // A bound, so that a peer that sends all the time does not keep this rank from its call: rings hold less.
        const TURNS: u32 = 1 << 12;
        for _ in 0..TURNS {
            if !self.poll_inlined(false) {
                break;
            }
        }
    }

    /// Progress for a call that does not wait. A program may repeat such a call until a message arrives: so it takes the
    /// slow path once a period, and learns that a peer has ended; and where another rank waits for the processor it gives it to
    /// others now and then, of which one may be the sender. Whether it has taken the slow path.
    #[inline(always)]
    pub(super) fn poll_unblocked(&mut self, awaited: Option<(Awaited, CallSite)>) -> bool {
        let is_due = !self.poll_inlined(false) && !self.lingers() && {
            let Self { slow_path_timer, crowd, node, .. } = self;
            slow_path_timer.is_due(|| crowd.look(node))
        };
        if is_due {
            self.awaited = awaited;
            self.slow_path(false);
        }
        is_due
    }

    /// After an empty poll: goes on to look for messages of this node for a moment, if one is likely to complete the receive
    /// that has begun last, and processes them. Returns whether anything had arrived. The sender may need this
    /// processor if another rank waits for it.
    #[inline(always)]
    fn lingers(&mut self) -> bool {
        self.lingering.is_possible() && self.linger()
    }

    #[cold]
    #[inline(never)]
    fn linger(&mut self) -> bool {
        let Some(request) = self.lingering.request().filter(|_| !self.crowd.is_there()) else { return false };
        if self.driver.rank.status(request) != Ok(None) || !self.lingering.is_due() {
            return false;
        }
        let has_arrival = self.node.linger() && self.poll_apart();
        self.lingering.end(self.driver.rank.status(request) != Ok(None));
        has_arrival
    }

    /// Lets messages move, and checks once a period whether peers live, as tests and probes do. Whether it has checked. For a
    /// caller that does nothing else.
    #[inline(always)]
    pub fn progress(&mut self) -> bool {
        self.poll_unblocked(None)
    }

    /// The wait strategy of this rank.
    #[inline]
    pub fn strategy(&self) -> WaitStrategy {
        WaitStrategy::new(self.crowd.is_there(), self.can_block)
    }

    /// Progress for a call that waits; after an empty poll, what the wait strategy says.
    #[inline]
    pub fn poll_or_block(&mut self, strategy: &mut WaitStrategy, awaited: Awaited, at: impl Located) {
        if self.poll_expected() {
            return strategy.reset();
        }
        match strategy.empty_poll() {
            WaitStep::Spin => {}
            WaitStep::Look => strategy.set_crowded(self.crowd.look(&self.node)),
            WaitStep::LongWait => {
                self.launcher.iter_mut().for_each(Launcher::begin);
            }
            step @ (WaitStep::SlowPath | WaitStep::BusySlowPath) => {
                self.awaited = Some((awaited, at.site()));
                self.slow_path(step == WaitStep::SlowPath);
            }
            WaitStep::Block => self.block(strategy),
        }
    }

    /// Blocks until something arrives.
    #[cold]
    fn block(&mut self, strategy: &mut WaitStrategy) {
        let Self { node, net, driver, clock, .. } = self;
        let now = clock.read();
        let waits = [node.next_poll(), net.as_ref().and_then(|net| net.next_poll())];
        let next = waits.into_iter().flatten().min();
        let timeout = next.map_or(PERIOD, |next| PERIOD.min(next.saturating_sub(now)));
        let count = match net {
            Some(net) => net.sleep(now, &mut FromNet { driver, shm: node.out() }, timeout),
            None => node.sleep(now, &mut FromShm { driver, net: None, only_expected: true }, timeout),
        };
        if count > 0 {
            strategy.reset();
        }
        self.reap_zcopy();
    }

    /// Blocks until `ready` has a value: polls, and after an empty poll does what the wait strategy says. `awaited` and the
    /// call site are for hang reports.
    #[inline]
    pub fn block_until<T>(
        &mut self,
        awaited: Awaited,
        at: impl Located,
        mut ready: impl FnMut(&mut Self) -> Option<T>,
    ) -> T {
        let mut strategy = self.strategy();
        loop {
            if let Some(value) = ready(self) {
                return value;
            }
            self.poll_or_block(&mut strategy, awaited, at);
        }
    }

    /// Ends the zero-copy sends whose memory the adapter has read.
    #[inline]
    fn reap_zcopy(&mut self) {
        let Self { net: Some(net), driver, .. } = self else { return };
        while let Some(key) = net.zcopy_done() {
            driver.resources.registry.end_zcopy(key);
        }
    }
}
