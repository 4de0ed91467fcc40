//! What a domain consists of, apart from the objects that the host holds: those name entries of tables here by position.

mod atomics;
mod av;
mod cntr;
mod cq;
mod ep;
mod messages;
mod mr;
mod ops;
mod rma;
mod rma_packets;
mod rma_target;
mod table;
mod untagged;

pub(crate) use self::atomics::{AtomicKind, atomic_count, datatype_size};
pub(crate) use self::av::{ADDRESS_BYTES, Av, bytes as address_bytes, text};
pub(crate) use self::cntr::Cntr;
pub(crate) use self::cq::{Cq, Failed, Format, Wait};
pub(crate) use self::ep::{Counted, Ep, EpOptions, Operation};
pub(crate) use self::messages::{Incoming, Outgoing};
pub(crate) use self::mr::{Mr, Mrs};
pub(crate) use self::rma::{Access, Local, OneSided, Place};
pub(crate) use self::rma_packets::PAYLOAD_BYTES;
pub(crate) use self::table::Table;

use crate::fi::Errno;

/// The parts of a domain.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) avs: Table<Av>,
    pub(crate) eps: Table<Ep>,
    pub(crate) shared: Shared,
}

/// The parts that operations of every endpoint touch.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) cqs: Table<Cq>,
    pub(crate) cntrs: Table<Cntr>,
    pub(crate) mrs: Mrs,
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
