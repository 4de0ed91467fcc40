//! Figures 4.17 and 4.18: the communication patterns of applications (speculative-rendezvous 4.4.2).

use super::message::{IWARP, NETWORKS, run};
use crate::entry::Points;
use crate::figure::{Comparison, Figure, Panel, Point, Scale};
use crate::measure::FigureError;
use carrousel_transport_sim::Protocol::{self, Mirror, Published, Rget};
use carrousel_transport_sim::Report;

const BT_A: &str = include_str!("../../../tests/scenarios/bt-a.scn");
const CG_B: &str = include_str!("../../../tests/scenarios/cg-b.scn");
const LU_A: &str = include_str!("../../../tests/scenarios/lu-a.scn");
const RADIX: &str = include_str!("../../../tests/scenarios/radix.scn");
const EAGER_STREAM: &str = include_str!("../../../tests/scenarios/eager-stream.scn");
const CROSSING: &str = include_str!("../../../tests/scenarios/pingpong-crossing.scn");

const RULES: [(&str, Protocol); 2] = [("published", Published), ("mirror", Mirror)];

/// Every receive is announced, whatever becomes of it.
fn always(text: &str) -> String {
    format!("option speculation always\n{text}")
}

/// The pattern of class A: a matrix of 14,000 rows instead of 75,000.
fn cg_a() -> String {
    CG_B.replace("150000", "28000")
}

/// Microseconds that all ranks together spend in the library.
fn communication(report: &Report) -> f64 {
    report.statements.iter().filter(|s| s.op != "compute").map(|s| s.end_us - s.begin_us).sum()
}

/// Figure 4.17a: wait time against the current protocol.
pub(super) fn figure_4_17a(_: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(
        "SR 4.17a",
        "Communication patterns of applications: time in the library",
        "Patterns of CG, BT, LU and RADIX on 4 ranks (figure 4.18), with adaptation at 80 % RTR usage and without. How much less \
         time the ranks spend in the library than with the current rendezvous.",
    );
    let cg_a = cg_a();
    // What the text states with adaptation; its CG.B without is -21.
    let applications = [
        ("CG.A", cg_a.as_str(), None),
        ("CG.B", CG_B, Some(-4.0)),
        ("BT.A", BT_A, Some(30.0)),
        ("LU.A", LU_A, Some(5.0)),
        ("RADIX", RADIX, Some(4.0)),
    ];
    for (network, in_paper) in NETWORKS {
        let title = if network == IWARP { format!("{network} [{in_paper}]") } else { network.to_owned() };
        let mut panel = Panel::new(&title, "application", Scale::Names, "% less time in the library");
        for (rules, protocol) in RULES {
            for speculation in ["always", "adaptive"] {
                let mut points = Vec::new();
                for (name, text, stated) in &applications {
                    // 28,000 bytes are eager over iWARP only.
                    if *name == "CG.A" && network != IWARP {
                        continue;
                    }
                    let new = if speculation == "always" { always(text) } else { (*text).to_owned() };
                    let old = communication(&run(text, network, Rget)?);
                    let new = communication(&run(&new, network, protocol)?);
                    let percent = (1.0 - new / old) * 100.0;
                    let stated = match (speculation, *name) {
                        ("always", "CG.B") => Some(-21.0),
                        ("always", _) => None,
                        _ => *stated,
                    };
                    points.push(Point::named(name, percent).paper(stated.filter(|_| network == IWARP)));
                    if speculation == "adaptive" {
                        let what = "% less time";
                        let (says, comparison) = match *name {
                            "BT.A" => ("up to 30 % and more", Comparison::at_least(what, percent, 30.0)),
                            "RADIX" => ("around 4 % and more", Comparison::at_least(what, percent, 4.0)),
                            // No announcements, so nothing is lost but acknowledgements.
                            "LU.A" => (
                                "nothing is lost but acknowledgements",
                                Comparison::at_least(what, percent, -1.0),
                            ),
                            "CG.A" => {
                                ("an overhead of less than 2 %", Comparison::at_least(what, percent, -2.0))
                            }
                            _ => ("an overhead of at most 4 %", Comparison::at_least(what, percent, -4.0)),
                        };
                        figure.says(format!("{network}, {rules}, {name}: {says}"), [comparison]);
                    }
                }
                let in_paper = match (protocol, speculation) {
                    (Published, "always") => " [new]",
                    (Published, _) => " [new + adaptive]",
                    _ => "",
                };
                panel.series(&format!("{rules}, {speculation}{in_paper}"), points);
            }
        }
        figure.panels.push(panel);
    }
    figure.differs(
        "These are the patterns of figure 4.18 alone, not the applications: BT.A has nothing but exchanges that can be hidden, \
         so that nearly all of its waiting goes. The simulator charges an RTR that crosses like any small packet, hence CG.B \
         loses next to nothing, with adaptation or without; the thesis's 21 % are the work of its library. In LU.A all ranks \
         are in step, and no RTS is there yet when a receive is called, which is what the thesis gains 5 % by.",
    );
    Ok(figure)
}

/// Figure 4.17b: the use of announcements.
pub(super) fn figure_4_17b(_: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(
        "SR 4.17b",
        "Communication patterns of applications: use of announcements",
        "The same patterns: the share of RTRs that a message used, and how many adaptation leaves.",
    );
    let mut usage = Panel::new("used, without adaptation", "application", Scale::Names, "% of RTRs");
    let mut left = Panel::new("RTRs sent", "application", Scale::Names, "packets");
    for (rules, protocol) in RULES {
        let (mut used, mut all, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        for (name, text) in [("CG.B", CG_B), ("BT.A", BT_A), ("LU.A", LU_A), ("RADIX", RADIX)] {
            let without = run(&always(text), IWARP, protocol)?.statistics;
            let with = run(text, IWARP, protocol)?.statistics;
            let rtrs = without.packets("RTR");
            let share = if rtrs == 0 { 0.0 } else { without.rtrs_used() as f64 / rtrs as f64 * 100.0 };
            used.push(Point::named(name, share));
            all.push(Point::named(name, rtrs as f64));
            kept.push(Point::named(name, with.packets("RTR") as f64));
            match name {
                "BT.A" => figure.says(
                    format!("{rules}, BT.A: very high usage, which adaptation leaves alone"),
                    [Comparison::at_least(
                        "% used, adaptive",
                        with.rtrs_used() as f64 / with.packets("RTR") as f64 * 100.0,
                        90.0,
                    )],
                ),
                "LU.A" => figure.says(
                    format!("{rules}, LU.A: a receive from any source is not announced"),
                    [Comparison::at_most("RTRs", rtrs as f64, 0.0)],
                ),
                "CG.B" => figure.says(
                    format!("{rules}, CG.B: usage is below the threshold"),
                    [Comparison::at_most("% used", share, 80.0)],
                ),
                _ => {}
            }
        }
        usage.series(rules, used);
        left.series(&format!("{rules}, always"), all);
        left.series(&format!("{rules}, adaptive"), kept);
        // 4.2.6: adaptation stops most of the useless announcements.
        for (name, text) in
            [("CG.B", CG_B), ("eager messages", EAGER_STREAM), ("crossing messages", CROSSING)]
        {
            let adaptive = run(text, "qdr", protocol)?.statistics.packets("RTR") as f64;
            if name == "eager messages" && protocol == Published {
                // Without adaptation the published rules keep what eager messages leave behind: there is no end to it.
                let few = [Comparison::at_most("RTRs", adaptive, 16.0)];
                figure.says(format!("{rules}, qdr, {name}: adaptation stops announcing"), few);
                continue;
            }
            let without = run(&always(text), "qdr", protocol)?.statistics.packets("RTR") as f64;
            figure.says(
                format!("{rules}, qdr, {name}: adaptation stops most useless announcements"),
                [Comparison::at_most("RTRs", adaptive, without / 2.0)],
            );
        }
    }
    figure.panels.extend([usage, left]);
    Ok(figure)
}
