//! Figures 3.1 and 3.2: a rendezvous by read, and one by write, in four arrival orders.

use crate::entry::Points;
use crate::figure::{Comparison, Drawing, Figure, Panel, Point, Scale};
use crate::measure::{FigureError, Labelled, Machine};
use carrousel_transport_sim::Protocol::{self, Mirror, Published, Rput};
use carrousel_transport_sim::{Report, timeline};

/// An order of arrival: by how many microseconds each end comes late, and for how long it computes before it waits.
struct Order {
    name: &'static str,
    says: &'static str,
    sender: (u32, u32),
    receiver: (u32, u32),
}

/// A message of 1 MiB takes 340 us: less than each computation.
const ORDERS: [Order; 4] = [
    Order { name: "(a)", says: "sender comes first, and waits first", sender: (0, 500), receiver: (50, 650) },
    Order { name: "(b)", says: "sender comes first, and waits last", sender: (0, 700), receiver: (50, 450) },
    Order {
        name: "(c)",
        says: "receiver comes first, and waits first",
        sender: (50, 650),
        receiver: (0, 500),
    },
    Order {
        name: "(d)",
        says: "receiver comes first, and waits last",
        sender: (50, 450),
        receiver: (0, 700),
    },
];

/// A wait that is the library's work, not waiting.
const NO_WAIT: f64 = 10.0;

fn run(order: &Order, head: &str, protocol: Protocol, title: &str) -> Result<Report, FigureError> {
    let machine = Machine::new("qdr")?.with(|config| {
        config.protocol = protocol;
        config.timeline = true;
    });
    let Order { sender, receiver, .. } = order;
    machine.run(&format!(
        "scenario \"{title}\"\nranks 2\n{head}\
         rank 0\n compute {}us\n s = isend to 1 tag 0 size 1MiB\n compute {}us\n send: wait s\n\
         rank 1\n compute {}us\n r = irecv from 0 tag 0 size 1MiB\n compute {}us\n receive: wait r\n",
        sender.0, sender.1, receiver.0, receiver.1
    ))
}

/// What each end waits in each order, sender first; a drawing of each.
fn waits(
    figure: &mut Figure,
    name: &str,
    head: &str,
    protocol: Protocol,
) -> Result<Vec<[f64; 2]>, FigureError> {
    let (mut sends, mut receives, mut waits) = (Vec::new(), Vec::new(), Vec::new());
    for order in &ORDERS {
        let title = format!("{name} {}: {}", order.name, order.says);
        let report = run(order, head, protocol, &title)?;
        let [send, receive] = [report.between("send", "send")?, report.between("receive", "receive")?];
        sends.push(Point::named(order.name, send));
        receives.push(Point::named(order.name, receive));
        waits.push([send, receive]);
        figure.drawings.push(Drawing { title, svg: timeline::svg(&report) });
    }
    // One panel for all: the times of one are next to nothing beside those of another.
    if figure.panels.is_empty() {
        figure.panels.push(Panel::new("", "arrival order", Scale::Names, "us in the wait"));
    }
    if let Some(panel) = figure.panels.first_mut() {
        panel.series(&format!("{name}, sender"), sends);
        panel.series(&format!("{name}, receiver"), receives);
    }
    Ok(waits)
}

/// The speculative protocol, which the figures do not have.
fn ours(figure: &mut Figure) -> Result<(), FigureError> {
    let all = waits(figure, "mirror", "", Mirror)?;
    let pairs = ORDERS.iter().zip(all);
    let comparisons = pairs.flat_map(|(order, waits)| {
        ["sender", "receiver"]
            .into_iter()
            .zip(waits)
            .map(|(side, us)| Comparison::at_most(format!("{}, {side}", order.name), us, NO_WAIT))
    });
    figure.says("mirror: no order makes anyone wait", comparisons);
    Ok(())
}

/// Figure 3.1: by read.
pub(super) fn figure_3_1(_: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(
        "SI 3.1",
        "Where each side of a rendezvous by read waits, in four arrival orders",
        "A message of 1 MiB; both sides compute for longer than it takes between their call and their wait. The sender announces \
         (RTS), the receiver reads and sends FIN.",
    );
    let read = waits(&mut figure, "read", "option speculation off\n", Published)?;
    let free = |what: &str, us| Comparison::at_most(what, us, NO_WAIT);
    let moves = |what: &str, us| Comparison::at_least(what, us, 330.0);
    let [a, b, c, d] = [read[0], read[1], read[2], read[3]];
    figure.says(
        "(a): the read is hidden; the sender waits for FIN, until the receiver waits",
        [free("receiver", a[1]), Comparison::between("sender", a[0], 150.0, 250.0)],
    );
    figure.says(
        "(b): the only order in which both are free of waits",
        [free("sender", b[0]), free("receiver", b[1])],
    );
    figure.says(
        "(c): the receiver has seen no RTS when it began to compute, and reads in its wait",
        [moves("receiver", c[1]), Comparison::at_least("sender", c[0], 100.0)],
    );
    figure.says(
        "(d): the same, and the sender waits for all of it",
        [moves("receiver", d[1]), moves("sender", d[0])],
    );
    ours(&mut figure)?;
    Ok(figure)
}

/// Figure 3.2: by write.
pub(super) fn figure_3_2(_: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(
        "SI 3.2",
        "Where each side of a rendezvous by write waits, in four arrival orders",
        "As figure 3.1; the sender announces (RTS), the receiver answers where the data may be written (CTS), the sender writes and \
         sends FIN.",
    );
    let write = waits(&mut figure, "write", "", Rput)?;
    let blocked = ORDERS.iter().zip(&write).map(|(order, waits)| {
        Comparison::at_least(
            format!("{}, the side that waits longer", order.name),
            waits[0].max(waits[1]),
            330.0,
        )
    });
    figure.says("no order overlaps the transfer at both sides", blocked);
    ours(&mut figure)?;
    figure.differs(
        "In the paper's (a) the call of the receive finds the RTS, and answers: the receiver may be free of waits. The simulated \
         RPUT looks for no arrivals in that call, as the libraries of speculative-rendezvous 3.6.1 do.",
    );
    Ok(figure)
}
