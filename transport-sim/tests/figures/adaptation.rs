//! What speculation costs where it is of no use (speculative-rendezvous 4.4.2, 4.4.3).

use crate::run;
use carrousel_transport_sim::Protocol::{Mirror, Published, Rget};
use carrousel_transport_sim::{Protocol, Report};

fn with(text: &str, network: &str, protocol: Protocol, speculation: &str) -> Report {
    run(&format!("option speculation {speculation}\n{text}"), network, protocol)
}

/// By how much `speculation` makes a run longer than a rendezvous by read without announcements and
/// their acknowledgements, in percent. Under the published rules that is the classical one, in which too the
/// receiver says itself that it has read.
fn overhead(text: &str, network: &str, protocol: Protocol, speculation: &str) -> f64 {
    let by_read = if protocol == Published { Rget } else { protocol };
    let off = with(text, network, by_read, "off").makespan_us;
    (with(text, network, protocol, speculation).makespan_us / off - 1.0) * 100.0
}

fn crossing(size: u64, rounds: u32) -> String {
    format!(
        "ranks 2\nrank *\n repeat {rounds}\n r = irecv from 1-me tag 0 size {size}\n \
         s = isend to 1-me tag 0 size {size}\n wait r\n wait s\n end\n"
    )
}

/// Figure 4.19a: "eager < 1 %, rendezvous < 3 % without adaptation". With it nothing is left under the
/// mirror rules; under the published rules a receive that was not announced acknowledges the RTS, which
/// costs as much as the RTR that it saves.
#[test]
fn figure_4_19_crossing_announcements_cost_little() {
    for (network, sizes) in
        [("qdr", [32 << 10, 64 << 10, 1 << 20]), ("ddr-iwarp", [129 << 10, 256 << 10, 1 << 20])]
    {
        for size in sizes {
            let text = crossing(size, 1000);
            for protocol in [Mirror, Published] {
                let always = with(&text, network, protocol, "always");
                assert_eq!(always.statistics.rtrs_used(), 0, "all of them cross");
                let always = overhead(&text, network, protocol, "always");
                let adaptive = overhead(&text, network, protocol, "adaptive");
                println!("{network} {protocol:?} {size}: always {always:.3} %, adaptive {adaptive:.3} %");
                assert!(
                    always < 3.0 && adaptive < if protocol == Mirror { 0.2 } else { 1.0 },
                    "{always}, {adaptive}"
                );
            }
        }
        let eager = overhead(&crossing(8 << 10, 1000), network, Mirror, "always");
        println!("{network} eager: {eager:.3} %");
        assert!(eager < 1.0);
    }
}

/// Figure 4.19b: "less than 0.04 % extra data".
#[test]
fn figure_4_19_announcements_are_small() {
    for protocol in [Mirror, Published] {
        let statistics = with(&crossing(256 << 10, 1000), "ddr-iwarp", protocol, "always").statistics;
        let extra = |kind: &str| statistics.by_kind.get(kind).map_or(0, |count| count.bytes);
        let extra = extra("RTR") + extra("RTS-ACK") + extra("RTR-ACK") + extra("ACK");
        let share = extra as f64 / statistics.data_bytes as f64 * 100.0;
        println!("{protocol:?}: {share:.4} % extra data");
        assert!(share < 0.04, "{share}");
    }
}

/// 4.2.6: below the threshold announcements stop, and what they would have cost is saved.
#[test]
fn useless_announcements_cost_at_most_one_percent() {
    let sender_early = "ranks 2\nrank 0\n repeat 400\n s = isend to 1 tag 0 size 256KiB\n wait s\n end\n\
                        rank 1\n repeat 400\n compute 20us\n recv from 0 tag 0 size 256KiB\n end\n";
    let eager = "ranks 2\nrank 0\n repeat 2000\n send to 1 tag 0 size 4KiB\n recv from 1 tag 1 size 8\n end\n\
                 rank 1\n repeat 2000\n recv from 0 tag 0 size 64KiB\n send to 0 tag 1 size 8\n end\n";
    let mostly_eager = "ranks 2\nrank 0\n repeat 200\n send to 1 tag 0 size 64KiB\n repeat 9\n \
                        send to 1 tag 0 size 4KiB\n recv from 1 tag 1 size 8\n end\n end\n\
                        rank 1\n repeat 200\n recv from 0 tag 0 size 64KiB\n repeat 9\n \
                        recv from 0 tag 0 size 64KiB\n send to 0 tag 1 size 8\n end\n end\n";
    for (name, text) in [("sender early", sender_early), ("eager", eager), ("mostly eager", mostly_eager)] {
        for protocol in [Mirror, Published] {
            let cost = overhead(text, "qdr", protocol, "adaptive");
            println!("{name} {protocol:?}: adaptive {cost:.3} %");
            assert!(cost <= 1.0, "{cost}");
        }
    }
}
