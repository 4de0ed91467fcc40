//! What the objects of a host have in common: their domain, and its fabric.

use crate::bindings as b;
use crate::lock::Lock;
use crate::object::Object;
use crate::state::State;
use std::sync::Arc;

/// What domains and event queues of a fabric have in common.
#[derive(Debug)]
pub(crate) struct Fabric {
    /// The version of the interface that the host has asked for.
    pub(crate) version: u32,
}

/// A fabric that a host holds.
pub(crate) type FabricObject = Object<b::fid_fabric, Arc<Fabric>>;

/// A domain: all of its objects have it in common, and it ends with the last of them.
pub(crate) struct Domain {
    pub(crate) state: Lock<State>,
    /// How peers name places in registered memory, and whose the keys are.
    pub(crate) mr_mode: i32,
    pub(crate) fabric: Arc<Fabric>,
}

/// A domain that a host holds.
pub(crate) type DomainObject = Object<b::fid_domain, Arc<Domain>>;

/// A part of a domain that a host holds: its position in a table of the domain's state, or its key.
pub(crate) struct Part {
    pub(crate) domain: Arc<Domain>,
    pub(crate) at: usize,
}

impl Part {
    /// Uses the state of the domain.
    #[inline(always)]
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut State, usize) -> R) -> R {
        self.domain.state.with(|state| act(state, self.at))
    }
}
