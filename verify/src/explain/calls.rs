//! The calls on windows that the text of a program has, and the waits for them.

use super::names::Names;
use crate::program::{Act, Ordinal, Step};
use carrousel_rank::RankId;
use carrousel_rank::epoch::Call;

impl Names<'_> {
    /// The calls of a rank on the epochs of a window, or of all, with their steps.
    pub(super) fn calls(&self, rank: u16, window: Option<u16>) -> impl Iterator<Item = (u16, Call<'_>)> {
        let calls = self.program(rank).into_iter().flat_map(|program| program.calls());
        let is_it = move |other: u16| window.is_none_or(|window| window == other);
        calls.filter(move |(_, call)| is_it(call.window)).map(|(pc, call)| (pc, call.call()))
    }

    /// The steps of a rank's fences.
    pub(super) fn fences(&self, rank: u16, window: u16) -> Vec<u16> {
        let fences = self.calls(rank, Some(window)).filter(|(_, call)| matches!(call, Call::Fence));
        fences.map(|(pc, _)| pc).collect()
    }

    /// The calls of `start` of an origin that name a target, and those of `post` of the target that name the origin.
    pub(super) fn pairs(&self, origin: u16, target: u16, window: u16) -> (Vec<u16>, Vec<u16>) {
        let names = |group: &[RankId], rank: u16| group.contains(&RankId(u32::from(rank)));
        let starts = self.calls(origin, Some(window));
        let starts = starts.filter(|(_, call)| matches!(call, Call::Start(group) if names(group, target)));
        let posts = self.calls(target, Some(window));
        let posts = posts.filter(|(_, call)| matches!(call, Call::Post(group) if names(group, origin)));
        (starts.map(|(pc, _)| pc).collect(), posts.map(|(pc, _)| pc).collect())
    }

    /// The first step from `pc` on that waits for a request.
    pub(super) fn wait_from(&self, rank: u16, pc: usize, request: Ordinal) -> Option<usize> {
        let waits = |step: &Step| matches!(&step.act, Act::Wait(requests) if requests.contains(&request));
        let steps = self.program(rank)?.steps.get(pc..)?;
        steps.iter().position(waits).map(|after| pc + after)
    }
}
