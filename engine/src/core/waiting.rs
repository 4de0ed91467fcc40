//! How calls wait: by taking in what arrives; by sleeping where that helps; and, when it takes long, by looking whether
//! peers are still there, and telling the launcher what is waited for.

use super::Core;
use super::arrivals::FromFar;
use super::launcher::{Launcher, Waiting, WaitingRequest};
use super::pace::{Idle, PERIOD, Pace};
use super::pending::{Awaited, What};
use super::ways::Ways;
use crate::Error;
use crate::error::Fault;
use crate::site::{CallSite, Caller, Located};
use carrousel_rank::{Handle, RankId, Source, Status, TagSelector};
use carrousel_transport::{Arrival, Transport};
use std::collections::BTreeSet;
use std::time::Duration;

/// A wait for any rank lasts so long before ranks that have not been met are looked up.
const LONG: Duration = Duration::from_secs(1);
/// How many of them, each time that it is looked around.
const STRANGERS: usize = 1;

impl Core {
    /// Waits for a request and ends it, see [`Core::finish`].
    #[inline]
    pub(crate) fn wait<T>(
        &mut self,
        request: Handle,
        at: impl Located,
        read: impl Fn(&Status) -> T,
    ) -> Result<T, Fault> {
        let mut pace = self.pace();
        loop {
            if let Some(ended) = self.finish(request, &read) {
                return ended;
            }
            self.step(&mut pace, Awaited::Request(request), at);
        }
    }

    /// Waits for a message that a receive like this would get.
    pub(crate) fn wait_for_message(
        &mut self,
        caller: Caller<'_>,
        from: Source,
        tag: TagSelector,
    ) -> Result<crate::Status, Fault> {
        let mut pace = self.pace();
        loop {
            if let Some(found) = self.probe(caller.id(), from, tag) {
                return Ok(found);
            }
            // As a receive that nobody will send to.
            self.check_source(caller, from)?;
            self.step(&mut pace, Awaited::Message(from, tag), caller);
        }
    }

    /// The first message that a receive like this would get, after a look for it.
    pub(crate) fn probe_now(
        &mut self,
        caller: Caller<'_>,
        from: Source,
        tag: TagSelector,
    ) -> Result<Option<crate::Status>, Fault> {
        self.look(Some((Awaited::Message(from, tag), caller.site())));
        let found = self.probe(caller.id(), from, tag);
        if found.is_none() {
            self.check_source(caller, from)?;
        }
        Ok(found)
    }

    /// Fails as a receive that nobody will send to does.
    fn check_source(&mut self, caller: Caller<'_>, from: Source) -> Result<(), Fault> {
        match self.hands.rank.lost_for(from, caller.id()) {
            Some(lost) => Err(self.gone(lost)),
            None => Ok(()),
        }
    }

    /// Takes in what has arrived, for a call that does not wait. A program that makes such calls until something has come
    /// must not wait for a peer that has ended.
    pub(crate) fn look(&mut self, awaited: Option<(Awaited, CallSite)>) {
        if !self.progress() && self.glances.is_due() {
            self.awaited = awaited;
            self.look_around(false);
        }
    }

    /// How to wait in this rank.
    #[inline]
    pub(crate) fn pace(&self) -> Pace {
        Pace::new(self.crowded, self.rests)
    }

    /// Takes in what has arrived, for a call that waits.
    #[inline]
    pub(crate) fn step(&mut self, pace: &mut Pace, awaited: Awaited, at: impl Located) {
        if self.progress() {
            return pace.reset();
        }
        match pace.idle() {
            Idle::Again => {}
            Idle::Begins => {
                self.launcher.iter_mut().for_each(Launcher::begin);
            }
            idle @ (Idle::Long | Idle::Seldom) => {
                self.awaited = Some((awaited, at.site()));
                self.look_around(idle == Idle::Long);
            }
            Idle::Rest => self.rest(pace),
        }
    }

    /// Sleeps until something arrives from another node.
    #[cold]
    fn rest(&mut self, pace: &mut Pace) {
        let Self { node, far: Some(far), hands, .. } = self else { return };
        if far.sleep(&mut FromFar { hands, near: node.out() }, PERIOD) > 0 {
            pace.reset();
        }
        self.take_back();
    }

    /// What is too dear to be done at every look; `idles` if the present call has waited in vain for long.
    #[cold]
    fn look_around(&mut self, idles: bool) {
        self.watch_awaited();
        self.node.check();
        self.far.iter_mut().for_each(|far| far.check());
        self.flush_trace();
        if let Some(mut launcher) = self.launcher.take() {
            if let Err(error) = self.hear(&mut launcher, idles) {
                self.hands.tools.trouble.without(error);
            }
            self.launcher = Some(launcher);
        }
    }

    /// Has the ends of the ranks noticed that are waited for. Where that may be all of them, those that have not been met
    /// are looked up one at a time, once the wait is long: each asks the launcher, and so do all ranks that wait.
    fn watch_awaited(&mut self) {
        let mut awaited = BTreeSet::new();
        let mut any = false;
        let pending = self.hands.rank.pending().map(|request| self.pending.known(request).what);
        for what in pending.chain(self.probed()) {
            match what {
                What::Send { to: peer, .. }
                | What::Receive { from: Source::Rank(RankId(peer)), .. }
                | What::Probe { from: Source::Rank(RankId(peer)), .. } => {
                    awaited.insert(RankId(peer));
                }
                What::Receive { from: Source::Any, .. }
                | What::Probe { from: Source::Any, .. }
                | What::Collective(_) => any = true,
            }
        }
        let me = self.hands.tools.me;
        let ways = &mut Ways::of(&mut self.node, &mut self.far);
        let unseen = |peer: &RankId, ways: &Ways<'_>| *peer != me && !ways.is_watched(*peer);
        for peer in awaited {
            if unseen(&peer, ways) {
                self.hands.tools.watch(peer, ways);
            }
        }
        if any && self.launcher.as_ref().is_none_or(|launcher| launcher.waits_for(LONG)) {
            let strangers = self.neighbours.iter().copied().filter(|peer| unseen(peer, ways)).take(STRANGERS);
            for peer in strangers.collect::<Vec<_>>() {
                self.hands.tools.watch(peer, ways);
            }
        }
    }

    fn hear(&mut self, launcher: &mut Launcher, idles: bool) -> Result<(), Error> {
        if idles && let Some(waiting) = launcher.wait_on().and_then(|waited| self.waiting(waited)) {
            launcher.tell(&waiting)?;
        }
        for rank in launcher.lost()? {
            let ways = &mut Ways::of(&mut self.node, &mut self.far);
            // The transport sees the end of those that it watches, once what they had sent has been taken.
            if ways.near.serves(rank) {
                if !ways.is_watched(rank) {
                    self.hands.tools.watch(rank, ways);
                }
                continue;
            }
            match &mut ways.far {
                Some(far) => far.has_ended(rank),
                None => self.hands.arrival(Arrival::Lost(rank), &[] as &[u8], ways),
            }
        }
        Ok(())
    }

    /// The probe that the present call is.
    fn probed(&self) -> Option<What> {
        match self.awaited {
            Some((Awaited::Message(from, tag), _)) => Some(What::Probe { from, tag }),
            _ => None,
        }
    }

    /// What the rank is waiting for, in the call that has waited for so long.
    fn waiting(&self, waited: Duration) -> Option<Waiting> {
        let (awaited, site) = self.awaited?;
        let requests = self.hands.rank.pending().map(|request| {
            let known = self.pending.known(request);
            let state = self.hands.rank.progress_of(request).unwrap_or("complete");
            let started = Some(self.started_at(request)).filter(|started| *started != site);
            WaitingRequest::new(&known.what, state, started, awaited == Awaited::Request(request))
        });
        let none = "no such message has come";
        let probed = self.probed().map(|what| WaitingRequest::new(&what, none, None, true));
        let requests = requests.chain(probed).collect();
        let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        Some(Waiting { rank: self.hands.tools.me.0, waited_ms, place: site.into(), requests })
    }
}
