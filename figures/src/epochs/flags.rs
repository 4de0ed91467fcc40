//! Figures 7 to 11: each reorder flag spares the process whose epochs do not depend on who is late
//! (nonblocking-rma-epochs VIII-A2).

use super::series::{DELAY, NEAR, PUT, machine};
use crate::entry::Points;
use crate::figure::{Comparison, Figure, Panel, Point, Scale};
use crate::measure::{FigureError, Labelled};
use carrousel_transport_sim::Acquisition;

/// A figure: the flag, the programs, and the epochs that are measured, by the label of the statement that ends each, with
/// what they take when the flag is off and on.
struct Flag<'a> {
    flag: &'a str,
    programs: &'a str,
    measured: &'a [Measured<'a>],
}

/// What is measured.
struct Measured<'a> {
    name: &'a str,
    /// The labels of the first statement and the last; from 0 if there is no first.
    from: Option<&'a str>,
    to: &'a str,
    /// When the flag is off, and on.
    expected: [f64; 2],
    says: [&'a str; 2],
    /// What the paper states, when it is on.
    paper: Option<f64>,
}

/// The delay reaches whoever comes later: it, and the puts of both epochs.
const SERIAL: f64 = DELAY + 2.0 * PUT;

fn draw(mut figure: Figure, of: &Flag<'_>) -> Result<Figure, FigureError> {
    let mut panel = Panel::new("", "what is measured", Scale::Names, "us");
    for (at, setting) in ["off", "on"].into_iter().enumerate() {
        let Flag { flag, programs, .. } = of;
        let text = format!("window w 1MiB\noption w.{flag} {setting}\n{programs}");
        let report = machine(Acquisition::Eager)?.run(&text)?;
        let mut points = Vec::new();
        for measured in of.measured {
            let begin = measured.from.map_or(Ok(0.0), |label| report.called(label))?;
            let us = report.completed(measured.to)? - begin;
            points.push(Point::named(measured.name, us).paper(measured.paper.filter(|_| setting == "on")));
            let comparison = Comparison::near(measured.name, us, measured.expected[at], NEAR);
            figure.says(format!("{setting}: {}", measured.says[at]), [comparison]);
        }
        panel.series(&format!("flag {setting}"), points);
    }
    figure.panels.push(panel);
    Ok(figure)
}

/// Figure 7: `A_A_A_R` with general active target synchronization.
pub(super) fn figure_7(_: Points) -> Result<Figure, FigureError> {
    let figure = Figure::new(
        "NB 7",
        "A_A_A_R, GATS: an access epoch past another",
        "One origin, an access epoch to T0 and then one to T1, 1 MB each; T0 posts 1000 us late.",
    );
    draw(
        figure,
        &Flag {
            flag: "access_after_access",
            programs: "ranks 3\nrank 0\n istart w to [1]\n put w to 1 size 1MiB\n a = icomplete w\n\
                   istart w to [2]\n put w to 2 size 1MiB\n b = icomplete w\n wait a\n all: wait b\n\
                   rank 1\n compute 1000us\n post w from [0]\n wait_epoch w\n\
                   rank 2\n post w from [0]\n spared: wait_epoch w\n",
            measured: &[
                Measured {
                    name: "T1's epoch",
                    from: None,
                    to: "spared",
                    expected: [SERIAL, PUT],
                    says: [
                        "the delay of T0 reaches the origin, which passes it on to T1",
                        "T1 does not suffer it",
                    ],
                    paper: None,
                },
                Measured {
                    name: "origin, both",
                    from: None,
                    to: "all",
                    expected: [SERIAL, DELAY + PUT],
                    says: [
                        "the origin's epochs follow each other",
                        "the origin's second epoch is hidden in the delay",
                    ],
                    paper: None,
                },
            ],
        },
    )
}

/// Figure 8: `A_A_A_R` with locks.
pub(super) fn figure_8(_: Points) -> Result<Figure, FigureError> {
    let figure = Figure::new(
        "NB 8",
        "A_A_A_R, locks: a lock past another",
        "O0 has the lock of T0, puts 1 MB and works for 1000 us before it unlocks. O1 asks for the same lock right after, and \
         then for T1's; measured: both epochs of O1 together.",
    );
    draw(
        figure,
        &Flag {
            flag: "access_after_access",
            programs: "ranks 4\nrank 0..1\n barrier\n\
                   rank 2\n lock w at 0 exclusive\n put w to 0 size 1MiB\n compute 1000us\n unlock w at 0\n barrier\n\
                   rank 3\n compute 5us\n begin: ilock w at 0 exclusive\n put w to 0 size 1MiB\n a = iunlock w at 0\n\
                   ilock w at 1 exclusive\n put w to 1 size 1MiB\n b = iunlock w at 1\n wait a\n both: wait b\n barrier\n",
            measured: &[Measured {
                name: "O1, both epochs",
                from: Some("begin"),
                to: "both",
                expected: [SERIAL, DELAY + PUT],
                says: ["the delay and both epochs follow each other", "they take as long as the first alone"],
                paper: Some(1340.0),
            }],
        },
    )
}

/// Figure 9: `A_A_E_R`.
pub(super) fn figure_9(_: Points) -> Result<Figure, FigureError> {
    let figure = Figure::new(
        "NB 9",
        "A_A_E_R: an access epoch past an exposure",
        "P2 is the target of P0, which is 1000 us late, and then an origin for P1; 1 MB each.",
    );
    draw(
        figure,
        &Flag {
            flag: "access_after_exposure",
            programs: "ranks 3\nrank 2\n ipost w from [0]\n a = iwait_epoch w\n\
                   istart w to [1]\n put w to 1 size 1MiB\n b = icomplete w\n wait a\n all: wait b\n\
                   rank 0\n compute 1000us\n start w to [2]\n put w to 2 size 1MiB\n complete w\n\
                   rank 1\n post w from [2]\n spared: wait_epoch w\n",
            measured: &[
                Measured {
                    name: "P1's epoch",
                    from: None,
                    to: "spared",
                    expected: [SERIAL, PUT],
                    says: ["the delay of P0 reaches P2, and then P1", "P1 avoids the delay"],
                    paper: None,
                },
                Measured {
                    name: "P2, both",
                    from: None,
                    to: "all",
                    expected: [SERIAL, DELAY + PUT],
                    says: ["P2's epochs follow each other", "P2 overlaps the delay with its second epoch"],
                    paper: None,
                },
            ],
        },
    )
}

/// Figure 10: `E_A_E_R`.
pub(super) fn figure_10(_: Points) -> Result<Figure, FigureError> {
    let figure = Figure::new(
        "NB 10",
        "E_A_E_R: an exposure past another",
        "A target exposes its memory to O0, which is 1000 us late, and then to O1; 1 MB each.",
    );
    draw(
        figure,
        &Flag {
            flag: "exposure_after_exposure",
            programs: "ranks 3\nrank 2\n ipost w from [0]\n a = iwait_epoch w\n ipost w from [1]\n b = iwait_epoch w\n\
                   wait a\n all: wait b\n\
                   rank 0\n compute 1000us\n start w to [2]\n put w to 2 size 1MiB\n complete w\n\
                   rank 1\n start w to [2]\n put w to 2 size 1MiB\n spared: complete w\n",
            measured: &[
                Measured {
                    name: "O1's epoch",
                    from: None,
                    to: "spared",
                    expected: [SERIAL, PUT],
                    says: ["the delay of O0 reaches O1", "the delay of O0 does not reach O1"],
                    paper: None,
                },
                Measured {
                    name: "target, both",
                    from: None,
                    to: "all",
                    expected: [SERIAL, DELAY + PUT],
                    says: [
                        "the target's latency is the sum of the delay and of both epochs",
                        "the target overlaps the delay with its second epoch",
                    ],
                    paper: None,
                },
            ],
        },
    )
}

/// Figure 11: `E_A_A_R`.
pub(super) fn figure_11(_: Points) -> Result<Figure, FigureError> {
    let figure = Figure::new(
        "NB 11",
        "E_A_A_R: an exposure past an access epoch",
        "P2 is an origin for P0, which is 1000 us late, and then the target of P1; 1 MB each.",
    );
    draw(
        figure,
        &Flag {
            flag: "exposure_after_access",
            programs: "ranks 3\nrank 2\n istart w to [0]\n put w to 0 size 1MiB\n a = icomplete w\n\
                   ipost w from [1]\n b = iwait_epoch w\n wait a\n all: wait b\n\
                   rank 0\n compute 1000us\n post w from [2]\n wait_epoch w\n\
                   rank 1\n start w to [2]\n put w to 2 size 1MiB\n spared: complete w\n",
            measured: &[
                Measured {
                    name: "P1's epoch",
                    from: None,
                    to: "spared",
                    expected: [SERIAL, PUT],
                    says: ["the delay of P0 reaches P1", "the delay of P0 does not reach P1"],
                    paper: None,
                },
                Measured {
                    name: "P2, both",
                    from: None,
                    to: "all",
                    expected: [SERIAL, DELAY + PUT],
                    says: ["P2's epochs follow each other", "P2 overlaps the delay with its second epoch"],
                    paper: None,
                },
            ],
        },
    )
}
