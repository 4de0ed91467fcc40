//! Figures 2 to 6: the five inefficiency patterns (nonblocking-rma-epochs VIII-A1).

use super::series::{Closing, DELAY, NEAR, PUT, SERIES, machine};
use crate::entry::Points;
use crate::figure::{Comparison, Figure, Panel, Point, Scale};
use crate::measure::{FigureError, Labelled, size};
use carrousel_transport_sim::{Acquisition, Inefficiency};

/// Figure 2: Late Post.
pub(super) fn figure_2(_: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(
        "NB 2",
        "Late Post: the origin goes on while its target is late",
        "P0 posts 1000 us late. P2 opens an access epoch to P0, puts 1 MB, closes it, and then sends 1 MB to P1; \
         measured at P2, from 0.",
    );
    let mut panel = Panel::new("", "activity of P2", Scale::Names, "us");
    for (name, acquisition, closing) in SERIES {
        let (close, wait) = match closing {
            Closing::Waits => ("complete", ""),
            Closing::Returns => ("e = icomplete", "wait e"),
        };
        let report = machine(acquisition)?.run(&format!(
            "ranks 3\nwindow w 1MiB\nrank 0\n compute 1000us\n post w from [2]\n wait_epoch w\n\
             rank 1\n recv from 2 tag 0 size 1MiB\n\
             rank 2\n start w to [0]\n put w to 0 size 1MiB\n epoch: {close} w\n next: send to 1 tag 0 size 1MiB\n {wait}\n"
        ))?;
        let (epoch, next) = (report.completed("epoch")?, report.completed("next")?);
        let both = epoch.max(next);
        let blocks = closing == Closing::Waits;
        panel.series(
            name,
            vec![
                Point::named("access epoch", epoch).paper(1340.0),
                Point::named("next activity", next).paper(if blocks { 1660.0 } else { 340.0 }),
                Point::named("both", both).paper((!blocks).then_some(1340.0)),
            ],
        );
        let delay_and_put = Comparison::near("epoch", epoch, DELAY + PUT, NEAR);
        figure.says(
            format!("{name}: the epoch lasts as long as its target is late, and a put"),
            [delay_and_put],
        );
        if blocks {
            let next = Comparison::near("next activity", next, DELAY + 2.0 * PUT, NEAR);
            figure.says(format!("{name}: the delay reaches the next activity"), [next]);
            figure.fact(
                format!("{name}: the simulator names the pattern, Late Post of P2 by P0"),
                report.has(Inefficiency::LatePost, 2, 0),
                report.lateness(),
            );
        } else {
            let comparisons = [
                Comparison::near("next activity", next, PUT, NEAR),
                Comparison::near("both", both, DELAY + PUT, NEAR),
            ];
            figure.says(
                format!("{name}: the next activity does not wait, and overlaps with the delay"),
                comparisons,
            );
        }
    }
    figure.panels.push(panel);
    figure.differs(
        "The paper's 1660 us of the blocking series leave 320 us for the second megabyte, for which its nonblocking series \
         needs 340: it rounds.",
    );
    Ok(figure)
}

/// The sizes of figures 3 and 5; the axis is not in the text.
const SIZES: [u64; 10] = [4, 16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// Figure 3: Late Complete.
pub(super) fn figure_3(points: Points) -> Result<Figure, FigureError> {
    let figure = Figure::new(
        "NB 3",
        "Late Complete: the target has its data, whatever the origin does",
        "One origin, one target. The origin puts s bytes and works for 1000 us, before its closing call if that waits, \
         after it if not. Measured at the target: the length of its epoch.",
    );
    let text = |size: u64, body: &str| {
        format!(
            "ranks 2\nwindow w 1MiB\nrank 0\n barrier\n begin: start w to [1]\n put w to 1 size {size}\n {body}\n\
             rank 1\n open: post w from [0]\n barrier\n target: wait_epoch w\n"
        )
    };
    let bodies = [
        "origin: complete w",
        "compute 1000us\n origin: complete w",
        "e = icomplete w\n compute 1000us\n origin: wait e",
    ];
    delayed_close(figure, points, Inefficiency::LateComplete, bodies, text)
}

/// Figure 5: Wait at Fence.
pub(super) fn figure_5(points: Points) -> Result<Figure, FigureError> {
    let figure = Figure::new(
        "NB 5",
        "Wait at Fence: as Late Complete, with fences",
        "Two processes between two fences. The origin puts s bytes and works for 1000 us, before its second fence if that \
         waits, after it if not. Measured at the target: the length of its epoch.",
    );
    // A barrier behind the opening fence: the target has granted the access when the origin puts.
    let text = |size: u64, body: &str| {
        format!(
            "ranks 2\nwindow w 1MiB\nrank 0\n begin: fence w\n barrier\n put w to 1 size {size}\n {body}\n\
             rank 1\n open: fence w\n barrier\n target: fence w\n"
        )
    };
    let works_after = "e = ifence w\n compute 1000us\n origin: wait e";
    let bodies = ["origin: fence w", "compute 1000us\n origin: fence w", works_after];
    let mut figure = delayed_close(figure, points, Inefficiency::WaitAtFence, bodies, text)?;

    // Without the barrier, the put may come before the grant.
    let mut panel = Panel::new(
        "the put follows the opening fence at once",
        "bytes of the put",
        Scale::Sizes,
        "us, epoch of the target",
    );
    let (machine, mut series, mut large) = (machine(Acquisition::Eager)?, Vec::new(), Vec::new());
    for bytes in points.of(&SIZES) {
        let run =
            |body: &str| machine.run(&text(bytes, body).replace(" barrier\n", ""))?.between("open", "target");
        let target = run(works_after)?;
        series.push(Point::at(bytes as f64, target));
        if bytes >= WAITED_FOR {
            large.push(Comparison::near(size(bytes), target, run("origin: fence w")?, NEAR));
        }
    }
    panel.series("nonblocking [New nonblocking]", series);
    figure.panels.push(panel);
    figure.says(
        "nonblocking, the put at once: a large transfer needs no barrier after the opening fence",
        large,
    );
    figure.differs(
        "A put that follows its opening fence at once comes before the target's grant. The call of a large put waits for the \
         grant, for a round trip. A small put is not worth that: if the origin then computes, without progress, it moves when \
         the origin waits, and the target waits for the work. The text does not say whether the paper's processes are in \
         step; here a barrier follows the opening fence, and the last panel has none.",
    );
    Ok(figure)
}

/// From this size on, a transfer takes four round trips, and its call waits for a grant that is on its way.
const WAITED_FOR: u64 = 64 << 10;

/// Figures 3 and 5: an origin that closes its epoch at once, that works before, or that works after.
fn delayed_close(
    mut figure: Figure,
    points: Points,
    pattern: Inefficiency,
    [at_once, works_before, works_after]: [&str; 3],
    text: impl Fn(u64, &str) -> String,
) -> Result<Figure, FigureError> {
    let mut panel = Panel::new("", "bytes of the put", Scale::Sizes, "us, epoch of the target");
    let (mut targets, mut origins) = (Vec::new(), Vec::new());
    for (name, acquisition, closing) in SERIES {
        let (machine, mut series) = (machine(acquisition)?, Vec::new());
        let (mut of_target, mut unnamed) = (Vec::new(), Vec::new());
        for bytes in points.of(&SIZES) {
            let alone = machine.run(&text(bytes, at_once))?.between("open", "target")?;
            let body = if closing == Closing::Waits { works_before } else { works_after };
            let report = machine.run(&text(bytes, body))?;
            let (target, origin) = (report.between("open", "target")?, report.between("begin", "origin")?);
            let (expected, stated) = match closing {
                Closing::Waits => (DELAY.max(alone), Some(DELAY)),
                Closing::Returns => (alone, (bytes == 1 << 20).then_some(PUT)),
            };
            series.push(Point::at(bytes as f64, target).paper(stated));
            of_target.push(Comparison::near(size(bytes), target, expected, NEAR));
            origins.push(Comparison::near(
                format!("{name}, {}", size(bytes)),
                origin,
                DELAY.max(alone),
                NEAR,
            ));
            let is_as_named = report.has(pattern, 1, 0) == (closing == Closing::Waits);
            if !is_as_named {
                unnamed.push(size(bytes));
            }
        }
        panel.series(name, series);
        let (says, named) = match closing {
            Closing::Waits => {
                ("lasts as long as the origin's, max(1000, t(s))", "the simulator names the pattern")
            }
            Closing::Returns => ("lasts as long as the transfer, t(s)", "the simulator sees no such pattern"),
        };
        targets.push((format!("{name}: the target's epoch {says}"), of_target));
        figure.fact(
            format!("{name}: {named}"),
            unnamed.is_empty(),
            if unnamed.is_empty() {
                "at all sizes".to_owned()
            } else {
                format!("not at {}", unnamed.join(", "))
            },
        );
    }
    for (says, comparisons) in targets {
        figure.says(says, comparisons);
    }
    figure.says("all series: the origin's epoch lasts max(1000, t(s))", origins);
    figure.panels.push(panel);
    Ok(figure)
}

/// Figure 4: Early Fence.
pub(super) fn figure_4(_: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(
        "NB 4",
        "Early Fence: the target computes while its data comes",
        "Two processes between two fences; one puts 256 KB or 1 MB, the other closes at once and then computes for 1000 us. \
         Measured at the target: both together.",
    );
    let text = |bytes: u64, target: &str| {
        format!(
            "ranks 2\nwindow w 1MiB\nrank 0\n fence w\n put w to 1 size {bytes}\n fence w\n\
             rank 1\n fence w\n {target}\n"
        )
    };
    let mut panel = Panel::new("", "put", Scale::Names, "us, epoch and computation of the target");
    for (name, acquisition, closing) in SERIES {
        let (machine, mut series, mut comparisons) = (machine(acquisition)?, Vec::new(), Vec::new());
        for bytes in [256 << 10, 1 << 20] {
            let alone = machine.run(&text(bytes, "end: fence w"))?.returned("end")?;
            let (body, expected) = match closing {
                Closing::Waits => ("fence w\n end: compute 1000us", DELAY + alone),
                Closing::Returns => ("e = ifence w\n compute 1000us\n end: wait e", DELAY),
            };
            let report = machine.run(&text(bytes, body))?;
            let both = report.returned("end")?;
            let stated = (closing == Closing::Returns).then_some(1010.0);
            series.push(Point::named(&size(bytes), both).paper(stated));
            comparisons.push(Comparison::near(size(bytes), both, expected, NEAR));
            if closing == Closing::Waits {
                figure.fact(
                    format!("{name}, {}: the simulator names the pattern, Early Fence", size(bytes)),
                    report.has(Inefficiency::EarlyFence, 1, 0),
                    report.lateness(),
                );
            }
        }
        panel.series(name, series);
        let says = match closing {
            Closing::Waits => "transfer and computation follow each other",
            Closing::Returns => "the transfer is hidden behind the computation",
        };
        figure.says(format!("{name}: {says}"), comparisons);
    }
    figure.panels.push(panel);
    Ok(figure)
}

/// Figure 6: Late Unlock.
pub(super) fn figure_6(_: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(
        "NB 6",
        "Late Unlock: the second origin has the lock as soon as the first one's data is there",
        "O0 and then O1 lock the target exclusively, and put 1 MB each; O0 works for 1000 us before it unlocks, or after \
         iunlock. The length of both epochs.",
    );
    let text = |body: &str| {
        format!(
            "ranks 3\nwindow w 1MiB\nrank 0\n barrier\n\
             rank 1\n begin: lock w at 0 exclusive\n put w to 0 size 1MiB\n {body}\n barrier\n\
             rank 2\n compute 5us  # O0 asks first\n\
             lock: lock w at 0 exclusive\n put w to 0 size 1MiB\n unlock: unlock w at 0\n barrier\n"
        )
    };
    let mut panel = Panel::new("", "epoch", Scale::Names, "us");
    for (name, acquisition, closing) in SERIES {
        let body = match closing {
            Closing::Waits => "compute 1000us\n end: unlock w at 0",
            Closing::Returns => "e = iunlock w at 0\n compute 1000us\n end: wait e",
        };
        let report = machine(acquisition)?.run(&text(body))?;
        let (first, second) = (report.between("begin", "end")?, report.between("lock", "unlock")?);
        let is_lazy = acquisition == Acquisition::Lazy;
        panel.series(
            name,
            vec![
                Point::named("first lock (O0)", first).paper(is_lazy.then_some(1340.0)),
                Point::named("second lock (O1)", second).paper(is_lazy.then_some(340.0)),
            ],
        );
        let (of_first, of_second, [at_first, at_second]) = match (acquisition, closing) {
            (Acquisition::Lazy, _) => {
                ("O0 overlaps nothing", "O1 has the lock for itself", [DELAY + PUT, PUT])
            }
            (_, Closing::Waits) => {
                ("O0 overlaps its put", "O1 waits for all of O0's epoch", [DELAY, DELAY + PUT])
            }
            (_, Closing::Returns) => {
                ("O0 overlaps its put", "O1 waits for O0's data only", [DELAY, 2.0 * PUT])
            }
        };
        figure.says(format!("{name}: {of_first}"), [Comparison::near("O0", first, at_first, NEAR)]);
        figure.says(format!("{name}: {of_second}"), [Comparison::near("O1", second, at_second, NEAR)]);
        // With iunlock O1 waits, too, but only for O0's data.
        if closing == Closing::Waits {
            let says =
                if is_lazy { "sees no Late Unlock" } else { "names the pattern, Late Unlock of O1 by O0" };
            figure.fact(
                format!("{name}: the simulator {says}"),
                report.has(Inefficiency::LateUnlock, 2, 1) != is_lazy,
                report.lateness(),
            );
        }
    }
    figure.panels.push(panel);
    Ok(figure)
}
