//! Checks whether the contract allows a record.
//!
//! A packet is seen when it is reported. Of a write, only memory behind a packet of its direction counts: the data
//! may be there before, but no rank may rely on it.

use super::contract_error::{ContractError, TableCell};
use super::plan::{Plan, PlannedStep, Post, Step, Word, sum_of};
use super::record::Event;
use super::words::{self, Expected, Look};
use crate::{Direction, Operation, ordered};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

/// Checks the events of a plan's ranks against the contract; `None` stands for a rank that was killed
/// in the middle, which all others have to notice.
///
/// # Errors
/// The first breach in the record of the first rank that has one.
pub fn check(plan: &Plan, ranks: &[Option<Vec<Event>>]) -> Result<(), ContractError> {
    if ranks.len() != plan.steps.len() {
        return Err(ContractError::Ranks { found: ranks.len(), expected: plan.steps.len() });
    }
    let died: Vec<bool> = ranks.iter().map(Option::is_none).collect();
    for (me, events) in (0..).zip(ranks) {
        if let Some(events) = events {
            let mut observer = Observer::new(plan, me, &died);
            events.iter().try_for_each(|event| observer.event(event))?;
            observer.end()?;
        }
    }
    words::check(plan, ranks)
}

/// The events that are still expected of one peer.
struct ExpectedOfPeer {
    died: bool,
    lost: bool,
    /// Positions of its packets that have not arrived.
    packets: BTreeSet<usize>,
    /// Positions of its writes whose data has not been checked.
    writes: BTreeSet<usize>,
    /// Operations to it whose completion has not been reported, in the order in which they were posted.
    written: VecDeque<usize>,
    read: VecDeque<usize>,
    fetched: VecDeque<usize>,
}

/// One rank, and the events that are still expected in its record.
struct Observer<'a> {
    plan: &'a Plan,
    me: u32,
    peers: Vec<ExpectedOfPeer>,
    posted: usize,
    /// The forward packet behind which memory is being checked.
    behind: Option<PlannedStep>,
    /// By rank and position: sums that were computed already.
    sums: BTreeMap<(u32, usize), u64>,
}

impl<'a> Observer<'a> {
    fn new(plan: &'a Plan, me: u32, died: &[bool]) -> Self {
        let peer = |(from, died): (u32, &bool)| ExpectedOfPeer {
            died: *died,
            lost: false,
            packets: positions(plan, from, me, |post| post.direction().is_some()),
            writes: positions(plan, from, me, |post| matches!(post, Post::Write { .. })),
            written: VecDeque::new(),
            read: VecDeque::new(),
            fetched: VecDeque::new(),
        };
        let peers = (0..).zip(died).map(peer).collect();
        Self { plan, me, peers, posted: 0, behind: None, sums: BTreeMap::new() }
    }

    fn sum_of(&mut self, planned: &PlannedStep) -> u64 {
        *self.sums.entry((planned.from, planned.at)).or_insert_with(|| sum_of(planned))
    }

    fn planned_step(&self, from: u32, at: usize) -> Result<PlannedStep, ContractError> {
        self.plan.planned_step(from, at).ok_or(ContractError::Foreign { at: self.me, from })
    }

    fn event(&mut self, event: &Event) -> Result<(), ContractError> {
        let me = self.me;
        if !matches!(event, Event::Memory { .. }) {
            self.all_looked_at()?;
        }
        match *event {
            Event::Posted(at) => self.post(at),
            Event::Packet { from, at, sum } => self.packet(from, at, sum),
            Event::Memory { from, at, sum } => {
                let write = self.planned_step(from, at)?;
                let packet = self.behind.filter(|packet| packet.from == from && at <= packet.at);
                if packet.is_none() || !self.peers[from as usize].writes.remove(&at) {
                    return Err(ContractError::PlanMismatch { at: me, what: write });
                }
                self.memory(&write, sum, packet)
            }
            Event::FinalMemory { from, at, sum } => {
                let write = self.planned_step(from, at)?;
                if self.peers[from as usize].died { Ok(()) } else { self.memory(&write, sum, None) }
            }
            Event::Written(at) => {
                let planned = self.planned_step(me, at)?;
                self.complete(&planned, |peer| &mut peer.written)
            }
            Event::Read { at, sum } => {
                let planned = self.planned_step(me, at)?;
                self.complete(&planned, |peer| &mut peer.read)?;
                self.read(&planned, sum)
            }
            Event::Fetched { at, value } => {
                let planned = self.planned_step(me, at)?;
                self.complete(&planned, |peer| &mut peer.fetched)?;
                self.fetched(&planned, value)
            }
            Event::FinalWord { .. } => Ok(()),
            Event::Lost(peer) => self.lost(peer),
            Event::Foreign(from) => Err(ContractError::Foreign { at: me, from }),
            Event::Stray => Err(ContractError::Stray { at: me }),
        }
    }

    fn post(&mut self, at: usize) -> Result<(), ContractError> {
        let planned = self.planned_step(self.me, at)?;
        if at != self.posted {
            return Err(ContractError::PlanMismatch { at: self.me, what: planned });
        }
        self.posted += 1;
        let peer = &mut self.peers[planned.step.to as usize];
        match planned.step.post {
            Post::Send { .. } => {}
            Post::Write { .. } => peer.written.push_back(at),
            Post::Read { .. } => peer.read.push_back(at),
            Post::Atomic { .. } => peer.fetched.push_back(at),
        }
        Ok(())
    }

    fn packet(&mut self, from: u32, at: usize, sum: u64) -> Result<(), ContractError> {
        let me = self.me;
        let later = self.planned_step(from, at)?;
        let Some(direction) = later.step.post.direction().filter(|_| later.step.to == me) else {
            return Err(ContractError::Foreign { at: me, from });
        };
        let peer = &mut self.peers[from as usize];
        if peer.lost {
            return Err(ContractError::AfterLoss { at: me, what: later });
        }
        if !peer.packets.remove(&at) {
            return Err(ContractError::ReportedTwice { at: me, what: later });
        }
        for earlier in peer.packets.range(..at) {
            let Some(earlier) = self.plan.planned_step(from, *earlier) else { continue };
            if let Some(row) = order(&earlier.step, &later.step) {
                return Err(ContractError::Order { at: me, earlier, later, row });
            }
        }
        let is_data = matches!(later.step.post, Post::Send { .. });
        let expected = if is_data { self.sum_of(&later) } else { super::plan::sum(&[]) };
        if sum != expected {
            return Err(ContractError::Changed { at: me, what: later });
        }
        self.behind = (direction == Direction::ToReceiver).then_some(later);
        Ok(())
    }

    /// Fails unless all memory of writes before the last packet has been checked.
    fn all_looked_at(&mut self) -> Result<(), ContractError> {
        let Some(packet) = self.behind.take() else { return Ok(()) };
        match self.peers[packet.from as usize].writes.range(..=packet.at).next() {
            Some(at) => {
                Err(ContractError::NotReported { at: self.me, what: self.planned_step(packet.from, *at)? })
            }
            None => Ok(()),
        }
    }

    /// Checks the contents of a write's slot, behind a packet or at the end.
    fn memory(
        &mut self,
        write: &PlannedStep,
        sum: u64,
        packet: Option<PlannedStep>,
    ) -> Result<(), ContractError> {
        let (Post::Write { slot_of, .. }, at) = (write.step.post, self.me) else {
            return Err(ContractError::PlanMismatch { at: self.me, what: *write });
        };
        if self.plan.has_atomics_on(write.from, slot_of) {
            return self.word(write, slot_of, sum, packet);
        }
        let end = packet.map_or(usize::MAX, |packet| packet.at + 1);
        let Some(last) = self.plan.last_write(write.from, slot_of, end) else { return Ok(()) };
        // The data of a later write into the same slot may be there already, or in part.
        let is_written_over = self.plan.writes(write.from, slot_of).any(|other| other.at > last.at);
        if is_written_over || sum == self.sum_of(&last) {
            return Ok(());
        }
        let earlier: Vec<PlannedStep> =
            self.plan.writes(write.from, slot_of).take_while(|one| one.at < last.at).collect();
        for overwritten in earlier {
            if sum == self.sum_of(&overwritten) {
                // The data of the earlier write is there last.
                let row = TableCell(Operation::Write, Operation::Write);
                return Err(ContractError::Order { at, earlier: overwritten, later: last, row });
            }
        }
        match packet {
            Some(packet) => {
                let row = TableCell(Operation::Write, Operation::Send(Direction::ToReceiver));
                Err(ContractError::DataMissing { at, write: last, packet, row })
            }
            None => Err(ContractError::Changed { at, what: last }),
        }
    }

    fn complete(
        &mut self,
        planned: &PlannedStep,
        of: impl Fn(&mut ExpectedOfPeer) -> &mut VecDeque<usize>,
    ) -> Result<(), ContractError> {
        let (at, what) = (self.me, *planned);
        let queue = of(&mut self.peers[planned.step.to as usize]);
        match queue.iter().position(|posted| *posted == planned.at) {
            Some(0) => {
                queue.pop_front();
                Ok(())
            }
            Some(_) => {
                let first = queue[0];
                Err(ContractError::Completions { at, earlier: self.planned_step(at, first)?, later: what })
            }
            None if planned.at < self.posted => Err(ContractError::ReportedTwice { at, what }),
            None => Err(ContractError::TooEarly { at, what }),
        }
    }

    /// Checks the data that a read has got.
    fn read(&mut self, read: &PlannedStep, sum: u64) -> Result<(), ContractError> {
        let Post::Read { slot_of, .. } = read.step.post else {
            return Err(ContractError::PlanMismatch { at: self.me, what: *read });
        };
        // Completions of operations that failed come behind the loss, for they cannot say so themselves.
        if self.peers[read.step.to as usize].lost {
            return Ok(());
        }
        if self.plan.has_atomics_on(self.me, slot_of) {
            return self.found(read, slot_of, |bytes| super::plan::sum(&bytes) == sum);
        }
        if self.may_be_late(read, slot_of) {
            return Ok(());
        }
        let source = self.plan.last_write(self.me, slot_of, read.at);
        if sum == self.sum_of(&source.unwrap_or(*read)) {
            return Ok(());
        }
        Err(match source {
            Some(earlier) => {
                let row = TableCell(Operation::Write, Operation::Read);
                ContractError::Order { at: self.me, earlier, later: *read, row }
            }
            None => ContractError::Changed { at: self.me, what: *read },
        })
    }

    /// Whether an unfenced write behind a read overwrites its source.
    fn may_be_late(&self, read: &PlannedStep, slot_of: usize) -> bool {
        let behind = self.plan.between(self.me, read.step.to).skip_while(|other| other.at <= read.at);
        let mut unfenced = behind.take_while(|other| !other.is_wait());
        unfenced.any(|other| matches!(other.step.post, Post::Write { slot_of: at, .. } if at == slot_of))
    }

    /// Checks the value that an atomic on a slot has found. Those of shared words are compared when all are known.
    fn fetched(&mut self, atomic: &PlannedStep, value: u64) -> Result<(), ContractError> {
        let Post::Atomic { word, .. } = atomic.step.post else {
            return Err(ContractError::PlanMismatch { at: self.me, what: *atomic });
        };
        match word {
            Word::Slot(slot_of) if !self.peers[atomic.step.to as usize].lost => {
                self.found(atomic, slot_of, |bytes| u64::from_ne_bytes(bytes) == value)
            }
            Word::Slot(_) | Word::Shared(_) => Ok(()),
        }
    }

    /// Checks what a read or an atomic of this rank has found in a slot that atomics change.
    fn found(
        &self,
        look: &PlannedStep,
        slot_of: usize,
        is_found: impl Fn([u8; 8]) -> bool,
    ) -> Result<(), ContractError> {
        let expected = words::expected(self.plan, self.me, slot_of, Look::Own(*look));
        let Some(Expected { bytes, last, too_early }) = expected else { return Ok(()) };
        if is_found(bytes) {
            return Ok(());
        }
        let at = self.me;
        let row = |earlier: &PlannedStep, later: &PlannedStep| {
            TableCell(earlier.step.post.operation(), later.step.post.operation())
        };
        Err(match (too_early.filter(|(bytes, _)| is_found(*bytes)), last) {
            (Some((_, later)), _) => {
                ContractError::Order { at, earlier: *look, later, row: row(look, &later) }
            }
            (None, Some(earlier)) => {
                ContractError::Order { at, earlier, later: *look, row: row(&earlier, look) }
            }
            (None, None) => ContractError::Changed { at, what: *look },
        })
    }

    /// Checks the contents of a slot that atomics change, behind a packet or at the end.
    fn word(
        &self,
        write: &PlannedStep,
        slot_of: usize,
        sum: u64,
        packet: Option<PlannedStep>,
    ) -> Result<(), ContractError> {
        let look = packet.map_or(Look::End, |packet| Look::Behind(packet.at));
        let expected = words::expected(self.plan, write.from, slot_of, look);
        let Some(Expected { bytes, last: Some(earlier), .. }) = expected else { return Ok(()) };
        if sum == super::plan::sum(&bytes) {
            return Ok(());
        }
        Err(match packet {
            Some(later) => {
                let row = TableCell(earlier.step.post.operation(), Operation::Send(Direction::ToReceiver));
                ContractError::Order { at: self.me, earlier, later, row }
            }
            None => ContractError::Changed { at: self.me, what: earlier },
        })
    }

    fn lost(&mut self, peer: u32) -> Result<(), ContractError> {
        let at = self.me;
        match self.peers.get_mut(peer as usize) {
            Some(ExpectedOfPeer { died: true, lost: true, .. }) => {
                Err(ContractError::LossReportedTwice { at, peer })
            }
            Some(found @ ExpectedOfPeer { died: true, .. }) => {
                found.lost = true;
                Ok(())
            }
            _ => Err(ContractError::FalseLoss { at, peer }),
        }
    }

    /// Fails unless all expected events have come; called at the end of the record.
    fn end(&mut self) -> Result<(), ContractError> {
        let at = self.me;
        self.all_looked_at()?;
        if let Some(what) = self.plan.planned_step(at, self.posted) {
            return Err(ContractError::PlanMismatch { at, what });
        }
        for (from, peer) in (0..).zip(&self.peers) {
            if let Some(missing) = peer.written.front().or(peer.read.front()).or(peer.fetched.front()) {
                return Err(ContractError::NotReported { at, what: self.planned_step(at, *missing)? });
            }
            if peer.died && !peer.lost && from != at {
                return Err(ContractError::LossNotReported { at, peer: from });
            }
            let missing = peer.packets.first().or(peer.writes.first());
            if let Some(missing) = missing.filter(|_| !peer.died) {
                return Err(ContractError::NotReported { at, what: self.planned_step(from, *missing)? });
            }
        }
        Ok(())
    }
}

/// The entry of the table that puts the packet of `earlier` before that of `later`, which is posted behind it, if
/// one does.
fn order(earlier: &Step, later: &Step) -> Option<TableCell> {
    let (row_direction, direction) = (earlier.post.direction()?, later.post.direction()?);
    let is_read = |step: &Step| matches!(step.post, Post::Read { .. });
    // The notice of a write is a packet behind it. The notice of a read leaves when the data is there: so it is behind
    // packets that were posted before the read, but only packets that wait for the read are behind it.
    let row = match (is_read(earlier), is_read(later)) {
        (true, true) => TableCell(Operation::Read, Operation::Read),
        (true, false) if row_direction != direction => return None,
        (true, false) => TableCell(Operation::Read, Operation::Send(direction)),
        (false, _) => TableCell(Operation::Send(row_direction), Operation::Send(direction)),
    };
    ordered(row.0, row.1, later.fenced).then_some(row)
}

/// The positions of the steps that `from` posts to `to` and `is_one` accepts.
fn positions(plan: &Plan, from: u32, to: u32, is_one: impl Fn(&Post) -> bool) -> BTreeSet<usize> {
    plan.between(from, to).filter(|planned| is_one(&planned.step.post)).map(|planned| planned.at).collect()
}
