//! Messages of steady state allocate nothing.

use allocation_counter::measure;
use carrousel::in_one_thread;
use std::mem::take;

const WARM_UP: usize = 300;
const MESSAGES: usize = 5_000;

#[test]
fn messages_of_steady_state_allocate_nothing() {
    let mut ends = Vec::new();
    let counted = measure(|| ends = in_one_thread(2).expect("it can be set up"));
    assert!(counted.count_total > 0, "allocations are counted");
    let [one, other] = &ends[..] else { unreachable!("there are two") };
    // Eager, at the threshold, and a rendezvous; the buffers go to and fro.
    for size in [8, 16 << 10, 100_000] {
        let (mut sent, mut got) = (vec![1u8; size], vec![0u8; size]);
        let mut message = || {
            let mut receive = other.irecv(take(&mut got), 0, 3).expect("there is such a rank");
            let mut send = one.isend(take(&mut sent), 1, 3).expect("there is such a rank");
            // Both ranks are in this thread: neither may wait.
            while !receive.test() || !send.test() {}
            got = receive.wait().expect("it fits").0;
            sent = send.wait().expect("it is there").0;
        };
        (0..WARM_UP).for_each(|_| message());
        let counted = measure(|| (0..MESSAGES).for_each(|_| message()));
        assert_eq!(got, sent);
        assert_eq!(counted.count_total, 0, "messages of {size} bytes");
        // An eager message that its receive is too late for.
        for _ in 0..10 {
            one.send(&[1u8; 8], 1, 4).expect("it is there");
        }
    }
}
