//! The state that a rank keeps for each peer and communicator.

use alloc::vec::Vec;
use carrousel_matching::{Context, RankId};
use carrousel_rendezvous::Protocol;

/// Both ends that one rank has with one peer in one communicator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Flow<P: Protocol> {
    key: (RankId, Context),
    /// Matching messages from the peer that have been processed, modulo 2^32.
    pub(crate) processed: u32,
    /// This rank's end of the flow to the peer.
    pub(crate) sender: P::Sender,
    /// This rank's end of the flow from the peer.
    pub(crate) receiver: P::Receiver,
}

impl<P: Protocol> Flow<P> {
    fn new(key: (RankId, Context)) -> Self {
        let (sender, receiver) = Default::default();
        Self { key, processed: 0, sender, receiver }
    }
}

/// Flows by peer and communicator, created at first use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Flows<P: Protocol> {
    flows: Vec<Flow<P>>,
}

impl<P: Protocol> Flows<P> {
    pub(crate) const fn new() -> Self {
        Self { flows: Vec::new() }
    }

    pub(crate) fn with(&mut self, peer: RankId, context: Context) -> &mut Flow<P> {
        let key = (peer, context);
        let at = match self.flows.binary_search_by_key(&key, |flow| flow.key) {
            Ok(at) => at,
            Err(at) => {
                self.flows.insert(at, Flow::new(key));
                at
            }
        };
        &mut self.flows[at]
    }

    /// Lets `change` try; a flow that it refuses to begin is not created.
    pub(crate) fn attempt<E>(
        &mut self,
        peer: RankId,
        context: Context,
        change: impl FnOnce(&mut Flow<P>) -> Result<(), E>,
    ) -> Result<(), E> {
        let key = (peer, context);
        match self.flows.binary_search_by_key(&key, |flow| flow.key) {
            Ok(at) => change(&mut self.flows[at]),
            Err(at) => {
                let mut flow = Flow::new(key);
                change(&mut flow)?;
                self.flows.insert(at, flow);
                Ok(())
            }
        }
    }

    pub(crate) fn get(&self, peer: RankId, context: Context) -> Option<&Flow<P>> {
        let at = self.flows.binary_search_by_key(&(peer, context), |flow| flow.key).ok()?;
        Some(&self.flows[at])
    }
}
