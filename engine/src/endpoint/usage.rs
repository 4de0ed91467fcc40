//! The parts of an endpoint for the option `check_usage`: call sites of sends, and messages that were not received.

use super::Endpoint;
use super::pending::Awaited;
use crate::site::CallSite;
use carrousel_options::CheckUsage;
use carrousel_rank::{Context, Envelope, Pattern, RankId, Source, Tag, TagSelector};
use std::collections::BTreeMap;

/// Messages from one rank with one tag that were not received.
#[derive(Clone, Copy, Debug)]
pub struct LeftBehind {
    /// The sender.
    pub from: RankId,
    /// Their communicator.
    pub context: Context,
    /// Their tag.
    pub tag: Tag,
    /// Their number.
    pub count: u32,
    /// The bytes of the first one.
    pub bytes: u64,
}

impl Endpoint {
    /// From now on call sites are recorded: for reports, and for calls on behalf of others.
    pub fn observe(&mut self) {
        self.driver.observe();
    }

    /// Sets the reaction to usage errors that no rank can see alone.
    pub fn set_check_usage(&mut self, check: CheckUsage) {
        self.check_usage = check;
        self.driver.log_sends(check != CheckUsage::Off);
    }

    /// The reaction to usage errors that no rank can see alone.
    pub fn check_usage(&self) -> CheckUsage {
        self.check_usage
    }

    /// Waits until all messages of this rank have arrived, or are at least where their receiver polls next.
    pub fn drain(&mut self, site: CallSite) {
        self.block_until(Awaited::Any, site, |endpoint| (!endpoint.has_undelivered()).then_some(()));
    }

    /// Whether a message of this rank is not even where its receiver polls next.
    pub(super) fn has_undelivered(&mut self) -> bool {
        !self.undelivered_to().is_empty()
    }

    /// The messages of the application that no receive has matched, by sender, communicator and tag. Called after a barrier
    /// behind which all ranks have drained their sends.
    pub fn left_behind(&mut self) -> Vec<LeftBehind> {
        self.poll_until_idle();
        let mut kinds: BTreeMap<Envelope, u32> = BTreeMap::new();
        for envelope in self.driver.rank.unexpected().filter(|envelope| !envelope.context.is_collective()) {
            *kinds.entry(*envelope).or_default() += 1;
        }
        let left = kinds.into_iter().map(|(Envelope { source, tag, context }, count)| {
            let pattern = Pattern { source: Source::Rank(source), tag: TagSelector::exact(tag), context };
            let bytes = self.driver.rank.probe(&pattern).map_or(0, |arrived| arrived.len);
            LeftBehind { from: source, context, tag, count, bytes }
        });
        left.collect()
    }

    /// The call site of the first of the last `count` messages with this envelope, if it is known.
    pub fn sent_at(&self, to: u32, context: Context, tag: Tag, count: u32) -> Option<CallSite> {
        self.driver.send_sites()?.first_of_last(RankId(to), context, tag, count)
    }
}
