//! Figure 1: with closings that wait, either the origin idles or the target does (nonblocking-rma-epochs IV-B3).

use super::series::{DELAY, NEAR, PUT, machine};
use crate::entry::Points;
use crate::figure::{Comparison, Figure, Panel, Point, Scale};
use crate::measure::{FigureError, Labelled};
use carrousel_transport_sim::Acquisition;

/// Figure 1: origin and target of Late Complete, in three scenarios and with a closing that returns.
pub(super) fn figure_1(_: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(
        "NB 1",
        "Late Complete: what is best for the origin, and what for the target",
        "An origin has 1000 us of work beside a put of 1 MB. 1: it closes the epoch, and then works. 2: it works in the epoch \
         for exactly as long as the transfer takes, and for the rest after it. 3: it works, and then closes. (b): it closes \
         by icomplete, works, and waits.",
    );
    let machine = machine(Acquisition::Eager)?;
    let run = |body: &str| -> Result<[f64; 2], FigureError> {
        let report = machine.run(&format!(
            "ranks 2\nwindow w 1MiB\nrank 0\n barrier\n begin: start w to [1]\n put w to 1 size 1MiB\n {body}\n\
             rank 1\n open: post w from [0]\n barrier\n close: wait_epoch w\n"
        ))?;
        Ok([report.between("begin", "end")?, report.between("open", "close")?])
    };
    let [transfer, alone] = run("end: complete w")?;
    let scenarios = [
        ("1", "complete w\n end: compute 1000us".to_owned()),
        (
            "2",
            format!(
                "compute {:.0}ns\n complete w\n end: compute {:.0}ns",
                transfer * 1000.0,
                (DELAY - transfer) * 1000.0
            ),
        ),
        ("3", "compute 1000us\n end: complete w".to_owned()),
        ("(b), icomplete", "e = icomplete w\n compute 1000us\n end: wait e".to_owned()),
    ];
    let mut panel = Panel::new("", "scenario", Scale::Names, "us");
    let (mut origins, mut targets) = (Vec::new(), Vec::new());
    for (name, body) in &scenarios {
        let [origin, target] = run(body)?;
        origins.push(Point::named(name, origin));
        targets.push(Point::named(name, target));
    }
    let [here, there] =
        [&origins, &targets].map(|points| points.iter().map(|point| point.here).collect::<Vec<_>>());
    let origin =
        |at: usize, expected| Comparison::near("origin, its work included", here[at], expected, NEAR);
    let target = |at: usize, expected| Comparison::near("target's epoch", there[at], expected, NEAR);
    figure.says(
        "1: the origin idles while its data moves, and the target's epoch is short",
        [origin(0, DELAY + PUT), target(0, alone)],
    );
    figure.says(
        "2, which no program can calibrate: both are at their best",
        [origin(1, DELAY), target(1, alone)],
    );
    figure.says(
        "3: the origin does not idle, and the target waits for its work",
        [origin(2, DELAY), target(2, DELAY)],
    );
    figure.says("(b): the origin as in 3, the target as in 1", [origin(3, here[2]), target(3, there[0])]);
    panel.series("origin, its work included", origins);
    panel.series("target's epoch", targets);
    figure.panels.push(panel);
    Ok(figure)
}
