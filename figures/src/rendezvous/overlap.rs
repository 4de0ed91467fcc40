//! Figure 4.13: overlap of the speculative protocols (speculative-rendezvous 4.4.1).

use super::message::{First, IWARP, Message, NETWORKS, Side, overlap_ratio, run};
use crate::entry::Points;
use crate::figure::{Comparison, Figure, Panel, Point, Scale};
use crate::measure::{FigureError, Machine, size};
use carrousel_transport_sim::Protocol::{self, Mirror, Published, Rget, Rput};

/// Above the eager threshold of 128 KB.
const SIZES: [u64; 4] = [(128 << 10) + 1, 256 << 10, 512 << 10, 1 << 20];

const SERIES: [(&str, Protocol); 3] =
    [("rget [current]", Rget), ("published [new]", Published), ("mirror", Mirror)];

/// Figure 4.13, for both arrival orders and both sides.
pub(super) fn figure_4_13(points: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(
        "SR 4.13",
        "Overlap of the current and the new rendezvous, in both arrival orders",
        "As figure 3.14, but one end is made to come first, by a little more than a packet travels. `published` is the thesis's \
         protocol in its sound reading, `mirror` ours.",
    );
    // By a little more than a packet travels.
    let late = |network| if network == "qdr" { 2_000 } else { 8_000 };
    for (network, in_paper) in NETWORKS {
        for is_sender_first in [true, false] {
            let first = if is_sender_first { First::Sender } else { First::Receiver }(late(network));
            let order = if is_sender_first { "sender first" } else { "receiver first" };
            let of = |protocol, side, bytes| {
                let message = Message { side, first, size: bytes, compute_ns: 0 };
                overlap_ratio("", network, protocol, message)
            };
            for side in [Side::Receive, Side::Send] {
                let title = if side == Side::Send { "send side" } else { "receive side" };
                let title = format!("{network} [{in_paper}], {order}, {title}");
                let mut panel = Panel::new(&title, "bytes", Scale::Sizes, "overlap");
                let mut current: Vec<f64> = Vec::new();
                for (name, protocol) in SERIES {
                    let (mut series, mut comparisons) = (Vec::new(), Vec::new());
                    for (at, bytes) in points.of(&SIZES).into_iter().enumerate() {
                        let share = of(protocol, side, bytes)?;
                        series.push(Point::at(bytes as f64, share));
                        let what = size(bytes);
                        comparisons.push(match (protocol, side) {
                            // An early receiver's lateness is not the message's: it can be hidden in any case.
                            (Rget, Side::Receive) => Comparison::at_most(what, share, 0.12),
                            (Rget, Side::Send) => Comparison::at_least(what, share, 0.85),
                            (_, Side::Receive) => {
                                Comparison::at_least(what, share, if is_sender_first { 0.8 } else { 0.92 })
                            }
                            (_, Side::Send) => Comparison::at_least(what, share, current[at] - 0.14),
                        });
                        if protocol == Rget {
                            current.push(share);
                        }
                    }
                    panel.series(name, series);
                    let says = match (protocol, side) {
                        (Rget, Side::Receive) => {
                            "overlaps less than 10 % (12 % with the wait of an early receiver)"
                        }
                        (Rget, Side::Send) => "overlaps most",
                        (_, Side::Receive) if is_sender_first => "overlaps more than 80 %",
                        (_, Side::Receive) => "overlaps more than 92 %",
                        _ => "loses at most 14 % of the current one",
                    };
                    figure.says(format!("{title}, {name}: {says}"), comparisons);
                }
                figure.panels.push(panel);
            }
        }
    }
    figure.differs(
        "The thesis's sender loses 2 to 14 % when the receiver comes first, by handling the RTR and by its done packet after \
         the computation. Here that costs at most half a percent, and under the mirror rules nothing: the notice stands behind \
         the data, and the card sends it.",
    );
    Ok(figure)
}

/// The new sense of the figure: both ends compute for longer than a message takes.
pub(super) fn both_compute(points: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(
        "SR 4.13 both",
        "Overlap at both ends, while both compute",
        "The receiver comes first, the sender 10 us later; both compute for 700 us, for longer than a message takes. The share \
         of each transfer during which the rank computes; and the same in a stream of 30 messages.",
    );
    const SIZES: [u64; 5] = [64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20];
    let timeline = |text: &str, protocol| {
        Machine::new("qdr")?
            .with(|config| {
                config.protocol = protocol;
                config.timeline = true;
            })
            .run(text)
    };
    let sizes = points.of(&SIZES);
    let mut panels =
        ["receive side", "send side"].map(|title| Panel::new(title, "bytes", Scale::Sizes, "overlap"));
    for (name, protocol) in
        [("rget [current]", Rget), ("rput", Rput), ("published [new]", Published), ("mirror", Mirror)]
    {
        let mut shares = [const { Vec::new() }; 2];
        for bytes in &sizes {
            let report = timeline(
                &format!(
                    "ranks 2\noption eager_threshold 16KiB\n\
                     rank 0\n r = irecv from 1 tag 0 size {bytes}\n compute 700us\n wait r\n\
                     rank 1\n compute 10us\n s = isend to 0 tag 0 size {bytes}\n compute 700us\n wait s\n"
                ),
                protocol,
            )?;
            for (rank, shares) in shares.iter_mut().enumerate() {
                shares.push(report.timeline.overlap(rank as u32));
            }
        }
        let compared = |side: usize, compare: fn(String, f64, f64) -> Comparison, bound: f64| {
            sizes
                .iter()
                .zip(&shares[side])
                .map(|(bytes, share)| compare(size(*bytes), *share, bound))
                .collect::<Vec<_>>()
        };
        match protocol {
            Mirror | Published => {
                let both = [0, 1].map(|side| compared(side, Comparison::at_least, 0.99)).concat();
                figure.says(format!("{name}: all of the transfer is hidden at both ends"), both);
            }
            Rget => figure.says(
                format!("{name}: the receiver reads in its wait, and hides nothing"),
                compared(0, Comparison::at_most, 0.01),
            ),
            Rput => {
                let both = [0, 1].map(|side| compared(side, Comparison::at_most, 0.01)).concat();
                figure.says(format!("{name}: neither end answers while both compute"), both);
            }
        }
        for (panel, shares) in panels.iter_mut().zip(&shares) {
            panel.series(
                name,
                sizes.iter().zip(shares).map(|(bytes, share)| Point::at(*bytes as f64, *share)).collect(),
            );
        }
    }
    figure.panels.extend(panels);

    // "The same on homogeneous streams": every message of a stream moves while both compute.
    let stream = "ranks 2\nrank 0\n repeat 30\n r = irecv from 1 tag 0 size 256KiB\n compute 200us\n wait r\n end\n\
                  rank 1\n compute 10us\n repeat 30\n s = isend to 0 tag 0 size 256KiB\n compute 200us\n wait s\n end\n";
    for (name, protocol, used) in [("mirror", Mirror, 30), ("published", Published, 15)] {
        let report = timeline(stream, protocol)?;
        let comparison = |rank, what| Comparison::at_least(what, report.timeline.overlap(rank), 0.99);
        figure.says(
            format!("{name}: a stream overlaps like its first message"),
            [comparison(0, "receiver"), comparison(1, "sender")],
        );
        let statistics = &report.statistics;
        figure.fact(
            // Under the published rules the receiver waits for ATP, and so loses its lead every other time.
            format!("{name}: {used} of the stream's 30 messages use an announcement, and no announcement is useless"),
            statistics.rtrs_used() == used && statistics.rtrs_unused() == 0,
            format!("{} used, {} unused", statistics.rtrs_used(), statistics.rtrs_unused()),
        );
    }
    // The network of chapter 4 differs in time, not in who waits.
    let text =
        Message { side: Side::Receive, first: First::Receiver(10_000), size: 1 << 20, compute_ns: 2_000_000 }
            .text();
    let [old, new] =
        [Rget, Mirror].map(|protocol| run(&text, IWARP, protocol).map(|report| report.makespan_us));
    let (old, new) = (old?, new?);
    figure.says(
        "over iWARP, 1 MiB is hidden in 2 ms of computing as well",
        [Comparison::between("mirror by rget, of the whole run", new / old, 0.5, 0.8)],
    );
    Ok(figure)
}
