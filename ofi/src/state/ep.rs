//! An endpoint: what it is bound to, its engine, and what follows when a request of the engine ends.

use super::av::{Av, bytes};
use super::buffers::Untagged;
use super::calls::{Binding, Counted, EpOptions, Operation, refused};
use super::cq::{Completion, Failed};
use super::ops::{Op, Ops, Role};
use super::pending::Rma;
use super::pieces::Pieces;
use super::shared::Shared;
use super::silence::Silence;
use super::table::Table;
use crate::fi::{self, Errno, NO_ADDRESS};
use crate::host::process_at;
use crate::report;
use crate::tell::tell_loss;
use carrousel_engine::{BoxedError, Endpoint};
use carrousel_rank::{Failure, Handle, RankId, Source, Status};
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// The most requests at a time: the engine has names for a few more.
const REQUESTS_MAX: usize = (1 << 20) - 64;
/// How long the end of an endpoint waits until its peers on other nodes have been told, and those of this process are
/// given what is theirs.
const CLOSES: Duration = Duration::from_secs(1);

/// An endpoint.
pub(crate) struct Ep {
    pub(super) engine: Endpoint,
    pub(super) options: EpOptions,
    pub(crate) av: Option<usize>,
    pub(crate) transmit: Binding,
    pub(crate) receive: Binding,
    pub(crate) cntrs: [Option<usize>; 6],
    pub(crate) enabled: bool,
    pub(super) ops: Ops,
    pub(super) untagged: Untagged,
    /// Room for receives into several buffers that the engine does not have yet, by where it is.
    pub(super) rooms: HashMap<usize, (Box<[u8]>, Pieces)>,
    /// Messages that were claimed, by the context of the claim.
    pub(super) claimed: Vec<(usize, carrousel_engine::ClaimedMessage)>,
    pub(super) rma: Rma,
    /// For hang reports, if they are wanted.
    pub(super) silence: Option<Silence>,
    /// Requests that are complete, but whose memory the adapter still reads.
    late: Vec<Handle>,
    /// Ranks of peers by position in the address vector, and the reverse, as far as they were asked for.
    ranks: Vec<Option<RankId>>,
    sources: Vec<Option<u64>>,
    /// The changes of the address vector that these have seen.
    changes: u64,
    /// The same for the peers that share this node's processors.
    pub(super) crowd: u64,
}

impl Ep {
    pub(crate) fn new(mut engine: Endpoint, options: EpOptions) -> Self {
        engine.list_completed();
        let binding = |flags| Binding { cq: None, selective: false, flags };
        Self {
            engine,
            options,
            av: None,
            transmit: binding(options.transmit_flags),
            receive: binding(options.receive_flags),
            cntrs: [None; 6],
            enabled: false,
            ops: Ops::default(),
            untagged: Untagged::default(),
            rooms: HashMap::new(),
            claimed: Vec::new(),
            rma: Rma::default(),
            silence: options.patience.map(Silence::new),
            late: Vec::new(),
            ranks: Vec::new(),
            sources: Vec::new(),
            changes: 0,
            crowd: 0,
        }
    }

    /// Its address.
    pub(crate) fn name(&self) -> Result<[u8; super::av::ADDRESS_BYTES], Errno> {
        bytes(&self.engine.full_address()).ok_or(Errno::OTHER)
    }

    /// Sets how much room a buffer for many messages has to have left (`FI_OPT_MIN_MULTI_RECV`).
    pub(crate) fn set_least_room(&mut self, bytes: usize) {
        self.untagged.least_room = bytes;
    }

    pub(crate) fn least_room(&self) -> usize {
        self.untagged.least_room
    }

    /// Begins to take operations.
    pub(crate) fn enable(&mut self) -> Result<(), Errno> {
        if self.enabled {
            return Ok(());
        }
        if self.av.is_none() {
            return Err(Errno::NO_VECTOR);
        }
        // Without a queue or a counter nobody would learn that an operation has ended.
        if self.transmit.cq.is_none() && self.receive.cq.is_none() && self.cntrs.iter().all(Option::is_none) {
            return Err(Errno::NO_QUEUE);
        }
        for queue in Operation::QUEUES {
            self.engine.welcome_strangers(queue.call().communicator).map_err(refused)?;
        }
        self.enabled = true;
        if self.options.caps & (fi::RMA | fi::ATOMIC) != 0 {
            self.await_packets()?;
        }
        if self.options.reports {
            report::say_once(&self.engine, self.options.caps);
        }
        Ok(())
    }

    /// Tells its peers that it receives nothing any more.
    pub(crate) fn leave(&mut self) {
        self.engine.leave();
    }

    /// How many requests have not ended.
    pub(crate) fn open(&self) -> usize {
        self.ops.open()
    }

    /// Whether a peer has not got something that was sent to it, and may. Not one of this process, whose host closes this
    /// endpoint instead of reading its queues.
    pub(crate) fn is_awaited(&mut self) -> bool {
        let Self { ops, engine, .. } = self;
        let own = engine.full_address();
        let is_elsewhere = |engine: &Endpoint, peer: RankId| {
            let process = engine.address_of(peer).and_then(|address| process_at(&address, &own));
            process != Some(std::process::id())
        };
        if engine.undelivered_to().into_iter().any(|peer| is_elsewhere(engine, peer)) {
            return true;
        }
        let mut others = BTreeSet::new();
        for (request, _) in ops.iter() {
            let Some(to) = engine.sends_to(request).filter(|to| !others.contains(to)) else { continue };
            if engine.receives(to) && is_elsewhere(engine, to) {
                return true;
            }
            others.insert(to);
        }
        false
    }

    /// Ends the endpoint; its peers do not take it for lost.
    pub(crate) fn close(mut self) {
        self.engine.close(CLOSES);
        self.ops.leak_copies();
    }

    /// Whether its completions go to this queue.
    #[inline]
    pub(crate) fn reports_to_cq(&self, cq: usize) -> bool {
        self.receive.cq == Some(cq) || self.transmit.cq == Some(cq)
    }

    /// Whether an operation can begin now.
    #[inline]
    pub(super) fn ready(&self) -> Result<(), Errno> {
        match () {
            () if !self.enabled => Err(Errno::OP_STATE),
            () if self.ops.open() >= REQUESTS_MAX => Err(Errno::AGAIN),
            () => Ok(()),
        }
    }

    /// The rank of the peer at a position of the address vector.
    #[inline]
    pub(super) fn rank(&mut self, address: u64, avs: &Table<Av>) -> Result<RankId, Errno> {
        let av = self.av.and_then(|av| avs.get(av)).ok_or(Errno::NO_VECTOR)?;
        self.renew(av);
        match self.ranks.get(address as usize) {
            Some(Some(rank)) => Ok(*rank),
            _ => self.resolve(address, av),
        }
    }

    #[cold]
    fn resolve(&mut self, address: u64, av: &Av) -> Result<RankId, Errno> {
        let text = av.address(address).ok_or(Errno::INVALID)?;
        let rank = self.engine.peer(text).ok_or(Errno::ADDRESS)?;
        let at = address as usize;
        if self.ranks.len() <= at {
            self.ranks.resize(at + 1, None);
        }
        self.ranks[at] = Some(rank);
        Ok(rank)
    }

    /// Forgets what is known of positions, once they may be those of other addresses.
    #[inline]
    fn renew(&mut self, av: &Av) {
        if self.changes != av.changes() {
            self.changes = av.changes();
            self.ranks.clear();
            self.sources.clear();
        }
    }

    /// The position of a peer in the address vector, if the host wants to know sources.
    #[inline]
    pub(super) fn position(&mut self, rank: RankId, avs: &Table<Av>) -> u64 {
        if self.options.caps & fi::SOURCE == 0 {
            return NO_ADDRESS;
        }
        let Some(av) = self.av.and_then(|av| avs.get(av)) else { return NO_ADDRESS };
        self.renew(av);
        match self.sources.get(rank.0 as usize) {
            Some(Some(position)) => *position,
            _ => self.find_position(rank, av),
        }
    }

    #[cold]
    fn find_position(&mut self, rank: RankId, av: &Av) -> u64 {
        let position = self.engine.address_of(rank).and_then(|text| av.position(&text));
        let at = rank.0 as usize;
        if self.sources.len() <= at {
            self.sources.resize(at + 1, None);
        }
        self.sources[at] = position;
        position.unwrap_or(NO_ADDRESS)
    }

    /// The source that a receive asks for.
    #[inline]
    pub(super) fn source(&mut self, address: u64, of: Operation, avs: &Table<Av>) -> Result<Source, Errno> {
        let directed = match of {
            Operation::Tagged => fi::DIRECTED_RECV | fi::TAGGED_DIRECTED_RECV,
            _ => fi::DIRECTED_RECV,
        };
        if address == NO_ADDRESS || self.options.caps & directed == 0 {
            return Ok(Source::Any);
        }
        self.rank(address, avs).map(Source::Rank)
    }

    /// Lets messages move, and reports what has become complete. Hosts call this more often than anything else: all of it is
    /// one function.
    #[inline(never)]
    pub(crate) fn progress(&mut self, avs: &Table<Av>, shared: &mut Shared) {
        let is_seldom = self.engine.progress();
        self.settle(avs, shared);
        if is_seldom {
            self.look_around(avs);
        }
        if self.rma.has_lost {
            self.look_for_packets(avs, shared);
        }
    }

    /// What is done once in a while.
    #[cold]
    #[inline(never)]
    fn look_around(&mut self, avs: &Table<Av>) {
        self.look_for_silence();
        self.look_for_crowd(avs);
    }

    /// Reports what has become complete.
    #[inline(always)]
    pub(super) fn settle(&mut self, avs: &Table<Av>, shared: &mut Shared) {
        if self.engine.has_completed() || !self.late.is_empty() {
            self.end_all(avs, shared);
        }
    }

    /// Ends the requests that are complete, and reports them.
    #[inline(never)]
    fn end_all(&mut self, avs: &Table<Av>, shared: &mut Shared) {
        if !self.late.is_empty() {
            for request in std::mem::take(&mut self.late) {
                self.end(request, avs, shared);
            }
        }
        while let Some(request) = self.engine.next_completed() {
            self.end(request, avs, shared);
        }
    }

    #[inline(always)]
    fn end(&mut self, request: Handle, avs: &Table<Av>, shared: &mut Shared) {
        let Some(op) = self.ops.get(request) else { return };
        // Most requests are receives that end well: what is reported of one is read where it stands.
        let ended = match op.role {
            Role::Receive => {
                self.engine.end_if_well(request, |status| (op.reports, received(op, status), status.message))
            }
            _ => None,
        };
        let Some((reports, completion, message)) = ended else {
            return self.end_otherwise(request, avs, shared);
        };
        self.ops.end(request);
        self.count(Counted::Recv, shared);
        if reports {
            let source = message.map_or(NO_ADDRESS, |(rank, _)| self.position(rank, avs));
            self.report(self.receive, Completion { source, ..completion }, shared);
        }
    }

    /// Ends a request that is not a receive, has failed, or is recorded.
    #[inline(never)]
    fn end_otherwise(&mut self, request: Handle, avs: &Table<Av>, shared: &mut Shared) {
        let Some(op) = self.ops.get(request).copied() else { return };
        let Some((status, error)) = self.engine.end(request) else {
            self.late.push(request);
            return;
        };
        self.ops.end(request);
        let kept = self.ops.take_kept(request);
        if let Some(error) = &error {
            tell_loss(error);
        }
        let (op, status) = (&op, &status);
        match op.role {
            Role::Free | Role::Internal => {}
            Role::Send => {
                let completion = Completion::of(op.context, op.flags);
                if status.failure.is_some() {
                    return self.fail(
                        self.transmit,
                        Counted::Send,
                        failed(completion, status, error),
                        shared,
                    );
                }
                self.count(Counted::Send, shared);
                if op.reports {
                    self.report(self.transmit, completion, shared);
                }
            }
            // Well, too, if the endpoint is traced: a release is recorded.
            Role::Receive | Role::Scattered => {
                Self::scatter_received(kept, status);
                let completion = self.received(op, status, avs);
                if status.failure.is_some() {
                    let failed = failed(completion, status, error);
                    return self.fail(self.receive, Counted::Recv, failed, shared);
                }
                self.count(Counted::Recv, shared);
                if op.reports {
                    self.report(self.receive, completion, shared);
                }
            }
            Role::Chunk(buffer) => {
                let completion = self.received(op, status, avs);
                self.chunk_ended(buffer, completion, status.failure, error, shared);
            }
            role => self.end_one_sided((request, role, kept), status, error, avs, shared),
        }
    }

    /// What is reported of a receive.
    fn received(&mut self, op: &Op, status: &Status, avs: &Table<Av>) -> Completion {
        let source = status.message.map_or(NO_ADDRESS, |(rank, _)| self.position(rank, avs));
        Completion { source, ..received(op, status) }
    }

    #[inline]
    pub(super) fn count(&self, counted: Counted, shared: &mut Shared) {
        if let Some(cntr) = self.cntrs[counted as usize]
            && let Some(cntr) = shared.cntrs.get_mut(cntr)
        {
            cntr.value += 1;
        }
    }

    #[inline]
    pub(super) fn report(&self, queue: Binding, completion: Completion, shared: &mut Shared) {
        if let Some(cq) = queue.cq.and_then(|cq| shared.cqs.get_mut(cq)) {
            cq.push(completion);
        }
    }

    /// Reports an operation that has failed.
    pub(super) fn fail(&self, queue: Binding, counted: Counted, failed: Failed, shared: &mut Shared) {
        if let Some(cntr) = self.cntrs[counted as usize].and_then(|cntr| shared.cntrs.get_mut(cntr)) {
            cntr.errors += 1;
        }
        if let Some(cq) = queue.cq.and_then(|cq| shared.cqs.get_mut(cq)) {
            cq.fail(failed);
        }
    }
}

/// What is reported of a receive, but for its source.
#[inline(always)]
fn received(op: &Op, status: &Status) -> Completion {
    let with_data = if status.data.is_some() { fi::REMOTE_CQ_DATA } else { 0 };
    Completion {
        context: op.context,
        flags: op.flags | with_data,
        len: status.len as usize,
        buffer: op.buffer,
        data: status.data.unwrap_or(0),
        tag: status.message.map_or(0, |(_, tag)| tag.0),
        source: NO_ADDRESS,
    }
}

/// A request that has failed.
pub(super) fn failed(of: Completion, status: &Status, error: Option<BoxedError>) -> Failed {
    let error = match (status.failure, &error) {
        (Some(Failure::Cancelled), _) => Errno::CANCELED,
        (_, Some(error)) => Errno::from(&**error),
        (..) => Errno::OTHER,
    };
    let overflow = match status.failure {
        Some(Failure::Truncated { sent }) => sent.saturating_sub(status.len) as usize,
        _ => 0,
    };
    Failed { of, error, overflow }
}
