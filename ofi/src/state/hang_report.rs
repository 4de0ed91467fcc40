//! Hang reports (option `hang_report`): what a host waits for, once nothing has moved for long.
//!
//! A provider does not block. A host that waits in vain calls for progress again and again, and so may one that idles. So a
//! silence is told only while something of the host's is open: a send, a receive, a one-sided operation, or a search that it
//! repeats and that finds nothing; not a buffer for many messages, which hosts keep posted in case one comes. It is told
//! once, until an operation begins or ends.

use super::calls::Operation;
use super::ep::Ep;
use super::ops::{Op, Role};
use super::silence::{Moves, Search};
use crate::fi;
use crate::host;
use carrousel_engine::OpenRequest;
use carrousel_rank::{RankId, Source, TagSelector};
use carrousel_system::stderr;
use carrousel_trace::tag_text;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// The most lines of a report.
const LINES: usize = 16;

impl Ep {
    fn moves(&self) -> Moves {
        let [begun, ended] = self.ops.counts();
        [begun, ended, self.rma.numbers, self.rma.pending.len() as u64, self.engine.calls().into()]
    }

    /// A search has found nothing.
    pub(super) fn sought(&mut self, of: Operation, from: Source, tags: TagSelector) {
        let moves = self.moves();
        if let Some(silence) = &mut self.silence {
            silence.sought = Some(Search { of, from, tags, moves });
        }
    }

    /// Tells what the host waits for, if that is long in vain. To be called once in a while.
    pub(super) fn look_for_silence(&mut self) {
        let moves = self.moves();
        let Some(silence) = &mut self.silence else { return };
        let Some(waited) = silence.is_due(moves, Instant::now()) else { return };
        let sought = silence.sought.filter(|search| search.moves == moves);
        let lines = self.open_operations(sought);
        if lines.is_empty() {
            return;
        }
        if let Some(silence) = &mut self.silence {
            silence.told = true;
        }
        stderr::tell(told(waited, &lines));
    }

    /// What the host may wait for, a line each.
    fn open_operations(&self, sought: Option<Search>) -> Vec<String> {
        let is_host = |op: &Op| matches!(op.role, Role::Send | Role::Receive | Role::Scattered);
        let requests = self.ops.iter().filter(|(_, op)| is_host(op)).filter_map(|(request, op)| {
            let OpenRequest { what, peer, tags, bytes, state } = self.engine.open_request(request)?;
            // A host that asks for delivery may do so for any of its sends, and says not for which.
            let what = if op.role == Role::Send { "send" } else { what };
            let of = if op.flags & fi::TAGGED != 0 { Operation::Tagged } else { Operation::Message };
            let toward = if op.role == Role::Send { "to" } else { "from" };
            let whose = self.whose(peer, tags, of);
            Some(format!("{what} {toward} {whose}, {bytes} bytes: {state}"))
        });
        let waiting = self.untagged.buffers.iter().filter(|buffer| !buffer.posted && !buffer.is_for_many());
        let waiting = waiting.map(|buffer| {
            let whose = self.whose(source(buffer.from), None, Operation::Message);
            format!("receive from {whose}, {} bytes: behind a buffer for many messages", buffer.receive.len)
        });
        let one_sided = self.rma.pending.values().map(|pending| {
            let what = if pending.report.flags & fi::READ != 0 { "read" } else { "write" };
            let what = if pending.report.flags & fi::ATOMIC != 0 { "atomic" } else { what };
            format!("{what} of memory of {}: not answered yet", self.peer_name(pending.target))
        });
        let search = sought.map(|Search { of, from, tags, .. }| {
            format!("search for a message from {}: none has come", self.whose(source(from), Some(tags), of))
        });
        requests.chain(waiting).chain(one_sided).chain(search).collect()
    }

    /// A peer, or any, and the tag.
    fn whose(&self, peer: Option<RankId>, tags: Option<TagSelector>, of: Operation) -> String {
        let peer = peer.map_or_else(|| "any rank".to_owned(), |peer| self.peer_name(peer));
        match tags {
            Some(tags) if of == Operation::Tagged => format!("{peer}, {}", tag_text(host::library(), tags)),
            _ => format!("{peer}, without a tag"),
        }
    }

    /// A peer, by its rank in the host's job, if that is known.
    fn peer_name(&self, peer: RankId) -> String {
        let address = self.engine.address_of(peer).unwrap_or_default();
        match host::rank_at(&address, &self.engine.full_address()) {
            Some(host) => format!("rank {}", host.rank),
            None => format!("the peer at {address}"),
        }
    }
}

/// The text of a report.
fn told(waited: Duration, lines: &[String]) -> String {
    let process = std::process::id();
    let who = host::rank().map_or_else(String::new, |host| format!("rank {}, ", host.rank));
    let seconds = waited.as_secs_f64();
    let mut text = format!(
        "carrousel: {who}process {process}: nothing has moved for {seconds:.1} s, and these are open:"
    );
    for line in lines.iter().take(LINES) {
        let _ = write!(text, "\n  {line}");
    }
    if lines.len() > LINES {
        let _ = write!(text, "\n  and {} more", lines.len() - LINES);
    }
    text
}

fn source(from: Source) -> Option<RankId> {
    match from {
        Source::Rank(rank) => Some(rank),
        Source::Any => None,
    }
}
