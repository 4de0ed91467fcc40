//! Peers that live, and cannot be reached: who sends to them is told.
#![allow(unsafe_code, reason = "the endpoint's memory is lent by pointer")]

use carrousel_engine::{CallContext, Endpoint, LocalJob, SendEnvelope, SendKind};
use carrousel_rank::{Communicator, RankId, Tag};
use carrousel_transport_shm::Settings;

const WORLD: CallContext = CallContext { communicator: Communicator::WORLD, site: None };

#[test]
fn a_message_that_could_not_be_sent_is_an_error_of_its_call() {
    // The address of rank 1 is none: it has not been made.
    let mut endpoint = LocalJob::new(3).shm(0, Settings::default()).expect("there is memory");
    let send = |endpoint: &mut Endpoint, to| {
        let bytes = [7; 8];
        let envelope = SendEnvelope::new(RankId(to), Tag(1));
        // SAFETY: a request that has failed to start, or has been copied, does not use the bytes any more.
        unsafe { endpoint.send(&bytes, WORLD.caller(), envelope, SendKind::Blocking) }
    };
    for to in [1, 2] {
        let error = send(&mut endpoint, to).expect_err("nobody gets it");
        assert!(error.to_string().starts_with(&format!("rank {to} ")), "{error}");
    }
    send(&mut endpoint, 0).expect("a rank reaches itself");
    // From the next look on, it is lost.
    endpoint.poll();
    send(&mut endpoint, 1).expect_err("nobody gets it");
}
