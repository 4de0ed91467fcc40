//! The second queue pair to a peer, for packets without data: with a service level of their own, they need not wait
//! behind data, neither at the adapter nor in the network. What follows a write, as FIN does, and the notice of a read
//! stay behind them.
//!
//! Two queue pairs keep no order between them, so each packet is numbered in its direction.

use crate::frame::NUMBERED;
use crate::rail::Rail;
use crate::shared::Shared;
use crate::{Loss, VerbsError};
use carrousel_connection::{self as connection, Credits, ReorderBuffer, Rules, SequenceNumbers};
use carrousel_transport::Direction;

/// The second queue pair, and the order that packets have by both.
#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) rail: Rail,
    /// Packets that may be on their way from the peer.
    window: u16,
    /// By direction.
    sent: [SequenceNumbers<Rules>; 2],
    /// By direction: those that have come before their turn.
    come: [ReorderBuffer<Vec<u8>, Rules>; 2],
}

impl Control {
    pub(crate) fn new(rail: Rail, window: u16) -> Self {
        Self { rail, window, sent: Default::default(), come: Default::default() }
    }

    /// The kind of a packet that is posted now by the first rail.
    pub(crate) fn number(&mut self, direction: Direction) -> u16 {
        let numbers = &mut self.sent[direction as usize];
        let (number, _) = numbers.next(connection::Rail::First);
        numbers.sent(connection::Rail::First);
        NUMBERED | number
    }

    /// The peer's memory is changed by something that was posted without a notice.
    pub(crate) fn wrote(&mut self) {
        // Writes are of that direction.
        self.sent[Direction::ToReceiver as usize].wrote();
    }

    /// Posts a packet, by the first rail if it has data or has to be behind a write. False if it has to wait.
    pub(crate) fn send(
        &mut self,
        first: &mut Rail,
        shared: &mut Shared,
        credits: &mut Credits<Rules>,
        (direction, packet): (Direction, [&[u8]; 2]),
    ) -> Result<bool, VerbsError> {
        let numbers = &mut self.sent[direction as usize];
        let wish = if packet[1].is_empty() { connection::Rail::Second } else { connection::Rail::First };
        let (number, chosen) = numbers.next(wish);
        let rail = if chosen == connection::Rail::Second { &mut self.rail } else { first };
        let went = rail.send(shared, credits, NUMBERED | number, packet)?;
        if went {
            numbers.sent(chosen);
        }
        Ok(went)
    }

    /// Whether it is the turn of a packet that has come; if not, it is kept.
    pub(crate) fn is_next(&mut self, direction: Direction, number: u16, packet: &[u8]) -> Result<bool, Loss> {
        let order = &mut self.come[direction as usize];
        let is_next = order.is_next(number);
        if !is_next {
            let kept = order.keep(number, self.window, packet.to_vec());
            kept.map_err(|error| Loss::Nonsense(error.to_string()))?;
        }
        Ok(is_next)
    }

    /// A kept packet of the direction whose turn has come.
    pub(crate) fn ready(&mut self, direction: Direction) -> Option<Vec<u8>> {
        self.come[direction as usize].ready()
    }
}
