//! What a rank knows for the checks of the option `check_usage`: where it has sent, and what it has not received.

use super::Endpoint;
use super::pending::Awaited;
use super::transports::Transports;
use crate::site::CallSite;
use carrousel_options::CheckUsage;
use carrousel_rank::{Context, Envelope, Pattern, RankId, Source, Tag, TagSelector};
use std::collections::BTreeMap;

/// Messages of one rank with one tag that were not received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeftBehind {
    pub(crate) from: RankId,
    pub(crate) context: Context,
    pub(crate) tag: Tag,
    pub(crate) count: u32,
    /// Of the first one.
    pub(crate) bytes: u64,
}

impl Endpoint {
    /// From now on calls may be made on behalf of another place than that where the library is called.
    pub(crate) fn observe(&mut self) {
        self.driver.observe();
    }

    /// From now on, this is done about wrong use that no rank sees alone.
    pub(crate) fn set_check_usage(&mut self, check: CheckUsage) {
        self.check_usage = check;
        self.driver.log_sends(check != CheckUsage::Off);
    }

    /// What is done about wrong use that no rank sees alone.
    pub(crate) fn check_usage(&self) -> CheckUsage {
        self.check_usage
    }

    /// Waits until all that this rank has sent has arrived, or at least lies where its receiver looks next.
    pub(crate) fn drain(&mut self, site: CallSite) {
        let mut strategy = self.strategy();
        while self.has_undelivered() {
            self.progress_or_wait(&mut strategy, Awaited::Any, site);
        }
    }

    fn has_undelivered(&mut self) -> bool {
        let transports = Transports::of(&mut self.node, &mut self.net);
        // A rank that has finished has had what it needs: there is no more than news of what was taken.
        transports.shm.drop_for_finished();
        transports.is_waiting() || self.net.as_mut().is_some_and(|net| net.is_busy())
    }

    /// The messages of the application that have arrived and have no receive, behind a barrier of ranks that have
    /// drained theirs: of each sender, communicator and tag.
    pub(crate) fn left_behind(&mut self) -> Vec<LeftBehind> {
        self.progress_until_idle();
        let mut kinds: BTreeMap<Envelope, u32> = BTreeMap::new();
        for envelope in self.driver.rank.unexpected().filter(|envelope| !envelope.context.is_collective()) {
            *kinds.entry(*envelope).or_default() += 1;
        }
        let left = kinds.into_iter().map(|(Envelope { source, tag, context }, count)| {
            let pattern = Pattern { source: Source::Rank(source), tag: TagSelector::Tag(tag), context };
            let bytes = self.driver.rank.probe(&pattern).map_or(0, |(_, bytes)| bytes);
            LeftBehind { from: source, context, tag, count, bytes }
        });
        left.collect()
    }

    /// Where the first of the last `count` messages of a kind was sent, if that is known.
    pub(crate) fn sent_at(&self, to: u32, context: Context, tag: Tag, count: u32) -> Option<CallSite> {
        self.driver.send_sites()?.first_of_last(RankId(to), context, tag, count)
    }
}
