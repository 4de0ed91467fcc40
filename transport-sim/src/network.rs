//! Cards, wires and connections, and the transfers over them.
//!
//! Each pair of ranks has one connection, which takes up transfers in the order in which they are posted, and a queue
//! in which the responder's card answers reads. Small transfers go in one piece, one at a time from each card and one
//! at a time into each card; larger ones are flows that share links ([`crate::links`]). Ranks of one node use its
//! copy engine instead of cards.

use crate::config::Jitter;
use crate::keys::ByKey;
use crate::links::Links;
use crate::load::Load;
use crate::parameters::{Network as Parameters, Path};
use crate::queue::{Occurrence, Queue};
use crate::record::Recorder;
use carrousel_transport::{Operation, ordered};
use std::collections::VecDeque;

/// A load on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) load: Load,
    /// It leaves when all that was fetched before has come back.
    fenced: bool,
    channel: u32,
    started: u64,
    /// The one that waits behind it in its channel.
    next: u32,
}

/// No transfer.
const NONE: u32 = u32::MAX;

/// One connection, or one queue of answers to reads.
#[derive(Debug)]
struct Channel {
    /// The first and the last of the transfers that wait; each names the next.
    first: u32,
    last: u32,
    /// A transfer is under way.
    busy: bool,
    /// How much of what was fetched has not come back.
    fetching: u32,
    /// The latest arrival so far, by [`Operation::index`].
    latest: [u64; Operation::ALL.len()],
    /// The latest completion of a write.
    completed: u64,
    local: bool,
}

/// One node's card, or its copy engine: when it is free to send, and to receive, the next small transfer; and the larger
/// ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Card {
    sends_at: u64,
    receives_at: u64,
    /// How many larger transfers it sends now.
    flows: u64,
    /// Larger transfers that wait for one of these to end.
    waiting: VecDeque<u32>,
}

/// The network.
#[derive(Debug)]
pub(crate) struct Fabric {
    remote: Path,
    local: Path,
    header_bytes: u64,
    nodes: Vec<u32>,
    cards: Vec<Card>,
    links: Links,
    channels: Vec<Channel>,
    /// By rank: its channels, by peer and kind.
    channels_of: Vec<ByKey<(u32, bool), u32>>,
    transfers: Vec<Transfer>,
    free: Vec<u32>,
    jitter: Jitter,
}

/// The three links of a node.
fn link(node: u32, which: u32) -> u32 {
    node * 3 + which
}
const OUT: u32 = 0;
const IN: u32 = 1;
const MEMORY: u32 = 2;

impl Fabric {
    pub(crate) fn new(parameters: &Parameters, nodes: &[u32], jitter: Jitter) -> Self {
        let count = nodes.iter().max().map_or(0, |node| *node as usize + 1);
        Self {
            remote: parameters.remote,
            local: parameters.local,
            header_bytes: parameters.header_bytes,
            nodes: nodes.to_vec(),
            cards: vec![Card::default(); count],
            links: Links::new(count * 3),
            channels: Vec::new(),
            channels_of: vec![ByKey::default(); nodes.len()],
            transfers: Vec::new(),
            free: Vec::new(),
            jitter,
        }
    }

    fn channel(&mut self, from: u32, to: u32, answers: bool) -> u32 {
        let Self { channels, channels_of, nodes, .. } = self;
        *channels_of[from as usize].entry((to, answers)).or_insert_with(|| {
            let local = nodes[from as usize] == nodes[to as usize];
            let latest = [0; Operation::ALL.len()];
            let (first, last) = (NONE, NONE);
            channels.push(Channel { first, last, busy: false, fetching: 0, latest, completed: 0, local });
            channels.len() as u32 - 1
        })
    }

    fn transfer(&mut self, transfer: Transfer) -> u32 {
        match self.free.pop() {
            Some(id) => {
                self.transfers[id as usize] = transfer;
                id
            }
            None => {
                self.transfers.push(transfer);
                self.transfers.len() as u32 - 1
            }
        }
    }

    /// Whether two ranks share a node, or are one.
    pub(crate) fn are_neighbours(&self, one: u32, other: u32) -> bool {
        self.nodes[one as usize] == self.nodes[other as usize]
    }

    /// How long a processor copies between the memories of two ranks of a node.
    pub(crate) fn copy_within_node_ns(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(self.local.ps_per_byte) / 1000
    }

    fn path(&self, channel: u32) -> Path {
        if self.channels[channel as usize].local { self.local } else { self.remote }
    }

    /// Hands a transfer to the card of `from`. Returns its number, which is its own until it is delivered.
    pub(crate) fn post(&mut self, from: u32, to: u32, load: Load, queue: &mut Queue) -> u32 {
        self.post_with_fence(from, to, load, false, queue)
    }

    /// As [`Self::post`]; with a fence it waits for what was fetched from that rank before, and all later ones with it.
    pub(crate) fn post_with_fence(
        &mut self,
        from: u32,
        to: u32,
        load: Load,
        fenced: bool,
        queue: &mut Queue,
    ) -> u32 {
        let channel = self.channel(from, to, matches!(load, Load::ReadData { .. }));
        let transfer =
            self.transfer(Transfer { from, to, load, fenced, channel, started: queue.now(), next: NONE });
        let waiting = &mut self.channels[channel as usize];
        match std::mem::replace(&mut waiting.last, transfer) {
            NONE => waiting.first = transfer,
            last => self.transfers[last as usize].next = transfer,
        }
        self.start_waiting(channel, queue);
        transfer
    }

    /// Starts what waits in a channel and need not.
    fn start_waiting(&mut self, channel: u32, queue: &mut Queue) {
        let at = channel as usize;
        while !self.channels[at].busy && self.channels[at].first != NONE {
            let channel = &mut self.channels[at];
            let first = channel.first;
            let Transfer { fenced, load, next, .. } = self.transfers[first as usize];
            if fenced && channel.fetching > 0 {
                return;
            }
            channel.first = next;
            if next == NONE {
                channel.last = NONE;
            }
            channel.fetching += u32::from(load.fetches());
            self.start(first, queue);
        }
    }

    fn start(&mut self, id: u32, queue: &mut Queue) {
        let Transfer { from, to, load, channel, .. } = self.transfers[id as usize];
        let path = self.path(channel);
        let bytes = load.data().saturating_add(self.header_bytes);
        let work_ps = bytes.saturating_mul(path.ps_per_byte);
        let (source, target) = (self.nodes[from as usize], self.nodes[to as usize]);
        if bytes > path.packet_bytes {
            self.channels[channel as usize].busy = true;
            let card = &mut self.cards[source as usize];
            if card.flows < path.flows.max(1) {
                card.flows += 1;
                self.flow(id, queue);
            } else {
                card.waiting.push_back(id);
            }
        } else {
            let start = if source == target {
                queue.now()
            } else {
                let card = &mut self.cards[source as usize];
                let start = card.sends_at.max(queue.now());
                card.sends_at = start + path.gap_ns + work_ps / 1000;
                start
            };
            self.transfers[id as usize].started = start;
            self.sent(id, start + work_ps / 1000, queue);
        }
    }

    /// A larger transfer gets its share of the links.
    fn flow(&mut self, id: u32, queue: &mut Queue) {
        let transfer = &mut self.transfers[id as usize];
        transfer.started = queue.now();
        let Transfer { from, to, load, channel, .. } = *transfer;
        let (source, target) = (self.nodes[from as usize], self.nodes[to as usize]);
        let links = match source == target {
            true => [link(source, MEMORY); 2],
            false => [link(source, OUT), link(target, IN)],
        };
        let bytes = load.data().saturating_add(self.header_bytes);
        let work_ps = bytes.saturating_mul(self.path(channel).ps_per_byte);
        self.links.start(links, work_ps, id, queue);
    }

    /// The last byte leaves at `at`.
    fn sent(&mut self, id: u32, at: u64, queue: &mut Queue) {
        let Transfer { load, channel, .. } = self.transfers[id as usize];
        let latency = self.jitter.lengthen(self.path(channel).latency_ns);
        let own = load.operation();
        let latest = &mut self.channels[channel as usize].latest;
        let before = Operation::ALL.into_iter().filter(|earlier| ordered(*earlier, own, false));
        let held = before.map(|earlier| latest[earlier.index()]).max().unwrap_or_default();
        let arrival = at.saturating_add(latency).max(held);
        latest[own.index()] = arrival;
        queue.add(arrival, Occurrence::Arrive { transfer: id });
    }

    /// The event of a transfer.
    pub(crate) fn flow_event(&mut self, flow: u32, version: u32, queue: &mut Queue) {
        let Some(id) = self.links.event(flow, version, queue) else { return };
        self.sent(id, queue.now(), queue);
        let Transfer { from, channel, .. } = self.transfers[id as usize];
        let card = &mut self.cards[self.nodes[from as usize] as usize];
        match card.waiting.pop_front() {
            Some(next) => self.flow(next, queue),
            None => card.flows -= 1,
        }
        self.channels[channel as usize].busy = false;
        self.start_waiting(channel, queue);
    }

    /// A transfer is at its destination's card; true if it is through it at once.
    pub(crate) fn arrived(&mut self, id: u32, queue: &mut Queue) -> bool {
        let Transfer { from, to, load, channel, .. } = self.transfers[id as usize];
        let (source, target) = (self.nodes[from as usize], self.nodes[to as usize]);
        let path = self.path(channel);
        let mut at = queue.now();
        if source != target
            && !matches!(
                load,
                Load::Write { .. } | Load::Written { .. } | Load::ReadData { .. } | Load::Grant { .. }
            )
        {
            let card = &mut self.cards[target as usize];
            at = at.max(card.receives_at);
            card.receives_at = at + path.gap_ns;
        }
        if matches!(load, Load::ReadRequest { .. }) {
            at += path.read_ns;
        }
        if at > queue.now() {
            queue.add(at, Occurrence::Deliver { transfer: id });
        }
        at == queue.now()
    }

    /// Takes a transfer off the network at its destination. What cards do by themselves is done here.
    pub(crate) fn deliver(&mut self, id: u32, queue: &mut Queue, record: &mut Recorder) -> Transfer {
        let transfer = self.transfers[id as usize];
        let Transfer { from, to, load, channel, started, .. } = transfer;
        record.message(&load, (from, to), self.header_bytes, (started, queue.now()));
        match load {
            Load::Write { owner, .. } => {
                let latency = self.jitter.lengthen(self.path(channel).latency_ns);
                let (from, to, load) = (to, from, Load::Written { owner });
                let started = queue.now();
                self.transfers[id as usize] =
                    Transfer { from, to, load, fenced: false, channel, started, next: NONE };
                // Completions of one connection keep the order of its writes.
                let completed = &mut self.channels[channel as usize].completed;
                *completed = queue.now().saturating_add(latency).max(*completed);
                queue.add(*completed, Occurrence::Deliver { transfer: id });
            }
            Load::ReadRequest { owner, len, notice } => {
                self.free.push(id);
                self.post(to, from, Load::ReadData { owner, len, notice }, queue);
            }
            Load::ReadData { notice: Some((context, packet)), .. } => {
                self.free.push(id);
                self.post(to, from, Load::Packet { context, packet, data: 0 }, queue);
            }
            _ => self.free.push(id),
        }
        if load.brings_back() {
            let asked = self.channel(to, from, false);
            self.channels[asked as usize].fetching -= 1;
            self.start_waiting(asked, queue);
        }
        transfer
    }
}
