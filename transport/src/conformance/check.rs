//! Whether a record is one that the contract allows.
//!
//! A packet is seen when it is reported. Of a write, only memory behind a packet of its lane counts: that data
//! may be there before is in the nature of memory, and nobody may rely on it.

use super::breach::{Breach, Row};
use super::plan::{Named, Plan, Post, Step, sum_of};
use super::record::Event;
use crate::{Lane, Operation, ordered};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

/// Checks what the ranks of a plan have noticed against the contract; `None` stands for a rank that was ended
/// in the middle, which all others have to notice.
///
/// # Errors
/// The first breach of the first rank that has noticed one.
pub fn check(plan: &Plan, ranks: &[Option<Vec<Event>>]) -> Result<(), Breach> {
    if ranks.len() != plan.steps.len() {
        return Err(Breach::Ranks { found: ranks.len(), expected: plan.steps.len() });
    }
    let died: Vec<bool> = ranks.iter().map(Option::is_none).collect();
    for (me, events) in (0..).zip(ranks) {
        if let Some(events) = events {
            let mut observer = Observer::new(plan, me, &died);
            events.iter().try_for_each(|event| observer.event(event))?;
            observer.end()?;
        }
    }
    Ok(())
}

/// What is expected of one peer.
struct Peer {
    died: bool,
    lost: bool,
    /// Positions of its packets that have not come.
    packets: BTreeSet<usize>,
    /// Positions of its writes whose data has not been looked at.
    writes: BTreeSet<usize>,
    /// Operations to it whose completion has not come, in the order in which they were posted.
    written: VecDeque<usize>,
    read: VecDeque<usize>,
}

/// One rank, and what is expected of its record.
struct Observer<'a> {
    plan: &'a Plan,
    me: u32,
    peers: Vec<Peer>,
    posted: usize,
    /// The forward packet behind which memory is looked at.
    behind: Option<Named>,
    /// By rank and position: sums that were computed already.
    sums: BTreeMap<(u32, usize), u64>,
}

impl<'a> Observer<'a> {
    fn new(plan: &'a Plan, me: u32, died: &[bool]) -> Self {
        let peer = |(from, died): (u32, &bool)| Peer {
            died: *died,
            lost: false,
            packets: positions(plan, from, me, |post| post.lane().is_some()),
            writes: positions(plan, from, me, |post| matches!(post, Post::Write { .. })),
            written: VecDeque::new(),
            read: VecDeque::new(),
        };
        let peers = (0..).zip(died).map(peer).collect();
        Self { plan, me, peers, posted: 0, behind: None, sums: BTreeMap::new() }
    }

    fn sum_of(&mut self, named: &Named) -> u64 {
        *self.sums.entry((named.from, named.at)).or_insert_with(|| sum_of(named))
    }

    fn named(&self, from: u32, at: usize) -> Result<Named, Breach> {
        self.plan.named(from, at).ok_or(Breach::Foreign { at: self.me, from })
    }

    fn event(&mut self, event: &Event) -> Result<(), Breach> {
        let me = self.me;
        if !matches!(event, Event::Memory { .. }) {
            self.all_looked_at()?;
        }
        match *event {
            Event::Posted(at) => self.post(at),
            Event::Packet { from, at, sum } => self.packet(from, at, sum),
            Event::Memory { from, at, sum } => {
                let write = self.named(from, at)?;
                let packet = self.behind.filter(|packet| packet.from == from && at <= packet.at);
                if packet.is_none() || !self.peers[from as usize].writes.remove(&at) {
                    return Err(Breach::OtherPlan { at: me, what: write });
                }
                self.memory(&write, sum, packet)
            }
            Event::Left { from, at, sum } => {
                let write = self.named(from, at)?;
                if self.peers[from as usize].died { Ok(()) } else { self.memory(&write, sum, None) }
            }
            Event::Written(at) => {
                let named = self.named(me, at)?;
                self.complete(&named, |peer| &mut peer.written)
            }
            Event::Read { at, sum } => {
                let named = self.named(me, at)?;
                self.complete(&named, |peer| &mut peer.read)?;
                self.read(&named, sum)
            }
            Event::Lost(peer) => self.lost(peer),
            Event::Foreign(from) => Err(Breach::Foreign { at: me, from }),
            Event::Stray => Err(Breach::Stray { at: me }),
        }
    }

    fn post(&mut self, at: usize) -> Result<(), Breach> {
        let named = self.named(self.me, at)?;
        if at != self.posted {
            return Err(Breach::OtherPlan { at: self.me, what: named });
        }
        self.posted += 1;
        let peer = &mut self.peers[named.step.to as usize];
        match named.step.post {
            Post::Send { .. } => {}
            Post::Write { .. } => peer.written.push_back(at),
            Post::Read { .. } => peer.read.push_back(at),
        }
        Ok(())
    }

    fn packet(&mut self, from: u32, at: usize, sum: u64) -> Result<(), Breach> {
        let me = self.me;
        let later = self.named(from, at)?;
        let Some(lane) = later.step.post.lane().filter(|_| later.step.to == me) else {
            return Err(Breach::Foreign { at: me, from });
        };
        let peer = &mut self.peers[from as usize];
        if peer.lost {
            return Err(Breach::AfterLoss { at: me, what: later });
        }
        if !peer.packets.remove(&at) {
            return Err(Breach::Twice { at: me, what: later });
        }
        for earlier in peer.packets.range(..at) {
            let Some(earlier) = self.plan.named(from, *earlier) else { continue };
            if let Some(row) = order(&earlier.step, &later.step) {
                return Err(Breach::Order { at: me, earlier, later, row });
            }
        }
        let is_data = matches!(later.step.post, Post::Send { .. });
        let expected = if is_data { self.sum_of(&later) } else { super::plan::sum(&[]) };
        if sum != expected {
            return Err(Breach::Changed { at: me, what: later });
        }
        self.behind = (lane == Lane::Forward).then_some(later);
        Ok(())
    }

    /// All memory that the last packet says something of has been looked at.
    fn all_looked_at(&mut self) -> Result<(), Breach> {
        let Some(packet) = self.behind.take() else { return Ok(()) };
        match self.peers[packet.from as usize].writes.range(..=packet.at).next() {
            Some(at) => Err(Breach::Missing { at: self.me, what: self.named(packet.from, *at)? }),
            None => Ok(()),
        }
    }

    /// What is where a write goes, behind a packet or at the end.
    fn memory(&mut self, write: &Named, sum: u64, packet: Option<Named>) -> Result<(), Breach> {
        let (Post::Write { place, .. }, at) = (write.step.post, self.me) else {
            return Err(Breach::OtherPlan { at: self.me, what: *write });
        };
        let end = packet.map_or(usize::MAX, |packet| packet.at + 1);
        let Some(last) = self.plan.last_write(write.from, place, end) else { return Ok(()) };
        // What is posted later into the same place may be there already, or in part.
        let is_written_over = self.plan.writes(write.from, place).any(|other| other.at > last.at);
        if is_written_over || sum == self.sum_of(&last) {
            return Ok(());
        }
        let earlier: Vec<Named> =
            self.plan.writes(write.from, place).take_while(|one| one.at < last.at).collect();
        for overwritten in earlier {
            if sum == self.sum_of(&overwritten) {
                // The data of the earlier write is there last.
                let row = Row(Operation::Write, Operation::Write);
                return Err(Breach::Order { at, earlier: overwritten, later: last, row });
            }
        }
        match packet {
            Some(packet) => {
                let row = Row(Operation::Write, Operation::Send(Lane::Forward));
                Err(Breach::NotThere { at, write: last, packet, row })
            }
            None => Err(Breach::Changed { at, what: last }),
        }
    }

    fn complete(
        &mut self,
        named: &Named,
        of: impl Fn(&mut Peer) -> &mut VecDeque<usize>,
    ) -> Result<(), Breach> {
        let (at, what) = (self.me, *named);
        let queue = of(&mut self.peers[named.step.to as usize]);
        match queue.iter().position(|posted| *posted == named.at) {
            Some(0) => {
                queue.pop_front();
                Ok(())
            }
            Some(_) => {
                let first = queue[0];
                Err(Breach::Completions { at, earlier: self.named(at, first)?, later: what })
            }
            None if named.at < self.posted => Err(Breach::Twice { at, what }),
            None => Err(Breach::TooEarly { at, what }),
        }
    }

    /// What a read has got.
    fn read(&mut self, read: &Named, sum: u64) -> Result<(), Breach> {
        let Post::Read { place, .. } = read.step.post else {
            return Err(Breach::OtherPlan { at: self.me, what: *read });
        };
        // Completions of operations that failed come behind the loss, for they cannot say so themselves.
        if self.peers[read.step.to as usize].lost || self.may_be_late(read, place) {
            return Ok(());
        }
        let source = self.plan.last_write(self.me, place, read.at);
        if sum == self.sum_of(&source.unwrap_or(*read)) {
            return Ok(());
        }
        Err(match source {
            Some(earlier) => {
                let row = Row(Operation::Write, Operation::Read);
                Breach::Order { at: self.me, earlier, later: *read, row }
            }
            None => Breach::Changed { at: self.me, what: *read },
        })
    }

    /// Whether something was posted behind a read, without a fence, that writes over what it reads.
    fn may_be_late(&self, read: &Named, place: usize) -> bool {
        let behind = self.plan.between(self.me, read.step.to).skip_while(|other| other.at <= read.at);
        let mut unfenced = behind.take_while(|other| !other.step.fenced);
        unfenced.any(|other| matches!(other.step.post, Post::Write { place: at, .. } if at == place))
    }

    fn lost(&mut self, peer: u32) -> Result<(), Breach> {
        let at = self.me;
        match self.peers.get_mut(peer as usize) {
            Some(Peer { died: true, lost: true, .. }) => Err(Breach::LostTwice { at, peer }),
            Some(found @ Peer { died: true, .. }) => {
                found.lost = true;
                Ok(())
            }
            _ => Err(Breach::FalseLoss { at, peer }),
        }
    }

    /// Nothing more comes.
    fn end(&mut self) -> Result<(), Breach> {
        let at = self.me;
        self.all_looked_at()?;
        if let Some(what) = self.plan.named(at, self.posted) {
            return Err(Breach::OtherPlan { at, what });
        }
        for (from, peer) in (0..).zip(&self.peers) {
            if let Some(missing) = peer.written.front().or(peer.read.front()) {
                return Err(Breach::Missing { at, what: self.named(at, *missing)? });
            }
            if peer.died && !peer.lost && from != at {
                return Err(Breach::NotLost { at, peer: from });
            }
            let missing = peer.packets.first().or(peer.writes.first());
            if let Some(missing) = missing.filter(|_| !peer.died) {
                return Err(Breach::Missing { at, what: self.named(from, *missing)? });
            }
        }
        Ok(())
    }
}

/// The place in the table that puts the packet of `earlier` before that of `later`, which is posted behind it; none if
/// no place does.
fn order(earlier: &Step, later: &Step) -> Option<Row> {
    let (row_lane, lane) = (earlier.post.lane()?, later.post.lane()?);
    let is_read = |step: &Step| matches!(step.post, Post::Read { .. });
    // A notice is a packet behind its write. That of a read leaves when the data is there: so it is behind what was
    // posted before the read, but nothing is behind it that does not wait for the read.
    let row = match (is_read(earlier), is_read(later)) {
        (true, true) => Row(Operation::Read, Operation::Read),
        (true, false) if row_lane != lane => return None,
        (true, false) => Row(Operation::Read, Operation::Send(lane)),
        (false, _) => Row(Operation::Send(row_lane), Operation::Send(lane)),
    };
    ordered(row.0, row.1, later.fenced).then_some(row)
}

/// The positions of what `from` posts to `to` of a kind.
fn positions(plan: &Plan, from: u32, to: u32, is_one: impl Fn(&Post) -> bool) -> BTreeSet<usize> {
    plan.between(from, to).filter(|named| is_one(&named.step.post)).map(|named| named.at).collect()
}
