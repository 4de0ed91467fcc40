//! Which calls take in what has arrived, and what that is for: data moves while both ranks compute. Both ranks are in one
//! thread here, so a request of one can only be complete without a call of the other if nothing was left to that.

use carrousel::{Any, Communicator, Request, in_one_thread};

/// Too large to be eager.
const LARGE: usize = 1 << 20;

fn two() -> [Communicator; 2] {
    let ends = in_one_thread(2).expect("it can be set up");
    let ends = <[Communicator; 2]>::try_from(ends).expect("there are two");
    // Both have met.
    ends[0].send(&[1u8], 1, 9).and_then(|()| ends[1].recv(&mut [0u8], 0, 9)).expect("it has come");
    ends[1].send(&[1u8], 0, 9).and_then(|()| ends[0].recv(&mut [0u8], 1, 9)).expect("it has come");
    ends
}

/// The send is complete without a call of its receiver, which has received these bytes.
#[track_caller]
fn both_are_done(mut send: Request<u8>, receive: Request<u8>, byte: u8) {
    if !send.test() {
        // Dropped, they would wait for each other.
        std::mem::forget((send, receive));
        panic!("the send waits for another call of the receiver");
    }
    let (received, _) = receive.wait().expect("it has come");
    assert!(received.iter().all(|received| *received == byte));
}

#[test]
fn an_early_receiver_has_its_message_when_isend_returns() {
    let [sender, receiver] = two();
    let receive = receiver.irecv(vec![0u8; LARGE], 0, 7).expect("it can be posted");
    let send = sender.isend(vec![5u8; LARGE], 1, 7).expect("it can be sent");
    both_are_done(send, receive, 5);
}

#[test]
fn an_early_sender_is_done_when_irecv_returns() {
    let [sender, receiver] = two();
    let send = sender.isend(vec![6u8; LARGE], 1, 7).expect("it can be sent");
    let receive = receiver.irecv(vec![0u8; LARGE], 0, 7).expect("it can be posted");
    both_are_done(send, receive, 6);
}

#[test]
fn a_call_takes_in_all_that_has_arrived_and_not_only_the_first() {
    let [sender, receiver] = two();
    // The announcement is behind so many messages.
    for _ in 0..100 {
        receiver.send(&[1u8; 100], 0, 1).expect("it is eager");
    }
    let receive = receiver.irecv(vec![0u8; LARGE], 0, 7).expect("it can be posted");
    let send = sender.isend(vec![7u8; LARGE], 1, 7).expect("it can be sent");
    both_are_done(send, receive, 7);
    for _ in 0..100 {
        sender.recv(&mut [0u8; 100], 1, 1).expect("they have come");
    }
}

#[test]
fn a_synchronous_send_of_any_size_finds_its_receive() {
    let [sender, receiver] = two();
    let send = sender.issend(vec![1u8; 8], 1, 7).expect("it can be sent");
    let receive = receiver.irecv(vec![1u8; LARGE], 0, 7).expect("it can be posted");
    both_are_done(send, receive, 1);
}

#[test]
fn a_call_that_stays_eager_answers_who_waits_for_a_rendezvous() {
    let [sender, receiver] = two();
    // A receive from any source is not announced: the data is read when the receiver hears of the message.
    let receive = receiver.irecv(vec![0u8; LARGE], Any, 7).expect("it can be posted");
    let send = sender.isend(vec![8u8; LARGE], 1, 7).expect("it can be sent");
    receiver.send(&[1u8], 0, 1).expect("it is eager");
    both_are_done(send, receive, 8);
    sender.recv(&mut [0u8], 1, 1).expect("it has come");
}
