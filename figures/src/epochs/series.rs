//! What the figures share: the paper's three series, and its times.

use crate::measure::{FigureError, Machine};
use carrousel_transport_sim::Acquisition;

/// What a put of 1 MB takes in virtual microseconds (VIII-A1: "any epoch hosting an MPI_PUT of 1 MB takes about 340 us for
/// all three test series").
pub(super) const PUT: f64 = 340.0;
/// What the figures delay.
pub(super) const DELAY: f64 = 1000.0;
/// How far from that a time may be, in percent: calls, and packets of an epoch, take a few microseconds.
pub(super) const NEAR: f64 = 2.0;

/// The paper's three series: whether locks are acquired lazily, and whether closing an epoch waits.
pub(super) const SERIES: [(&str, Acquisition, Closing); 3] = [
    ("lazy [MVAPICH]", Acquisition::Lazy, Closing::Waits),
    ("blocking [New]", Acquisition::Eager, Closing::Waits),
    ("nonblocking [New nonblocking]", Acquisition::Eager, Closing::Returns),
];

/// How an epoch is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    Waits,
    Returns,
}

/// The paper's cluster, on which locks are acquired like this.
pub(super) fn machine(acquisition: Acquisition) -> Result<Machine, FigureError> {
    Ok(Machine::new("qdr")?.with(|config| config.acquisition = acquisition))
}
