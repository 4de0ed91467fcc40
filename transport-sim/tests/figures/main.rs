//! The figures of the papers, as shapes: relations with a tolerance, never absolute times.
//!
//! Scenarios are written as text, with the sizes and times of the figure's axis. What the figures say, and
//! what comes out here (`cargo test --test figures -- --nocapture` prints all of it):
//!
//! | figure | paper | here, `ddr-iwarp` |
//! | --- | --- | --- |
//! | 3.14 send overlap, read / write | high / about 0 | 99.8 % / 2-5 % |
//! | 3.14 receive overlap, read / write | about 0 / about 0 | 1-3 % / 1-3 % |
//! | 4.13 receive overlap, sender early | < 10 % to > 80 % | 0 % to 99 % |
//! | 4.13 receive overlap, receiver early | < 10 % to > 92 % | 2-10 % to 99 % |
//! | 4.13 send overlap, receiver early | 2 to 14 % less | up to 0.5 % less |
//! | 4.14 left after the sender's delay | 4 to 15 % | 0.9 % (1 MB) to 6 % (128 KB); mirror 0 |
//! | 4.16 model 1, best improvement | 32 % at 80 % | 31 % at 64 %; mirror 33 % |
//! | 4.16 model 2, best improvement | 20 % at 50 % | 30 % at 63 % |
//! | 4.19a crossing RTRs, rendezvous | < 3 % | 0.2 %; adaptive 0.02 % (mirror) |
//! | 4.19b extra bytes | < 0.04 % | 0.03 % |

mod adaptation;
mod baseline;
mod epochs;
mod exchange;
mod overlap;
mod progress;

use carrousel_transport_sim::{Config, Network, Protocol, Report, simulate};

/// Runs a scenario; a text that is wrong, or a run that fails, is a bug of the test.
fn run(text: &str, network: &str, protocol: Protocol) -> Report {
    let scenario = match carrousel_scenario::load("figure.scn", text.as_bytes()) {
        Ok(scenario) => scenario,
        Err(error) => panic!("{}\n{text}", error.render(false)),
    };
    let config =
        Config { protocol, ..Config::new(Network::named(network).expect("it comes with the simulator")) };
    simulate(&scenario, &config).unwrap_or_else(|error| panic!("{protocol:?}: {error}\n{text}"))
}

/// From the begin of the statement `from` of a rank to the end of its statement `to`, in microseconds.
fn between(report: &Report, rank: u32, from: &str, to: &str) -> f64 {
    let first = report.labelled(rank, from).next().expect("the label is there");
    let last = report.labelled(rank, to).last().expect("the label is there");
    last.end_us - first.begin_us
}

/// Which end of a message a figure is about; it is rank 0.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    Send,
    Receive,
}

/// Which rank comes first, and by how many nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum First {
    Sender(u64),
    Receiver(u64),
}

/// A message of `size` bytes: this side computes for `compute_ns` between its call and `wait`, the other
/// side blocks.
fn one_message(side: Side, first: First, size: u64, compute_ns: u64) -> String {
    let late = |own: bool| match (first, own == (side == Side::Send)) {
        (First::Receiver(ns), true) | (First::Sender(ns), false) => ns,
        _ => 0,
    };
    let (call, other) = match side {
        Side::Send => ("isend to", "recv from"),
        Side::Receive => ("irecv from", "send to"),
    };
    format!(
        "ranks 2\nrank 0\n compute {}ns\n begin: r = {call} 1 tag 0 size {size}\n compute {compute_ns}ns\n \
         end: wait r\nrank 1\n compute {}ns\n other: {other} 0 tag 0 size {size}\n",
        late(true),
        late(false)
    )
}
