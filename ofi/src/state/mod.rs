//! What a domain consists of, apart from the objects that the host holds: those name entries of tables here by position.

mod atomics;
mod av;
mod buffers;
mod calls;
mod cntr;
mod cq;
mod crowd;
mod ep;
mod hang_report;
mod messages;
mod mr;
mod ops;
mod pending;
mod pieces;
mod rma;
mod rma_packets;
mod rma_target;
mod shared;
mod silence;
mod table;
mod untagged;

pub(crate) use self::atomics::{AtomicKind, atomic_count, datatype_size};
pub(crate) use self::av::{ADDRESS_BYTES, ANY_ADDRESS, Av, bytes as address_bytes, text};
pub(crate) use self::calls::{Access, Counted, EpOptions, Incoming, OneSided, Operation, Outgoing, Place};
pub(crate) use self::cntr::Cntr;
pub(crate) use self::cq::{Completion, Cq, Failed, Format, Wait};
pub(crate) use self::ep::Ep;
pub(crate) use self::mr::Mr;
pub(crate) use self::pieces::{PIECES_MAX, Pieces};
pub(crate) use self::rma_packets::PAYLOAD_BYTES;
pub(crate) use self::shared::Shared;
pub(crate) use self::table::Table;

use crate::fi::Errno;

/// The parts of a domain.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) avs: Table<Av>,
    pub(crate) eps: Table<Ep>,
    pub(crate) shared: Shared,
}

impl State {
    /// An endpoint, and what its operations need beside it.
    #[inline]
    pub(crate) fn ep(&mut self, at: usize) -> Result<(&mut Ep, &Table<Av>, &mut Shared), Errno> {
        let Self { avs, eps, shared } = self;
        Ok((eps.get_mut(at).ok_or(Errno::INVALID)?, avs, shared))
    }

    /// Lets the messages of an endpoint move, and reports what has become complete.
    #[inline]
    pub(crate) fn progress(&mut self, ep: usize) {
        let Self { avs, eps, shared } = self;
        if let Some(ep) = eps.get_mut(ep) {
            ep.progress(avs, shared);
        }
    }

    /// The same for all endpoints that report to a completion queue.
    #[inline]
    pub(crate) fn progress_of_cq(&mut self, cq: usize) {
        let Self { avs, eps, shared } = self;
        for ep in eps.values_mut().filter(|ep| ep.reports_to_cq(cq)) {
            ep.progress(avs, shared);
        }
    }

    /// The same for all endpoints.
    pub(crate) fn progress_all(&mut self) {
        let Self { avs, eps, shared } = self;
        eps.values_mut().for_each(|ep| ep.progress(avs, shared));
    }
}
