//! The memory that a blocking collective lends to the library.
#![allow(unsafe_code, reason = "memory cannot be lent without")]

use crate::uninterrupted::uninterrupted;
use carrousel_engine::{BoxedError, CallSite, Endpoint, ReduceOp};
use carrousel_rank::{Collective, Kind};

/// Bytes of scratch that a rank keeps once a collective has asked for any.
const SCRATCH_MIN: usize = 4096;

/// Carries out a collective on these bytes, and waits until this rank's part is done. Hang reports call it `kind`.
pub(super) fn carry_out(
    endpoint: &mut Endpoint,
    call: Collective,
    source: &[u8],
    target: &mut [u8],
    op: Option<ReduceOp>,
    kind: Kind,
    site: CallSite,
) -> Result<(), BoxedError> {
    if call.kind == Kind::Barrier {
        // It has no bytes, so nothing is lent.
        return start_and_wait(endpoint, call, op, kind, site);
    }
    // No algorithm needs more than all contributions together. Where that is little, nobody has to find out how much less is
    // enough: that would be a twentieth of the instructions of a small allreduce.
    let all = call.len.saturating_mul(u64::from(endpoint.ranks()));
    let needed = match usize::try_from(all) {
        Ok(all) if all <= SCRATCH_MIN => all,
        _ => endpoint.scratch_len(&call)? as usize,
    };
    let mut scratch = std::mem::take(endpoint.scratch());
    if scratch.len() < needed {
        scratch.resize(needed.max(SCRATCH_MIN), 0);
    }
    let result = uninterrupted(|| {
        // SAFETY: `source` is borrowed until this function returns, which is after the request has ended
        // and the memory is deregistered. Noticed by: tests/collectives.rs, under AddressSanitizer.
        let source = unsafe { endpoint.register(source) };
        // SAFETY: as for `source`; borrowed mutably, so nobody else uses it.
        let target = unsafe { endpoint.register_mut(target) };
        // SAFETY: as for `target`: this function has the memory until it returns.
        let scratch = unsafe { endpoint.register_mut(&mut scratch[..needed]) };
        let call = Collective { source, target, scratch, ..call };
        let result = start_and_wait(endpoint, call, op, kind, site);
        for memory in [source, target, scratch] {
            endpoint.deregister(memory);
        }
        result
    });
    *endpoint.scratch() = scratch;
    result
}

/// Carries out a collective whose memory, if it has any, is lent already.
fn start_and_wait(
    endpoint: &mut Endpoint,
    call: Collective,
    op: Option<ReduceOp>,
    kind: Kind,
    site: CallSite,
) -> Result<(), BoxedError> {
    let request = endpoint.collective(call, op, kind, site)?;
    let result = endpoint.wait(request, site, |_| ());
    endpoint.end_collective(request);
    result
}
