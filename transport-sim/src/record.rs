//! The records of a run, for its report.

use crate::load::Load;
use crate::report::{Count, Statistics};
use crate::timeline::{Interval, Message, State, Timeline};
use std::collections::BTreeMap;

/// Records intervals, messages and counts.
#[derive(Debug)]
pub(crate) struct Recorder {
    timeline: Option<Timeline>,
    by_kind: BTreeMap<&'static str, Count>,
    data_bytes: u64,
}

impl Recorder {
    pub(crate) fn new(ranks: u32, timeline: bool) -> Self {
        let lanes = vec![Vec::new(); if timeline { ranks as usize } else { 0 }];
        let timeline = timeline.then_some(Timeline { lanes, messages: Vec::new() });
        Self { timeline, by_kind: BTreeMap::new(), data_bytes: 0 }
    }

    /// A rank was in `state` for some time. Adjacent intervals of one state are joined.
    pub(crate) fn interval(&mut self, rank: u32, state: State, start_ns: u64, end_ns: u64) {
        let Some(timeline) = &mut self.timeline else { return };
        if start_ns == end_ns {
            return;
        }
        let lane = &mut timeline.lanes[rank as usize];
        match lane.last_mut() {
            Some(last) if last.state == state && last.end_ns == start_ns => last.end_ns = end_ns,
            _ => lane.push(Interval { state, start_ns, end_ns }),
        }
    }

    /// A load has travelled.
    pub(crate) fn message(
        &mut self,
        load: &Load,
        (from, to): (u32, u32),
        header: u64,
        (start_ns, end_ns): (u64, u64),
    ) {
        if matches!(load, Load::Written { .. }) {
            return;
        }
        let (kind, bytes) = (load.name(), load.data());
        let count = self.by_kind.entry(kind).or_default();
        count.packets += 1;
        count.bytes = count.bytes.saturating_add(bytes).saturating_add(header);
        self.data_bytes = self.data_bytes.saturating_add(bytes);
        if let Some(timeline) = &mut self.timeline {
            let moves_data = bytes > 0;
            timeline.messages.push(Message { from, to, kind, bytes, moves_data, start_ns, end_ns });
        }
    }

    pub(crate) fn finish(self, events: u64) -> (Timeline, Statistics) {
        let by_kind = self.by_kind.into_iter().map(|(kind, count)| (kind.into(), count)).collect();
        (self.timeline.unwrap_or_default(), Statistics { by_kind, data_bytes: self.data_bytes, events })
    }
}
