//! What the text says without a figure, of latency and overlap where nobody is late (nonblocking-rma-epochs VIII-A).

use super::series::{Closing, NEAR, PUT, SERIES, machine};
use crate::entry::Points;
use crate::figure::{Comparison, Figure, Panel, Point, Scale};
use crate::measure::{FigureError, Labelled, size};
use carrousel_transport_sim::Acquisition;

const SIZES: [u64; 7] = [16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20];

/// From this size on a transfer is worth the wait for its grant.
const LARGE: u64 = 64 << 10;

/// "Any epoch hosting an MPI_PUT of 1 MB takes about 340 us for all three test series."
pub(super) fn latency(_: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(
        "NB latency",
        "An epoch with a put of 1 MB, where nobody is late",
        "An origin opens an epoch, puts 1 MB, closes it and waits for it, by GATS, fences and an exclusive lock.",
    );
    let mut panel = Panel::new("", "kind of epoch", Scale::Names, "us");
    for (name, acquisition, closing) in SERIES {
        let (machine, mut series, mut comparisons) = (machine(acquisition)?, Vec::new(), Vec::new());
        for (kind, open, close, target) in [
            ("GATS", "start w to [1]", "complete w", "post w from [0]\n barrier\n wait_epoch w"),
            ("fence", "fence w", "fence w", "barrier\n fence w\n fence w"),
            ("lock", "lock w at 1 exclusive", "unlock w at 1", "barrier\n barrier"),
        ] {
            let close = match closing {
                Closing::Waits => format!("end: {close}"),
                Closing::Returns => format!("e = i{close}\n end: wait e"),
            };
            let last = if kind == "lock" { " barrier\n" } else { "" };
            let report = machine.run(&format!(
                "ranks 2\nwindow w 1MiB\nrank 0\n barrier\n begin: {open}\n put w to 1 size 1MiB\n {close}\n{last}\
                 rank 1\n {target}\n"
            ))?;
            let us = report.between("begin", "end")?;
            series.push(Point::named(kind, us).paper(PUT));
            comparisons.push(Comparison::near(kind, us, PUT, NEAR));
        }
        panel.series(name, series);
        figure.says(format!("{name}: about 340 us, whatever the epoch"), comparisons);
    }
    figure.panels.push(panel);
    Ok(figure)
}

/// "Full communication/computation overlapping in lock epochs, whereas MVAPICH provides none because of its lazy lock
/// acquisition": the share of a computation in a lock epoch, as long as the epoch is without it, that costs nothing.
pub(super) fn overlap_in_lock_epochs(points: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(
        "NB overlap",
        "Overlap of transfers and computing inside lock epochs",
        "An origin locks a target exclusively, puts or gets s bytes, computes for as long as that epoch takes without \
         computing, and unlocks. The share of the shorter of the two that is hidden.",
    );
    for access in ["put", "get"] {
        let mut panel = Panel::new(access, "bytes", Scale::Sizes, "overlap");
        for (name, acquisition) in
            [("lazy [MVAPICH]", Acquisition::Lazy), ("eager [New]", Acquisition::Eager)]
        {
            let machine = machine(acquisition)?;
            let epoch = |bytes: u64, compute_us: f64| -> Result<f64, FigureError> {
                let compute = format!("compute {:.0}ns", compute_us * 1000.0);
                let preposition = if access == "put" { "to" } else { "from" };
                let report = machine.run(&format!(
                    "ranks 2\nwindow w 1MiB\nrank 0\n barrier\nrank 1\n begin: lock w at 0 exclusive\n \
                     {access} w {preposition} 0 size {bytes}\n {compute}\n end: unlock w at 0\n barrier\n"
                ))?;
                report.between("begin", "end")
            };
            let (mut series, mut large) = (Vec::new(), Vec::new());
            for bytes in points.of(&SIZES) {
                let alone = epoch(bytes, 0.0)?;
                let share = (2.0 * alone - epoch(bytes, alone)?) / alone;
                series.push(Point::at(bytes as f64, share));
                let comparison = match acquisition {
                    Acquisition::Lazy => Some(Comparison::at_most(size(bytes), share, 0.02)),
                    // Before its data moves, an epoch waits for the lock; a small put is not worth waiting for that.
                    Acquisition::Eager => {
                        (bytes >= LARGE).then(|| Comparison::at_least(size(bytes), share, 0.8))
                    }
                };
                large.extend(comparison);
            }
            panel.series(name, series);
            let says = if acquisition == Acquisition::Lazy {
                "overlaps nothing"
            } else {
                "overlaps all but the lock"
            };
            figure.says(format!("{access}, {name}: {says}"), large);
        }
        figure.panels.push(panel);
    }
    figure.differs(
        "The paper states full overlap, without sizes. Here the call of a put or get stays in the library until the lock is \
         there if the transfer takes four round trips or more. A smaller one begins when the epoch is closed, and overlaps \
         nothing: that costs less than 20 us.",
    );
    Ok(figure)
}
