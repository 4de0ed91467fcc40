//! What the figures share: one message, its two ends, and how much of it computing hides.

use crate::measure::{FigureError, Labelled, Machine};
use carrousel_transport_sim::{Protocol, Report};

/// The networks that a figure is drawn for, with the thesis's name of each.
pub(super) const NETWORKS: [(&str, &str); 2] = [("ddr-iwarp", "iWARP"), ("qdr", "InfiniBand")];

/// The thesis's chapter 4 has one of them.
pub(super) const IWARP: &str = "ddr-iwarp";

pub(super) fn run(text: &str, network: &str, protocol: Protocol) -> Result<Report, FigureError> {
    Machine::new(network)?.with(|config| config.protocol = protocol).run(text)
}

/// The end of a message that a figure is about; it is rank 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Send,
    Receive,
}

/// The rank that comes first, and by how many nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    Sender(u64),
    Receiver(u64),
}

/// A message: this side computes for `compute_ns` between its call and `wait`, the other side blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) side: Side,
    pub(super) first: First,
    pub(super) size: u64,
    pub(super) compute_ns: u64,
}

impl Message {
    pub(super) fn text(self) -> String {
        let Self { side, first, size, compute_ns } = self;
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
}

/// The overlap ratio as the thesis measures it (3.6.1, equation 3.4): the computation grows by a twentieth of the latency
/// without any until the loop is a tenth longer.
pub(super) fn overlap_ratio(
    head: &str,
    network: &str,
    protocol: Protocol,
    message: Message,
) -> Result<f64, FigureError> {
    let latency = |compute_ns| {
        let text = Message { compute_ns, ..message }.text();
        run(&format!("{head}{text}"), network, protocol)?.between("begin", "end")
    };
    let alone = latency(0)?;
    let mut best = 0.0;
    for twentieth in 1..=40 {
        let compute = alone * f64::from(twentieth) / 20.0;
        let with = latency((compute * 1000.0) as u64)?;
        if with >= alone * 1.1 {
            break;
        }
        best = (compute - (with - alone)) / alone;
    }
    Ok(best)
}
