//! How calls wait: by progress, by blocking where that helps, and by the slow path of a long wait, which checks that
//! peers are alive and reports to the launcher.

use super::launcher::{Launcher, Waiting, WaitingRequest};
use super::pending::{Awaited, What};
use super::transports::Transports;
use super::{Endpoint, Found};
use crate::Error;
use crate::error::BoxedError;
use crate::site::{Caller, Located};
use carrousel_rank::{Handle, RankId, Source, Status, TagSelector};
use carrousel_transport::{Arrival, NetworkOut};
use std::collections::BTreeSet;
use std::time::Duration;

/// The duration of a wait for any rank after which unconnected ranks are watched, too.
const LONG: Duration = Duration::from_secs(1);
/// The number of unconnected ranks that each turn of the slow path begins to watch.
const STRANGERS: usize = 1;

impl Endpoint {
    /// Waits for a request and ends it, see [`Endpoint::finish`].
    #[inline]
    pub fn wait<T>(
        &mut self,
        request: Handle,
        at: impl Located,
        read: impl Fn(&Status) -> T,
    ) -> Result<T, BoxedError> {
        self.block_until(Awaited::Request(request), at, |endpoint| endpoint.finish(request, &read))
    }

    /// Waits for a message that such a receive would get.
    pub fn wait_for_message(
        &mut self,
        caller: Caller<'_>,
        from: Source,
        tag: TagSelector,
    ) -> Result<Found, BoxedError> {
        self.wait_to_find(caller, from, tag, |endpoint| endpoint.probe(caller.id(), from, tag))
    }

    /// The first message that such a receive would get, after progress.
    pub fn probe_now(
        &mut self,
        caller: Caller<'_>,
        from: Source,
        tag: TagSelector,
    ) -> Result<Option<Found>, BoxedError> {
        self.find_now(caller, from, tag, |endpoint| endpoint.probe(caller.id(), from, tag))
    }

    /// Waits until `find` finds a message that such a receive would get. Fails as a receive from a lost rank would.
    pub(super) fn wait_to_find<T>(
        &mut self,
        caller: Caller<'_>,
        from: Source,
        tag: TagSelector,
        find: impl Fn(&mut Self) -> Option<T>,
    ) -> Result<T, BoxedError> {
        self.block_until(Awaited::Message(from, tag), caller, |endpoint| {
            let found = find(endpoint).map(Ok);
            found.or_else(|| endpoint.check_source(caller, from, tag).err().map(Err))
        })
    }

    /// The message that `find` finds, if it finds one after progress. Fails as a receive from a lost rank would.
    pub(super) fn find_now<T>(
        &mut self,
        caller: Caller<'_>,
        from: Source,
        tag: TagSelector,
        find: impl Fn(&mut Self) -> Option<T>,
    ) -> Result<Option<T>, BoxedError> {
        self.poll_unblocked(Some((Awaited::Message(from, tag), caller.site())));
        let found = find(self);
        if found.is_none() {
            self.check_source(caller, from, tag)?;
        }
        Ok(found)
    }

    /// Fails as a receive from a lost rank does, or from one that does not exist: no message comes.
    fn check_source(&mut self, caller: Caller<'_>, from: Source, tag: TagSelector) -> Result<(), BoxedError> {
        if let Err(mistake) = self.driver.rank.check_peer(from) {
            return Err(self.refused(mistake, &What::Probe { from, tag }, caller));
        }
        match self.driver.rank.lost_for(from, caller.id()) {
            Some(lost) => Err(self.gone(lost)),
            None => Ok(()),
        }
    }

    /// The slow path: actions that are too expensive for every poll. `idles` if the last arrival is long ago.
    #[cold]
    pub(super) fn slow_path(&mut self, idles: bool) {
        self.watch_awaited();
        self.node.check();
        self.clock.read();
        self.flush_trace();
        if let Some(mut launcher) = self.launcher.take() {
            if let Err(error) = self.poll_launcher(&mut launcher, idles) {
                self.driver.resources.errors.without(error);
            }
            self.launcher = Some(launcher);
        }
    }

    /// Watches the awaited ranks. A wait for any rank watches the unconnected ones one at a time, and only once the
    /// wait is long: each look-up asks the launcher, and all waiting ranks do so.
    fn watch_awaited(&mut self) {
        let mut awaited = BTreeSet::new();
        let mut any = false;
        let pending = self.driver.rank.pending().map(|request| self.pending.known(request).what);
        for what in pending.chain(self.probed()) {
            match what {
                What::Send { to: peer, .. }
                | What::Claim { from: peer, .. }
                | What::Receive { from: Source::Rank(peer), .. }
                | What::Probe { from: Source::Rank(peer), .. } => {
                    awaited.insert(peer);
                }
                What::Receive { from: Source::Any, .. }
                | What::Probe { from: Source::Any, .. }
                | What::Collective(_) => any = true,
            }
        }
        let me = self.driver.resources.me;
        let transports = &mut Transports::of(&mut self.node, &mut self.net);
        let names = self.names.as_ref();
        // A peer that nobody has named or heard of has no address yet, and is not lost for that.
        let is_known = |peer: &RankId| names.is_none_or(|names| names.knows(*peer));
        let unseen = |peer: &RankId, transports: &Transports<'_>| {
            *peer != me && is_known(peer) && !transports.is_watched(*peer)
        };
        for peer in awaited {
            if unseen(&peer, transports) {
                self.driver.resources.watch(peer, transports);
            }
        }
        // An endpoint that is told names has peers that come and go; whoever has ended before it was met is no loss.
        let asks_for_all = match &self.launcher {
            Some(launcher) => launcher.waits_for(LONG),
            None => names.is_none(),
        };
        if any && asks_for_all {
            let strangers =
                self.neighbours.iter().copied().filter(|peer| unseen(peer, transports)).take(STRANGERS);
            for peer in strangers.collect::<Vec<_>>() {
                self.driver.resources.watch(peer, transports);
            }
        }
    }

    fn poll_launcher(&mut self, launcher: &mut Launcher, idles: bool) -> Result<(), Error> {
        if idles && let Some(waiting) = launcher.wait_on().and_then(|waited| self.waiting(waited)) {
            launcher.tell(&waiting)?;
        }
        for (rank, process_goes_on) in launcher.lost()? {
            let transports = &mut Transports::of(&mut self.node, &mut self.net);
            // A process that has become another program keeps its number, and answers no more.
            if process_goes_on && transports.shm.serves(rank) {
                transports.shm.abandon(rank);
                continue;
            }
            // The transport reports the end of a watched rank itself, after all that the rank had sent.
            if transports.shm.serves(rank) {
                if !transports.is_watched(rank) {
                    self.driver.resources.watch(rank, transports);
                }
                continue;
            }
            match &mut transports.net {
                Some(net) => net.has_ended(rank),
                None => self.driver.arrival(Arrival::Lost(rank), &[] as &[u8], transports),
            }
        }
        Ok(())
    }

    /// The current call, if it is a probe.
    fn probed(&self) -> Option<What> {
        match self.awaited {
            Some((Awaited::Message(from, tag), _)) => Some(What::Probe { from, tag }),
            _ => None,
        }
    }

    /// The hang report of the current call.
    fn waiting(&self, waited: Duration) -> Option<Waiting> {
        let (awaited, site) = self.awaited?;
        let requests = self.driver.rank.pending().map(|request| {
            let known = self.pending.known(request);
            let state = self.driver.rank.progress_of(request).unwrap_or("complete");
            let started = Some(self.started_at(request)).filter(|started| *started != site);
            WaitingRequest::new(
                &known.what,
                self.tag_text,
                state,
                started,
                awaited == Awaited::Request(request),
            )
        });
        let none = "no such message has come";
        let probed = self.probed().map(|what| WaitingRequest::new(&what, self.tag_text, none, None, true));
        let requests = requests.chain(probed).collect();
        let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        Some(Waiting { rank: self.driver.resources.me.0, waited_ms, place: site.into(), requests })
    }
}
