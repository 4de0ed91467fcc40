//! The call sites of sends, for messages that nobody receives.

use crate::site::CallSite;
use carrousel_rank::{Context, RankId, Send, Tag};
use std::collections::{HashMap, VecDeque};

/// The call sites of the last sends with each envelope. Receives match the first messages, so those that are never
/// received are the last ones.
#[derive(Debug, Default)]
pub(super) struct SendSites(HashMap<(RankId, Context, Tag), VecDeque<CallSite>>);

impl SendSites {
    /// Call sites of one envelope.
    const LAST: usize = 8;
    /// Envelopes.
    const KINDS: usize = 1 << 14;

    pub(super) fn add(&mut self, send: &Send, site: CallSite) {
        let kind = (send.to, send.communicator.messages(), send.tag);
        if self.0.len() >= Self::KINDS && !self.0.contains_key(&kind) {
            return;
        }
        let sites = self.0.entry(kind).or_default();
        if sites.len() == Self::LAST {
            sites.pop_front();
        }
        sites.push_back(site);
    }

    /// The call site of the first of the last `count` messages with this envelope.
    pub(super) fn first_of_last(
        &self,
        to: RankId,
        context: Context,
        tag: Tag,
        count: u32,
    ) -> Option<CallSite> {
        let sites = self.0.get(&(to, context, tag))?;
        sites.get(sites.len().checked_sub(count as usize)?).copied()
    }
}
