//! What AddressSanitizer has to notice, so that its silence about the other tests means something.
//!
//! Each of these lends memory that is gone, as unsound code would: undefined behaviour, and ignored therefore.
//! `cargo xtask test` runs them one by one under the sanitizer, and wants to read what it says.

use carrousel::{Communicator, in_one_thread};
use std::hint::black_box;

/// More than is sent eagerly: it is copied from memory to memory, by the system where that is permitted.
const LARGE: usize = 100_000;

/// Memory that has been given back.
fn gone<'a>(len: usize) -> &'a mut [u8] {
    let memory = Box::into_raw(vec![1u8; len].into_boxed_slice());
    // SAFETY: it came from a box.
    drop(unsafe { Box::from_raw(memory) });
    // SAFETY: none, on purpose: the slice dangles.
    unsafe { &mut *black_box(memory) }
}

fn ends() -> [Communicator; 2] {
    let ends = in_one_thread(2).expect("it can be set up");
    ends.try_into().unwrap_or_else(|_| unreachable!("there are two"))
}

#[test]
#[ignore = "undefined behaviour on purpose, for AddressSanitizer to notice"]
fn a_message_is_sent_from_memory_that_is_gone() {
    let [one, _other] = ends();
    one.send(gone(8), 1, 0).expect("rank 1 is there");
}

#[test]
#[ignore = "undefined behaviour on purpose, for AddressSanitizer to notice"]
fn a_message_is_received_into_memory_that_is_gone() {
    let [one, other] = ends();
    one.send(&[1u8; 8], 1, 0).expect("rank 1 is there");
    other.recv(gone(8), 0, 0).expect("it has come");
}

#[test]
#[ignore = "undefined behaviour on purpose, for AddressSanitizer to notice"]
fn a_message_is_copied_into_memory_that_is_gone() {
    let [one, other] = ends();
    let mut send = one.isend(vec![1u8; LARGE], 1, 0).expect("rank 1 is there");
    let received = other.scope(|scope| {
        let mut receive = scope.irecv(gone(LARGE), 0, 0)?;
        // Both ranks are in this thread: neither may wait.
        while !receive.test() || !send.test() {}
        receive.wait()
    });
    received.expect("it has come");
}
