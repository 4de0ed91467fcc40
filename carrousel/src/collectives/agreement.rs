//! Whether the ranks of a communicator call the same collective, where the option `check_usage` asks for it.
//!
//! Before each collective the ranks combine what they are about to call, by an allreduce of a [`Summary`]. Its messages are
//! the same whatever the ranks call, so they match and arrive even if those of the calls would not. A non-blocking barrier
//! must not wait for that; there the allreduce is the barrier, as no rank has its result before all have entered.
#![allow(unsafe_code, reason = "memory cannot be lent without")]

use super::carry_out::carry_out;
use super::reduce_op::on_bytes;
use crate::Error;
use crate::usage::{Joint, Summary};
use carrousel_engine::{BoxedError, CallSite, Endpoint};
use carrousel_options::CheckUsage;
use carrousel_rank::{self as rank, Collective, Handle, Kind, Memory};
use carrousel_system::stderr;
use zerocopy::{FromBytes, IntoBytes};

/// The allreduce of a [`Summary`], a single element that no algorithm divides.
fn exchange(communicator: rank::Communicator) -> Collective {
    let len = size_of::<Summary>();
    let barrier = Collective::barrier(communicator);
    Collective { kind: Kind::AllReduce, len: len as u64, element: len as u32, ..barrier }
}

/// A non-blocking [`exchange`]: as long as it is under way, its memory is the library's.
#[derive(Debug)]
pub(crate) struct Agreement {
    pub(super) request: Handle,
    communicator: rank::Communicator,
    /// The call of this rank, the summary of all calls, and scratch.
    lent: [Vec<u8>; 3],
    memory: [Memory; 3],
}

/// Checks that all ranks of a communicator are about to make the same call, if `check_usage` asks for it.
pub(crate) fn agree(
    endpoint: &mut Endpoint,
    communicator: rank::Communicator,
    call: Joint,
    site: CallSite,
) -> Result<(), Error> {
    if endpoint.check_usage() == CheckUsage::Off {
        return Ok(());
    }
    let own = Summary::of(endpoint.me(), call, site);
    let mut all = Summary::NONE;
    let (op, kind) = (on_bytes(Summary::with), reported(call));
    let exchange = exchange(communicator);
    carry_out(endpoint, exchange, own.as_bytes(), all.as_mut_bytes(), Some(op), kind, site)?;
    conclude(endpoint, communicator, &all)
}

/// Fails, or warns, if the ranks of a communicator call different things.
fn conclude(endpoint: &Endpoint, communicator: rank::Communicator, all: &Summary) -> Result<(), Error> {
    let Some(disagreement) = all.disagreement(communicator.index()) else { return Ok(()) };
    if endpoint.check_usage() == CheckUsage::Error {
        return Err(Error::Disagreement(Box::new(disagreement)));
    }
    if all.is_told_by(endpoint.me()) {
        stderr::tell(format!("carrousel: warning: {disagreement}"));
    }
    Ok(())
}

/// The operation that a hang report names for a rank that waits in the exchange.
fn reported(call: Joint) -> Kind {
    match call {
        Joint::Collective(signature) => signature.kind,
        Joint::Ibarrier | Joint::Finalize => Kind::Barrier,
    }
}

/// Starts to check that all ranks of a communicator make the same call.
pub(super) fn begin_agreement(
    endpoint: &mut Endpoint,
    communicator: rank::Communicator,
    call: Joint,
    site: CallSite,
) -> Result<Agreement, BoxedError> {
    let exchange = exchange(communicator);
    let needed = endpoint.scratch_len(&exchange)? as usize;
    let own = Summary::of(endpoint.me(), call, site);
    let mut lent = [own.as_bytes().to_vec(), Summary::NONE.as_bytes().to_vec(), vec![0; needed]];
    let [source, target, scratch] = &mut lent;
    // SAFETY: the bytes are on the heap and stay where they are when `lent` moves into the agreement, which uses them
    // no more until `end_agreement` has released the keys, after the request has ended; if the agreement is leaked,
    // so are the bytes.
    let source = unsafe { endpoint.register(source.as_slice()) };
    // SAFETY: as for `source`, and nobody else has the target.
    let target = unsafe { endpoint.register_mut(target.as_mut_slice()) };
    // SAFETY: as for `target`.
    let scratch = unsafe { endpoint.register_mut(scratch.as_mut_slice()) };
    let memory = [source, target, scratch];
    let exchange = Collective { source, target, scratch, ..exchange };
    match endpoint.collective(exchange, Some(on_bytes(Summary::with)), reported(call), site) {
        Ok(request) => Ok(Agreement { request, communicator, lent, memory }),
        Err(error) => {
            memory.iter().for_each(|memory| endpoint.deregister(*memory));
            Err(error)
        }
    }
}

/// The result of the check, once its request has ended.
pub(crate) fn end_agreement(endpoint: &mut Endpoint, agreement: &Agreement) -> Result<(), Error> {
    let Agreement { request, communicator, lent: [_, all, _], memory } = agreement;
    memory.iter().for_each(|memory| endpoint.deregister(*memory));
    endpoint.end_collective(*request);
    let wrong = Error::Internal("a summary of calls has another size");
    let all = Summary::read_from_bytes(all).map_err(|_| wrong)?;
    conclude(endpoint, *communicator, &all)
}
