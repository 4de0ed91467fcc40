//! Chapter 3: the classical protocols (speculative-rendezvous 3.6), and the network itself.

use crate::overlap::ratio;
use crate::{First, Side, between, one_message, run};
use carrousel_transport_sim::Protocol::{self, Mirror, Rget, Rput};

/// nonblocking-rma-epochs VIII: "a put of 1 MB lasts about 340 us".
#[test]
fn one_mebibyte_takes_340_us_on_qdr() {
    let report = run(&one_message(Side::Receive, First::Receiver(5000), 1 << 20, 0), "qdr", Mirror);
    let write = report.timeline.transfers(0).next().expect("a write");
    let us = (write.end_ns - write.start_ns) as f64 / 1000.0;
    println!("a write of 1 MiB takes {us} us");
    assert!((us - 340.0).abs() < 3.4, "{us}");
}

/// Figure 3.14, long messages and what an eager receiver overlaps: "eager high; read: send high, receive about 0; write: both about 0".
#[test]
fn figure_3_14_overlap_of_the_classical_protocols() {
    for network in ["qdr", "ddr-iwarp"] {
        for size in [256 << 10, 1 << 20] {
            // Both ends come out of a synchronization.
            let of = |protocol, side| ratio(network, protocol, side, First::Sender(0), size);
            let (read, write) = (of(Rget, Side::Send), of(Rput, Side::Send));
            println!("{network} {size} send: rget {read:.3}, rput {write:.3}");
            assert!(read > 0.85 && write < 0.1, "send: rget {read}, rput {write}");
            let (read, write) = (of(Rget, Side::Receive), of(Rput, Side::Receive));
            println!("{network} {size} receive: rget {read:.3}, rput {write:.3}");
            assert!(read < 0.1 && write < 0.1, "receive: rget {read}, rput {write}");
            // A sender that is early by more than its RTS travels does not help: nobody looks for it.
            let early = ratio(network, Rget, Side::Receive, First::Sender(10_000), size);
            assert!(early < 0.02, "receive, sender early: {early}");
        }
        // An eager send is complete at once, so there is nothing that its sender could overlap.
        let eager = ratio(network, Rget, Side::Receive, First::Sender(0), 8 << 10);
        println!("{network} eager: receive {eager:.3}");
        assert!(eager > 0.5);
    }
}

/// How much longer the blocking end waits for each microsecond of the other end's delay, 0 to 1.
fn growth(network: &str, protocol: Protocol, size: u64) -> f64 {
    let latency = |delay| {
        let report = run(&one_message(Side::Send, First::Receiver(0), size, delay), network, protocol);
        between(&report, 1, "other", "other")
    };
    (latency(4_000_000) - latency(2_000_000)) / 2000.0
}

/// Figure 3.15, send side: eager and read do not depend on the sender's delay, write is shifted by it.
#[test]
fn figure_3_15_progress_of_the_classical_sender() {
    for network in ["qdr", "ddr-iwarp"] {
        assert!(growth(network, Rget, 8 << 10) < 0.01);
        assert!(growth(network, Rget, 256 << 10) < 0.01);
        assert!(growth(network, Rput, 256 << 10) > 0.99);
    }
}

/// Figure 3.15, receive side: all of a long message, but only a part of an eager one, remains after the
/// delay.
#[test]
fn figure_3_15_progress_of_the_classical_receiver() {
    for network in ["qdr", "ddr-iwarp"] {
        for protocol in [Rget, Rput] {
            let remains = |size: u64, delay: u64| {
                let text = one_message(Side::Receive, First::Receiver(0), size, delay);
                let report = run(&text, network, protocol);
                between(&report, 0, "begin", "end") - delay as f64 / 1000.0
            };
            for (size, least, most) in [(256 << 10, 0.9, 1.1), (8 << 10, 0.05, 0.6)] {
                let share = remains(size, 4_000_000) / remains(size, 0);
                println!("{network} {protocol:?} {size}: {share:.3} of the latency after the delay");
                assert!((least..most).contains(&share), "{share}");
            }
        }
    }
}
