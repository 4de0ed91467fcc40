//! Progress of the speculative protocols (speculative-rendezvous 4.4.1, figure 4.14): 1 MB, a delay.

use crate::{First, Side, between, one_message, run};
use carrousel_transport_sim::Protocol::{self, Mirror, Published, Rget};

const SIZE: u64 = 1 << 20;
const NETWORK: &str = "ddr-iwarp";

/// When the data is in place at the receiver, which delays, counted from its call.
fn received(protocol: Protocol, first: First, delay: u64) -> f64 {
    let report = run(&one_message(Side::Receive, first, SIZE, delay), NETWORK, protocol);
    let begin = report.labelled(0, "begin").next().expect("the label is there").begin_us;
    let transfer = report.timeline.transfers(0).next().expect("a transfer");
    transfer.end_ns as f64 / 1000.0 - begin
}

/// The latency at the receiver, which blocks, when the sender delays.
fn latency(protocol: Protocol, first: First, delay: u64, size: u64) -> f64 {
    let report = run(&one_message(Side::Send, first, size, delay), NETWORK, protocol);
    between(&report, 1, "other", "other")
}

const DELAYS: [u64; 5] = [0, 500_000, 1_000_000, 2_000_000, 4_000_000];

/// "Receive flat": the data is there at the same time, however long the receiver's delay.
#[test]
fn figure_4_14_receive_side_is_flat() {
    for first in [First::Sender(20_000), First::Receiver(20_000)] {
        for protocol in [Mirror, Published] {
            let times = DELAYS.map(|delay| received(protocol, first, delay));
            println!("{first:?} {protocol:?}: {times:?}");
            assert!(times.iter().all(|time| *time < times[0] * 1.01), "{times:?}");
        }
        let current = DELAYS.map(|delay| received(Rget, first, delay));
        assert!(current[4] - current[3] > 1999.0, "the classical receiver is shifted: {current:?}");
    }
}

/// "Send: 4 to 15 % of the latency left after the delay": the published rules tell the receiver of its
/// data after the delay; under the mirror rules the notice stands behind the data.
#[test]
fn figure_4_14_send_side_leaves_a_part_after_the_delay() {
    for first in [First::Sender(20_000), First::Receiver(20_000)] {
        let flat = DELAYS.map(|delay| latency(Mirror, first, delay, SIZE));
        assert!(flat.iter().all(|time| *time < flat[0] * 1.01), "{flat:?}");
    }
    let flat = DELAYS.map(|delay| latency(Published, First::Sender(20_000), delay, SIZE));
    assert!(flat.iter().all(|time| *time < flat[0] * 1.01), "{flat:?}");

    for size in [(128 << 10) + 1, 256 << 10, 512 << 10, SIZE] {
        let first = First::Receiver(20_000);
        let without = latency(Published, first, 0, size) - 20.0;
        let left = (latency(Published, first, 4_000_000, size) - 4020.0) / without;
        println!("published, {size}: {:.2} % of the latency after the delay", left * 100.0);
        assert!(left > 0.005 && left < 0.15, "{left}");
    }
}
