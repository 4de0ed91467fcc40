//! Figure 4.19, and 4.2.6: what speculation costs where it is of no use (speculative-rendezvous 4.4.3).

use super::message::{IWARP, run};
use crate::entry::Points;
use crate::figure::{Comparison, Figure, Panel, Point, Scale};
use crate::measure::{FigureError, size};
use carrousel_transport_sim::Protocol::{self, Mirror, Published, Rget};
use carrousel_transport_sim::Report;

const RULES: [(&str, Protocol); 2] = [("published", Published), ("mirror", Mirror)];

fn with(text: &str, network: &str, protocol: Protocol, speculation: &str) -> Result<Report, FigureError> {
    run(&format!("option speculation {speculation}\n{text}"), network, protocol)
}

/// By how much `speculation` makes a run longer than a rendezvous by read without announcements and their acknowledgements,
/// in percent. Under the published rules that is the classical one, in which too the receiver says itself that it has read.
fn overhead(text: &str, network: &str, protocol: Protocol, speculation: &str) -> Result<f64, FigureError> {
    let by_read = if protocol == Published { Rget } else { protocol };
    let off = with(text, network, by_read, "off")?.makespan_us;
    Ok((with(text, network, protocol, speculation)?.makespan_us / off - 1.0) * 100.0)
}

fn crossing(size: u64, rounds: u32) -> String {
    format!(
        "ranks 2\nrank *\n repeat {rounds}\n r = irecv from 1-me tag 0 size {size}\n \
         s = isend to 1-me tag 0 size {size}\n wait r\n wait s\n end\n"
    )
}

/// Figure 4.19a: time.
pub(super) fn figure_4_19a(points: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(
        "SR 4.19a",
        "What announcements cost that are of no use: time",
        "Two ranks exchange messages so that every RTR crosses an RTS, and is dropped. How much longer that takes than without \
         announcements, with adaptation and without.",
    );
    let rounds = if points == Points::All { 1000 } else { 200 };
    for (network, sizes) in
        [(IWARP, [8 << 10, 129 << 10, 256 << 10, 1 << 20]), ("qdr", [8 << 10, 32 << 10, 64 << 10, 1 << 20])]
    {
        let mut panel = Panel::new(network, "bytes", Scale::Sizes, "% longer");
        for (rules, protocol) in RULES {
            for speculation in ["always", "adaptive"] {
                let (mut series, mut comparisons, mut crossed) = (Vec::new(), Vec::new(), Vec::new());
                for bytes in sizes {
                    let text = crossing(bytes, rounds);
                    let percent = overhead(&text, network, protocol, speculation)?;
                    series.push(Point::at(bytes as f64, percent));
                    let is_eager = bytes == sizes[0];
                    let most = match (speculation, protocol) {
                        ("always", _) if is_eager => 1.0,
                        ("always", _) => 3.0,
                        // Under the published rules a receive that was not announced acknowledges the RTS, which costs as
                        // much as the RTR that it saves. Until adaptation has seen enough, each costs what it costs.
                        (_, Published) => 1.0,
                        _ => 0.2 * 1000.0 / f64::from(rounds),
                    };
                    comparisons.push(Comparison::at_most(size(bytes), percent, most));
                    if speculation == "always" && !is_eager {
                        let used = with(&text, network, protocol, speculation)?.statistics.rtrs_used();
                        crossed.push(Comparison::at_most(
                            format!("{}, RTRs used", size(bytes)),
                            used as f64,
                            0.0,
                        ));
                    }
                }
                let in_paper = match (protocol, speculation) {
                    (Published, "always") => " [without adaptation]",
                    (Published, _) => " [with adaptation]",
                    _ => "",
                };
                panel.series(&format!("{rules}, {speculation}{in_paper}"), series);
                let says = match speculation {
                    "always" => "eager less than 1 %, rendezvous less than 3 %",
                    _ => "no substantial overhead",
                };
                figure.says(format!("{network}, {rules}, {speculation}: {says}"), comparisons);
                if speculation == "always" {
                    figure.says(format!("{network}, {rules}: all RTRs cross"), crossed);
                }
            }
        }
        figure.panels.push(panel);
    }
    figure.differs(
        "Under the published rules adaptation saves nothing here: a receive that was not announced acknowledges the RTS, which \
         costs as much as the RTR. Under the mirror rules next to nothing is left.",
    );
    Ok(figure)
}

/// Figure 4.19b: volume.
pub(super) fn figure_4_19b(_: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(
        "SR 4.19b",
        "What announcements cost that are of no use: volume",
        "The same exchange of 256 KB: bytes of RTRs and acknowledgements by those of messages.",
    );
    let mut panel = Panel::new("", "rules", Scale::Names, "% extra data");
    let (mut points, mut comparisons) = (Vec::new(), Vec::new());
    for (rules, protocol) in RULES {
        let statistics = with(&crossing(256 << 10, 1000), IWARP, protocol, "always")?.statistics;
        let extra = |kind: &str| statistics.by_kind.get(kind).map_or(0, |count| count.bytes);
        let extra = extra("RTR") + extra("RTS-ACK") + extra("RTR-ACK") + extra("ACK");
        let share = extra as f64 / statistics.data_bytes as f64 * 100.0;
        points.push(Point::named(rules, share).paper(0.04));
        comparisons.push(Comparison::at_most(rules, share, 0.04));
    }
    panel.series("crossing RTRs", points);
    figure.panels.push(panel);
    figure.says("less than 0.04 % extra data", comparisons);
    Ok(figure)
}

/// 4.2.6: below the threshold announcements stop, and what they would have cost is saved.
pub(super) fn adaptation(_: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(
        "SR 4.2.6",
        "Adaptation: useless announcements cost next to nothing",
        "Patterns in which announcements are of no use: a sender that is always early, eager messages, and one large message \
         in ten. How much longer they take than without announcements.",
    );
    let sender_early = "ranks 2\nrank 0\n repeat 400\n s = isend to 1 tag 0 size 256KiB\n wait s\n end\n\
                        rank 1\n repeat 400\n compute 20us\n recv from 0 tag 0 size 256KiB\n end\n";
    let eager = "ranks 2\nrank 0\n repeat 2000\n send to 1 tag 0 size 4KiB\n recv from 1 tag 1 size 8\n end\n\
                 rank 1\n repeat 2000\n recv from 0 tag 0 size 64KiB\n send to 0 tag 1 size 8\n end\n";
    let mostly_eager = "ranks 2\nrank 0\n repeat 200\n send to 1 tag 0 size 64KiB\n repeat 9\n \
                        send to 1 tag 0 size 4KiB\n recv from 1 tag 1 size 8\n end\n end\n\
                        rank 1\n repeat 200\n recv from 0 tag 0 size 64KiB\n repeat 9\n \
                        recv from 0 tag 0 size 64KiB\n send to 0 tag 1 size 8\n end\n end\n";
    let mut panel = Panel::new("", "pattern", Scale::Names, "% longer");
    for (rules, protocol) in RULES {
        let (mut points, mut comparisons) = (Vec::new(), Vec::new());
        for (name, text) in [("sender early", sender_early), ("eager", eager), ("mostly eager", mostly_eager)]
        {
            let percent = overhead(text, "qdr", protocol, "adaptive")?;
            points.push(Point::named(name, percent));
            comparisons.push(Comparison::at_most(name, percent, 1.0));
        }
        panel.series(&format!("{rules}, adaptive"), points);
        figure.says(format!("{rules}: at most 1 %"), comparisons);
    }
    figure.panels.push(panel);
    Ok(figure)
}
