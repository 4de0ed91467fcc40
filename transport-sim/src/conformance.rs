//! The plans of the conformance suite over the simulated network.
//!
//! The simulator moves no data, and its CPUs do what ranks ask for; so the suite drives what is below them: it
//! posts loads to [`Fabric`], as the event loop does for a rank, and takes deliveries as that does. The
//! data is carried next to the network, and lands when the network says that it has arrived. An atomic is a read of one
//! word, which the responder changes when the request arrives.

use crate::config::{Config, Jitter};
use crate::load::{Load, Owner};
use crate::network::{Fabric, Transfer};
use crate::parameters::Network as Parameters;
use crate::queue::{Occurrence, Queue};
use crate::record::Recorder;
use carrousel_rank::Packet;
use carrousel_transport::conformance::{
    ContractError, Event, Plan, Player, RankMemory, Size, atomic_plans, check, generated_atomics,
    generated_plan, named_plans,
};
use carrousel_transport::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

const SIZE: Size = Size { eager: 3000, large: 100_000, burst: 64 };

/// The network, and the data that it does not carry, by the rank that has posted it.
struct Wires {
    network: Fabric,
    queue: Queue,
    /// By number: the heads of packets, and their data.
    packets: Vec<(Head, Vec<u8>)>,
    writes: BTreeMap<(u32, Handle), Write>,
    reads: BTreeMap<(u32, Handle), Read>,
    read: BTreeMap<(u32, Handle), Vec<u8>>,
    atomics: BTreeMap<(u32, Handle), Atomic>,
}

#[derive(Clone)]
struct Out {
    me: u32,
    wires: Rc<RefCell<Wires>>,
}

impl Out {
    /// Takes a packet. The simulator names it: the packet that travels there has the number in its place.
    fn take(&self, head: &Head, data: &[u8]) -> (Context, Packet) {
        let packets = &mut self.wires.borrow_mut().packets;
        let number = Handle { index: packets.len() as u32, generation: 0 };
        packets.push((*head, data.to_vec()));
        let packet = match head.direction() {
            Direction::ToReceiver => Packet::Atp { receive: number },
            Direction::ToSender => Packet::Ats { send: number },
        };
        (head.header().context(), packet)
    }

    fn post(&self, to: RankId, load: Load) {
        let Wires { network, queue, .. } = &mut *self.wires.borrow_mut();
        network.post(self.me, to.0, load, queue);
    }
}

impl Outbound for Out {
    fn send(&mut self, to: RankId, head: &Head, data: &[u8]) {
        let (context, packet) = self.take(head, data);
        self.post(to, Load::Packet { context, packet, data: data.len() as u64 });
    }

    fn write(&mut self, write: &Write, _: &mut impl Regions) {
        let Write { to, len, request, notice, .. } = *write;
        self.wires.borrow_mut().writes.insert((self.me, request), *write);
        self.post(to, Load::Write { owner: Owner::Message(request), len });
        if let Some(head) = notice {
            self.send(to, &head, &[]);
        }
    }

    fn read(&mut self, read: &Read, _: &mut impl Regions) {
        let Read { of, len, request, notice, .. } = *read;
        self.wires.borrow_mut().reads.insert((self.me, request), *read);
        let notice = notice.map(|head| self.take(&head, &[]));
        self.post(of, Load::ReadRequest { owner: Owner::Message(request), len, notice });
    }

    fn atomic(&mut self, atomic: &Atomic) -> Result<(), AtomicsUnsupportedError> {
        self.wires.borrow_mut().atomics.insert((self.me, atomic.request), *atomic);
        let (request, len, notice) = (atomic.request, Atomic::LEN, None);
        self.post(atomic.to, Load::ReadRequest { owner: Owner::Message(request), len, notice });
        Ok(())
    }
}

/// An end that only takes operations; arrivals are events.
impl Transport for Out {
    type Out = Self;

    fn out(&mut self) -> &mut Self {
        self
    }

    fn poll(&mut self, _: Duration, _: &mut impl Handler<Self>) -> usize {
        0
    }

    fn next_poll(&self) -> Option<Duration> {
        None
    }
}

/// Copies between the memory of two ranks.
fn copy(players: &mut [Player<'_>], from: (u32, Memory), into: (u32, Memory), len: u64) {
    let bytes = Handler::<Out>::regions(&mut players[from.0 as usize]).bytes(from.1, len);
    let bytes = bytes.expect("it is registered").to_vec();
    let place = Handler::<Out>::regions(&mut players[into.0 as usize]).bytes_mut(into.1, len);
    place.expect("it is registered").copy_from_slice(&bytes);
}

/// The placement of ranks on nodes, and the variation of durations.
struct Machine {
    parameters: Parameters,
    nodes: fn(u32) -> u32,
    seed: u64,
    /// Broken on purpose: the data of a write is there only when the write is complete.
    is_late: bool,
    /// Broken on purpose: atomics change nothing.
    loses_atomics: bool,
}

fn run(plan: &Plan, machine: &Machine) -> Result<(), ContractError> {
    let config =
        Config { seed: machine.seed, jitter_per_mille: 2000, ..Config::new(machine.parameters.clone()) };
    let jitter = if machine.seed == 0 {
        Jitter::new(&Config::new(machine.parameters.clone()))
    } else {
        Jitter::new(&config)
    };
    let nodes: Vec<u32> = (0..plan.ranks()).map(machine.nodes).collect();
    let wires = Rc::new(RefCell::new(Wires {
        network: Fabric::new(&machine.parameters, &nodes, jitter),
        queue: Queue::default(),
        packets: Vec::new(),
        writes: BTreeMap::new(),
        reads: BTreeMap::new(),
        read: BTreeMap::new(),
        atomics: BTreeMap::new(),
    }));
    let mut record = Recorder::new(plan.ranks(), false);
    let lent: Vec<RankMemory> = (0..plan.ranks()).map(|me| RankMemory::new(plan, me)).collect();
    let memories: Vec<Memory> = lent.iter().map(RankMemory::memory).collect();
    let mut players: Vec<_> =
        (0..).zip(lent).map(|(me, lent)| Player::new(plan, me, lent, &memories)).collect();
    let mut outs: Vec<Out> = (0..plan.ranks()).map(|me| Out { me, wires: Rc::clone(&wires) }).collect();
    for (player, out) in players.iter_mut().zip(&mut outs) {
        player.drive(Duration::ZERO, out);
    }
    loop {
        let delivered = {
            let Wires { network, queue, .. } = &mut *wires.borrow_mut();
            let Some(what) = queue.next() else { break };
            match what {
                Occurrence::Flow { flow, version } => {
                    network.flow_event(flow, version, queue);
                    None
                }
                Occurrence::Arrive { transfer } => {
                    network.arrived(transfer, queue).then(|| network.deliver(transfer, queue, &mut record))
                }
                Occurrence::Deliver { transfer } => Some(network.deliver(transfer, queue, &mut record)),
                Occurrence::Cpu { .. } | Occurrence::Wake { .. } => None,
            }
        };
        let Some(Transfer { from, to, load, .. }) = delivered else { continue };
        let mut tell = |players: &mut [Player<'_>], arrival, data: &[u8]| {
            players[to as usize].arrival(arrival, data, &mut outs[to as usize]);
        };
        match load {
            Load::Packet { packet, .. } => {
                let (Packet::Atp { receive: number } | Packet::Ats { send: number }) = packet else {
                    unreachable!("no others were posted");
                };
                let (head, data) = wires.borrow().packets[number.index as usize].clone();
                let arrival = Arrival::Packet {
                    from: RankId(from),
                    context: head.header().context(),
                    packet: head.header(),
                };
                tell(&mut players, arrival, &[head.body(), &data].concat());
            }
            Load::Write { owner: Owner::Message(request), .. } if !machine.is_late => {
                let write = wires.borrow().writes[&(from, request)];
                copy(&mut players, (from, write.from), (to, write.into), write.len);
            }
            Load::Write { .. } => {}
            Load::Written { owner: Owner::Message(request) } => {
                if machine.is_late {
                    let write = wires.borrow().writes[&(to, request)];
                    copy(&mut players, (to, write.from), (from, write.into), write.len);
                }
                tell(&mut players, Arrival::Written(request), &[]);
            }
            Load::ReadRequest { owner: Owner::Message(request), .. }
                if wires.borrow().atomics.contains_key(&(from, request)) =>
            {
                let atomic = wires.borrow().atomics[&(from, request)];
                let memory = Handler::<Out>::regions(&mut players[to as usize]);
                let word = memory.bytes_mut(atomic.target, Atomic::LEN).expect("it is registered");
                let found = word.to_vec();
                let before = u64::from_ne_bytes(word.try_into().expect("a word has 8 bytes"));
                if !machine.loses_atomics {
                    word.copy_from_slice(&atomic.op.apply(before).to_ne_bytes());
                }
                wires.borrow_mut().read.insert((from, request), found);
            }
            Load::ReadData { owner: Owner::Message(request), .. }
                if wires.borrow().atomics.contains_key(&(to, request)) =>
            {
                let found = wires.borrow_mut().read.remove(&(to, request)).expect("it was read");
                let found = u64::from_ne_bytes(found.try_into().expect("a word has 8 bytes"));
                tell(&mut players, Arrival::Fetched(request, found), &[]);
            }
            Load::ReadRequest { owner: Owner::Message(request), len, .. } => {
                let read = wires.borrow().reads[&(from, request)];
                let bytes = Handler::<Out>::regions(&mut players[to as usize]).bytes(read.from, len);
                let bytes = bytes.expect("it is registered").to_vec();
                wires.borrow_mut().read.insert((from, request), bytes);
            }
            Load::ReadData { owner: Owner::Message(request), len, .. } => {
                let read = wires.borrow().reads[&(to, request)];
                let data = wires.borrow_mut().read.remove(&(to, request)).expect("it was read");
                let place = Handler::<Out>::regions(&mut players[to as usize]).bytes_mut(read.into, len);
                place.expect("it is registered").copy_from_slice(&data);
                tell(&mut players, Arrival::Read(request), &[]);
            }
            Load::Written { .. }
            | Load::ReadRequest { .. }
            | Load::ReadData { .. }
            | Load::OfWindow { .. }
            | Load::Grant { .. }
            | Load::Apply { .. }
            | Load::Applied { .. } => unreachable!("no window was made"),
        }
    }
    let ranks: Vec<Option<Vec<Event>>> = players.into_iter().map(|player| Some(player.finish())).collect();
    check(plan, &ranks)
}

fn plans() -> Vec<Plan> {
    let generated = (0..12).map(|seed| generated_plan(seed, 2 + seed as u32 % 3, 100, &SIZE));
    let atomics = (0..12).map(|seed| generated_atomics(seed, 2 + seed as u32 % 3, 100, &SIZE));
    named_plans(&SIZE).into_iter().chain(generated).chain(atomic_plans(&SIZE)).chain(atomics).collect()
}

#[test]
fn every_plan_keeps_the_contract() {
    for name in Parameters::names() {
        let parameters = Parameters::named(name).expect("it comes with the simulator");
        let spreads: [fn(u32) -> u32; 3] = [|rank| rank, |_| 0, |rank| rank / 2];
        for (nodes, seed) in spreads.into_iter().flat_map(|nodes| (0..4).map(move |seed| (nodes, seed))) {
            let parameters = parameters.clone();
            let machine = Machine { parameters, nodes, seed, is_late: false, loses_atomics: false };
            for plan in plans() {
                assert_eq!(run(&plan, &machine), Ok(()), "{} over {name}, seed {seed}", plan.name);
            }
        }
    }
}

#[test]
fn data_that_is_late_is_found() {
    let parameters = Parameters::named("qdr").expect("it comes with the simulator");
    let machine = Machine { parameters, nodes: |rank| rank, seed: 0, is_late: true, loses_atomics: false };
    for name in ["writes of every size", "notices between sends", "everybody to everybody"] {
        let plan = plans().into_iter().find(|plan| plan.name == name).expect("there is such a plan");
        let found = run(&plan, &machine);
        assert!(matches!(found, Err(ContractError::DataMissing { .. })), "{name}: {found:?}");
    }
}

#[test]
fn atomics_that_change_nothing_are_found() {
    let parameters = Parameters::named("qdr").expect("it comes with the simulator");
    let machine = Machine { parameters, nodes: |rank| rank, seed: 0, is_late: false, loses_atomics: true };
    let plan = plans().into_iter().find(|plan| plan.name == "tickets").expect("there is such a plan");
    let found = run(&plan, &machine);
    assert!(matches!(found, Err(ContractError::NotAtomic { .. })), "{found:?}");
}
