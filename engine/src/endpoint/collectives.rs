//! Collectives: their memory, which is registered for as long as they run, and their requests.

use super::Endpoint;
use super::pending::What;
use super::reductions::ReduceOp;
use super::registry::Registry;
use crate::error::BoxedError;
use crate::site::CallSite;
use carrousel_rank::{Call, Collective, Handle, Kind, Memory};

impl Endpoint {
    /// Registers memory that collectives read.
    ///
    /// # Safety
    ///
    /// The bytes are valid for reads, and nobody writes to them, until they are deregistered.
    #[allow(unsafe_code, reason = "passes on what the caller promises about its memory")]
    #[inline]
    pub unsafe fn register(&mut self, bytes: *const [u8]) -> Memory {
        // SAFETY: as the caller promises.
        unsafe { self.driver.resources.registry.register(bytes.cast(), bytes.len()) }
    }

    /// Registers memory that collectives read and write.
    ///
    /// # Safety
    ///
    /// The bytes are valid for reads and writes, initialised, and not used by anybody else, until they are deregistered.
    #[allow(unsafe_code, reason = "passes on what the caller promises about its memory")]
    #[inline]
    pub unsafe fn register_mut(&mut self, bytes: *mut [u8]) -> Memory {
        // SAFETY: as the caller promises.
        unsafe { self.driver.resources.registry.register_mut(bytes.cast(), bytes.len()) }
    }

    /// Ends the registration of memory, which no open request uses.
    #[inline]
    pub fn deregister(&mut self, memory: Memory) {
        self.driver.resources.registry.release(memory.key);
    }

    /// The number of scratch bytes that a collective needs.
    pub fn scratch_len(&self, call: &Collective) -> Result<u64, BoxedError> {
        Ok(self.driver.rank.schedule(call)?.scratch_len())
    }

    /// Scratch memory of earlier collectives, for reuse.
    pub fn scratch(&mut self) -> &mut Vec<u8> {
        &mut self.scratch
    }

    /// Starts a collective, whose memory is registered. Hang reports call it `kind`.
    pub fn collective(
        &mut self,
        call: Collective,
        op: Option<ReduceOp>,
        kind: Kind,
        site: CallSite,
    ) -> Result<Handle, BoxedError> {
        self.reach_all()?;
        self.driver.resources.reductions.start(op);
        let request = self.start(Call::Collective(call), What::Collective(kind), Registry::NONE.key, site);
        self.driver.resources.reductions.started(request.as_ref().ok().copied());
        request
    }

    /// Forgets the operation of a collective that has ended.
    pub fn end_collective(&mut self, request: Handle) {
        self.driver.resources.reductions.end(request);
    }

    /// Fails if a rank of the job cannot be reached.
    fn reach_all(&self) -> Result<(), BoxedError> {
        if self.neighbours.len() == self.ranks as usize || self.net.is_some() {
            return Ok(());
        }
        match (0..self.ranks).find(|rank| !self.is_reachable(*rank)) {
            Some(rank) => Err(self.unreachable(rank)),
            None => Ok(()),
        }
    }
}
