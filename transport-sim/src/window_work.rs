//! What epochs ask for, carried out: by the card, by a processor, or in the memory of a task.

use crate::error::SimError;
use crate::load::{Accumulation, Load, Owner};
use crate::windows::Arrival;
use crate::world::{World, copy_ns};
use carrousel_rank::epoch::{self, GrantWord, OperationId, Order, TransferKind};
use carrousel_rank::{Event, Protocol, RankId, WindowIndex, WindowWork};
use carrousel_schedule::Place;
use std::rc::Rc;

impl<P: Protocol> World<'_, P> {
    fn place(&self, rank: u32, target: RankId) -> Place {
        if self.network.are_neighbours(rank, target.0) { Place::Node } else { Place::Remote }
    }

    /// Whether work is to be carried out now; else the schedule has it.
    pub(crate) fn admits(&mut self, rank: u32, window: WindowIndex, work: WindowWork) -> bool {
        match work {
            WindowWork::Transfer { operation, transfer, .. } => {
                let place = (self.place(rank, transfer.target), transfer.target.0 == rank);
                let process = &mut self.processes[rank as usize];
                let is_closed = |window: &epoch::Window<_>| window.is_closed_around(operation);
                // In the call of an operation its epoch is open.
                let is_closed =
                    !process.windows.is_in_access() && process.rank.window(window).is_some_and(is_closed);
                process.windows.offer((window, operation, work), transfer, place, is_closed)
            }
            WindowWork::Post { to, .. } => self.processes[rank as usize].windows.notice(to, window, work),
            WindowWork::Store { .. } | WindowWork::Report(_) => true,
        }
    }

    /// The processor time of work.
    pub(crate) fn cost_of(&self, rank: u32, work: &WindowWork) -> u64 {
        match *work {
            WindowWork::Transfer {
                transfer: epoch::Transfer { target, kind, place, .. }, is_staged, ..
            } => {
                let len = place.bytes();
                match (self.place(rank, target), kind) {
                    (Place::Node, _) => self.network.copy_within_node_ns(len),
                    (Place::Remote, TransferKind::Put | TransferKind::Get) => self.cpu.post_ns,
                    // The card writes it from where it is.
                    (Place::Remote, _) if is_staged => self.cpu.post_ns,
                    (Place::Remote, _) => self.cpu.post_ns + copy_ns(&self.cpu, len),
                }
            }
            WindowWork::Post { .. } | WindowWork::Store { .. } => self.cpu.post_ns,
            WindowWork::Report(_) => 0,
        }
    }

    /// Carries out work of a window.
    pub(crate) fn perform_of_window(
        &mut self,
        rank: u32,
        window: WindowIndex,
        work: WindowWork,
    ) -> Result<(), SimError> {
        let now = self.queue.now();
        match work {
            WindowWork::Transfer { operation, transfer, is_staged, .. } => {
                let epoch::Transfer { target, kind, place, .. } = transfer;
                let len = place.bytes();
                if self.place(rank, target) == Place::Node {
                    self.lateness.landed(window, (rank, target.0), now);
                    self.take_place(rank, window, &transfer)?;
                    self.processes[rank as usize].windows.copied(window, operation);
                    return Ok(());
                }
                self.lateness.issued(window, (rank, target.0), now);
                let owner = Owner::Window(window, operation);
                let load = match kind {
                    TransferKind::Put => Load::Write { owner, len },
                    TransferKind::Get => Load::ReadRequest { owner, len, notice: None },
                    _ => {
                        let accumulation = Accumulation { kind, len, is_staged };
                        Load::Apply { window, operation, accumulation }
                    }
                };
                self.processes[rank as usize].windows.posted();
                self.network.post(rank, target.0, load, &mut self.queue);
            }
            WindowWork::Post { to, packet, order } => {
                if let epoch::Packet::Done { access } = packet {
                    self.lateness.done(window, (rank, to.0), access, now);
                }
                let (load, fenced) = (Load::OfWindow { window, packet }, order == Order::Fenced);
                self.network.post_with_fence(rank, to.0, load, fenced, &mut self.queue);
            }
            WindowWork::Store { to, word, value } => {
                if word == GrantWord::Locks {
                    self.lateness.lock_granted(window, rank, to.0);
                }
                self.network.post(rank, to.0, Load::Grant { window, word, value }, &mut self.queue);
            }
            WindowWork::Report(report) => {
                let line = self.processes[rank as usize].line();
                return Err(SimError::Reported { rank, line, report });
            }
        }
        Ok(())
    }

    /// A load of a window is delivered; what has arrived at whom.
    pub(crate) fn arrival(
        &mut self,
        (from, to): (u32, u32),
        load: &Load,
    ) -> Result<Option<Arrival>, SimError> {
        let sender = RankId(from);
        Ok(Some(match *load {
            Load::Written { owner: Owner::Window(window, operation) }
            | Load::ReadData { owner: Owner::Window(window, operation), .. }
            | Load::Applied { window, operation, .. } => {
                self.processes[to as usize].windows.came_back();
                Arrival::Window(window, epoch::Event::Complete(operation))
            }
            Load::OfWindow { window, packet } => {
                Arrival::Window(window, epoch::Event::Packet { from: sender, packet })
            }
            Load::Grant { window, word, value } => {
                Arrival::Window(window, epoch::Event::Granted { from: sender, word, value })
            }
            Load::Apply { window, operation, accumulation } => {
                Arrival::Apply { from, window, operation, accumulation }
            }
            Load::Write { owner: Owner::Window(window, operation), .. } => {
                self.lateness.landed(window, (from, to), self.queue.now());
                self.carry_out(from, window, operation)?;
                return Ok(None);
            }
            Load::ReadRequest { owner: Owner::Window(window, operation), .. } => {
                self.carry_out(from, window, operation)?;
                return Ok(None);
            }
            _ => return Ok(None),
        }))
    }

    /// An operation takes place at its target.
    fn carry_out(
        &mut self,
        origin: u32,
        window: WindowIndex,
        operation: OperationId,
    ) -> Result<(), SimError> {
        match self.processes[origin as usize].windows.transfer(window, operation) {
            Some(transfer) => self.take_place(origin, window, &transfer),
            None => Ok(()),
        }
    }

    /// The processor time of handling what has arrived.
    pub(crate) fn cost_of_arrival(&self, arrival: &Arrival) -> u64 {
        match arrival {
            Arrival::Message(Event::Packet { .. }) | Arrival::Window(_, epoch::Event::Packet { .. }) => {
                self.cpu.handle_ns
            }
            Arrival::Message(_) | Arrival::Window(..) => self.cpu.completion_ns,
            // A combination costs as much as a copy.
            Arrival::Apply { accumulation, .. } => self.cpu.handle_ns + copy_ns(&self.cpu, accumulation.len),
        }
    }

    /// A window is told what has arrived.
    pub(crate) fn tell_window(
        &mut self,
        rank: u32,
        window: WindowIndex,
        event: epoch::Event,
    ) -> Result<(), SimError> {
        let now = self.queue.now();
        let process = &mut self.processes[rank as usize];
        self.lateness.told(rank, process, window, event, now);
        if let Some(transfer) = process.windows.told(window, event) {
            process.operation_is_complete(transfer.local, now, &mut self.totals);
        }
        let told = process.rank.event_window(window, event, &mut process.outputs);
        told.map_err(|error| SimError::BrokenWindow { rank, line: process.line(), error })
    }

    /// Carries out an operation for its origin, and answers.
    pub(crate) fn apply(
        &mut self,
        rank: u32,
        from: u32,
        (window, operation): (WindowIndex, OperationId),
        accumulation: Accumulation,
    ) -> Result<(), SimError> {
        self.carry_out(from, window, operation)?;
        self.lateness.landed(window, (from, rank), self.queue.now());
        let load = Load::Applied { window, operation, accumulation };
        self.network.post(rank, from, load, &mut self.queue);
        if accumulation.is_staged {
            return self.tell_window(rank, window, epoch::Event::Applied { origin: RankId(from) });
        }
        Ok(())
    }

    /// An operation of a task takes place in the memory of its target. One of a scenario has no bytes.
    pub(crate) fn take_place(
        &mut self,
        origin: u32,
        window: WindowIndex,
        transfer: &epoch::Transfer,
    ) -> Result<(), SimError> {
        let memory = |rank: u32| {
            let data = self.processes[rank as usize].data.as_deref();
            data.and_then(|data| data.windows.get(window.0 as usize)).map(Rc::clone)
        };
        let Some(memory) = memory(transfer.target.0) else { return Ok(()) };
        let data = self.processes[origin as usize].data.as_deref_mut();
        let Some(operation) = data.and_then(|data| data.operations.get_mut(&transfer.local)) else {
            return Ok(());
        };
        if operation.take_place(&memory, transfer) {
            return Ok(());
        }
        let statement = operation.statement;
        let (rank, line) = (transfer.target.0, self.processes[transfer.target.0 as usize].line());
        let origin_line = self.processes[origin as usize].line_of(statement, &self.totals);
        Err(SimError::MemoryInUse { rank, line, origin, origin_line })
    }
}
