//! Figures 3.14 and 3.15: the classical protocols, by read (RGET) and by write (RPUT) (speculative-rendezvous 3.6).

use super::message::{First, Message, NETWORKS, Side, overlap_ratio, run};
use crate::entry::Points;
use crate::figure::{Comparison, Figure, Panel, Point, Scale};
use crate::measure::{FigureError, Labelled, size};
use carrousel_transport_sim::Protocol::{self, Rget, Rput};

const SERIES: [(&str, Protocol); 2] = [("rget [RGET]", Rget), ("rput [RPUT]", Rput)];

/// The eager thresholds of chapter 3 (table 3.1).
fn head(network: &str) -> &'static str {
    if network == "qdr" { "option eager_threshold 9KiB\n" } else { "option eager_threshold 32KiB\n" }
}

const SIZES: [u64; 8] = [1 << 10, 4 << 10, 8 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20];

/// Figure 3.14: overlap.
pub(super) fn figure_3_14(points: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(
        "SR 3.14",
        "How much computing the classical rendezvous overlaps",
        "Both ends come out of a synchronization; one blocks, the other starts its call, computes and waits. The share of the \
         latency that can be computed without making the loop a tenth longer.",
    );
    for (network, in_paper) in NETWORKS {
        for side in [Side::Send, Side::Receive] {
            let title = if side == Side::Send { "send side" } else { "receive side" };
            let mut panel =
                Panel::new(&format!("{network} [{in_paper}], {title}"), "bytes", Scale::Sizes, "overlap");
            for (name, protocol) in SERIES {
                let sizes = match points {
                    Points::All | Points::Large => SIZES.to_vec(),
                    Points::Few => vec![8 << 10, 256 << 10, 1 << 20],
                };
                let (mut series, mut large, mut eager) = (Vec::new(), Vec::new(), Vec::new());
                for bytes in sizes {
                    let message = Message { side, first: First::Sender(0), size: bytes, compute_ns: 0 };
                    let share = overlap_ratio(head(network), network, protocol, message)?;
                    // "Approaches 100 % for 1MB messages".
                    let stated = protocol == Rget && side == Side::Send && bytes == 1 << 20;
                    series.push(Point::at(bytes as f64, share).paper(stated.then_some(1.0)));
                    let what = size(bytes);
                    if bytes == 8 << 10 && side == Side::Receive {
                        eager.push(Comparison::at_least(&what, share, 0.5));
                    }
                    if bytes >= 256 << 10 {
                        large.push(match (protocol, side) {
                            (Rget, Side::Send) => Comparison::at_least(what, share, 0.85),
                            _ => Comparison::at_most(what, share, 0.1),
                        });
                    }
                }
                panel.series(name, series);
                let says = match (protocol, side) {
                    (Rget, Side::Send) => "the sender of a large message is almost free",
                    (_, Side::Send) => {
                        "the sender of a large message has to answer, and overlaps next to nothing"
                    }
                    _ => "the receiver of a large message begins in its wait, and overlaps next to nothing",
                };
                figure.says(format!("{network}, {name}: {says}"), large);
                if side == Side::Receive {
                    figure.says(
                        format!("{network}, {name}: a receiver overlaps most of an eager message"),
                        eager,
                    );
                }
            }
            figure.panels.push(panel);
        }
        // A sender that is early by more than its RTS travels does not help: no call looks for it (3.6.1).
        let message =
            Message { side: Side::Receive, first: First::Sender(10_000), size: 1 << 20, compute_ns: 0 };
        let early = overlap_ratio(head(network), network, Rget, message)?;
        figure.says(
            format!("{network}, rget: an RTS that has come is not seen in the call of a receive"),
            [Comparison::at_most("1 MiB, sender 10 us early", early, 0.02)],
        );
    }
    figure.differs(
        "An eager send is complete here when its call returns, so that it leaves nothing to overlap; the thesis shows high \
         overlap, because its sends are complete once the card has sent. Myrinet, whose library has a thread for progress, \
         is not simulated.",
    );
    Ok(figure)
}

const DELAYS_MS: [u64; 5] = [0, 1, 2, 3, 4];

/// Figure 3.15: progress.
pub(super) fn figure_3_15(points: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(
        "SR 3.15",
        "Which classical messages move while one end computes",
        "One end starts its call and computes for longer than the message takes; the other blocks. Send side: the latency at \
         the receiver. Receive side: the time until the receive is complete. 8 KB and 256 KB.",
    );
    let delays = points.of(&DELAYS_MS);
    for (network, in_paper) in NETWORKS {
        for side in [Side::Send, Side::Receive] {
            let title = if side == Side::Send { "sender computes" } else { "receiver computes" };
            let mut panel = Panel::new(
                &format!("{network} [{in_paper}], {title}"),
                "ms of computing",
                Scale::Linear,
                "us",
            );
            for (name, protocol, bytes) in [
                ("8 KiB", Rget, 8 << 10),
                ("256 KiB, rget [RGET]", Rget, 256 << 10),
                ("256 KiB, rput [RPUT]", Rput, 256 << 10),
            ] {
                let us = |delay_ms: u64| -> Result<f64, FigureError> {
                    let message = Message {
                        side,
                        first: First::Receiver(0),
                        size: bytes,
                        compute_ns: delay_ms * 1_000_000,
                    };
                    let report = run(&format!("{}{}", head(network), message.text()), network, protocol)?;
                    match side {
                        Side::Send => report.between("other", "other"),
                        Side::Receive => report.between("begin", "end"),
                    }
                };
                let mut series = Vec::new();
                for delay in &delays {
                    series.push(Point::at(*delay as f64, us(*delay)?));
                }
                panel.series(name, series);
                let (alone, late, later) = (us(0)?, us(2)?, us(4)?);
                let who = format!("{network}, {name}");
                if side == Side::Send {
                    let growth = (later - late) / 2000.0;
                    let what = "us of latency for each us of delay";
                    let (says, comparison) = match protocol {
                        Rput => (
                            "the sender's delay shifts the message",
                            Comparison::at_least(what, growth, 0.99),
                        ),
                        _ => (
                            "the message does not wait for the sender",
                            Comparison::at_most(what, growth, 0.01),
                        ),
                    };
                    figure.says(format!("{who}: {says}"), [comparison]);
                } else {
                    let left = (later - 4000.0) / alone;
                    let what = "of the latency is left after the receiver's delay";
                    let (says, comparison) = if bytes == 8 << 10 {
                        (
                            "only a small part is left after the receiver's delay",
                            Comparison::between(what, left, 0.05, 0.6),
                        )
                    } else {
                        (
                            "all of the message is left after the receiver's delay",
                            Comparison::between(what, left, 0.9, 1.1),
                        )
                    };
                    figure.says(format!("{who}: {says}"), [comparison]);
                }
            }
            figure.panels.push(panel);
        }
    }
    // "For instance, the amount of post-delay work for iWARP is only 25 % of the original message latency for 8KB".
    let mut panel = Panel::new(
        "what is left of 8 KiB after the receiver's delay",
        "network",
        Scale::Names,
        "part of the latency",
    );
    let mut left = Vec::new();
    for (network, in_paper) in NETWORKS {
        let us = |compute_ns| {
            let message =
                Message { side: Side::Receive, first: First::Receiver(0), size: 8 << 10, compute_ns };
            run(&format!("{}{}", head(network), message.text()), network, Rget)?.between("begin", "end")
        };
        let part = (us(4_000_000)? - 4000.0) / us(0)?;
        left.push(
            Point::named(&format!("{network} [{in_paper}]"), part)
                .paper((network == "ddr-iwarp").then_some(0.25)),
        );
    }
    panel.series("rget", left);
    figure.panels.push(panel);
    Ok(figure)
}
