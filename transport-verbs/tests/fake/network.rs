//! The networks between the adapters: how their ports are addressed, and where a way leads.

use super::world::ADAPTERS;
use rdma_sys as sys;

/// Ports of an adapter, at most.
pub(super) const PORTS: usize = 2;
/// Global identifiers of a port.
const GIDS: u8 = 2;

/// What is under a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    InfiniBand,
    Ethernet,
}

/// A port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FakePort {
    pub(crate) layer: Layer,
    /// 0 if it has none.
    pub(crate) lid: u16,
    /// The upper half of its global identifiers: which subnet it is in.
    pub(crate) prefix: u64,
    pub(crate) is_down: bool,
}

impl FakePort {
    pub(crate) const fn infiniband(lid: u16, prefix: u64) -> Self {
        Self { layer: Layer::InfiniBand, lid, prefix, is_down: false }
    }
}

/// A port of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) adapter: usize,
    /// Counted from 1.
    pub(super) number: u8,
    pub(super) port: FakePort,
}

impl Place {
    /// One of its global identifiers.
    pub(super) fn gid(&self, index: u8) -> Option<[u8; 16]> {
        const { assert!(ADAPTERS < 256) };
        let lower = [index, self.number - 1, self.adapter as u8 + 1];
        let lower = lower.into_iter().fold(0, |all, byte| all << 8 | u128::from(byte));
        (index < GIDS).then(|| (u128::from(self.port.prefix) << 64 | lower).to_be_bytes())
    }
}

/// The address part of a connection, or an address handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// The own port, counted from 1.
    pub(crate) port: u8,
    pub(crate) lid: u16,
    /// The global identifier, if there is a global header (`is_global`).
    pub(crate) gid: Option<[u8; 16]>,
    /// The index of the own global identifier.
    pub(crate) source: u8,
    pub(crate) service_level: u8,
}

impl Way {
    pub(super) fn new(attributes: &sys::ibv_ah_attr) -> Self {
        // SAFETY: 16 bytes, of which any value is one.
        let gid = unsafe { attributes.grh.dgid.raw };
        Self {
            port: attributes.port_num,
            lid: attributes.dlid,
            gid: (attributes.is_global != 0).then_some(gid),
            source: attributes.grh.sgid_index,
            service_level: attributes.sl,
        }
    }

    /// Whether a port takes it: it leaves by that port, under an identifier that it has. On Ethernet nothing but a global
    /// header says where to.
    pub(super) fn is_valid(&self, from: &Place) -> bool {
        let is_global = self.gid.is_some() && from.gid(self.source).is_some();
        self.port == from.number && (is_global || self.gid.is_none() && from.port.layer == Layer::InfiniBand)
    }

    /// Whether what leaves a port this way arrives at another one. A subnet knows its own LIDs; between subnets, and on
    /// Ethernet, it goes by global identifier.
    pub(super) fn leads(&self, from: &Place, to: &Place) -> bool {
        let is_near = from.port.layer == Layer::InfiniBand && from.port.prefix == to.port.prefix;
        let is_meant = match self.gid {
            Some(gid) => (0..GIDS).any(|index| to.gid(index) == Some(gid)),
            None => is_near && self.lid != 0 && self.lid == to.port.lid,
        };
        is_meant && from.port.layer == to.port.layer
    }
}
