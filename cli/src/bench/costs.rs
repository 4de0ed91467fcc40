//! Common parts of measurements in one process: arguments, the adapter, and how a cost is printed.

use super::digits::digits;
use super::pt2pt::seconds;
use crate::failure::Failure;
use crate::input;
use crate::report::Format;
use crate::style::Paint;
use crate::table::Cell;
use carrousel_bench::{Budget, MemoryError, REPETITIONS_MAX, Summary, pin};
use carrousel_options::Settings;

/// How much is measured, and how that is printed.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Costs {
    /// Time of each measurement
    #[arg(long, default_value_t = Budget::default().seconds, value_parser = seconds)]
    seconds: f64,
    /// Repetitions of each measurement, instead of a time
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(REPETITIONS_MAX)))]
    repetitions: Option<u32>,
    /// How to print the results
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}

impl Costs {
    /// How much of each.
    pub(super) fn budget(&self) -> Budget {
        Budget { seconds: self.seconds, repetitions: self.repetitions }
    }
}

/// The options; this process stays on one core from here on.
pub(super) fn settle() -> Result<Settings, Failure> {
    let settings = input::settings()?;
    pin(0).map_err(Failure::wrong)?;
    Ok(settings)
}

/// Advice where nothing can be measured.
pub(super) fn failure(error: MemoryError) -> Failure {
    match error {
        MemoryError::NoAdapter(_) => Failure::wrong(&error).with_help(
            "`carrousel info` says what there is. Where there is no adapter, Soft-RoCE makes one of a network interface: \
             rdma link add rxe0 type rxe netdev eth0",
        ),
        _ => Failure::wrong(error),
    }
}

/// Costs, each with the values between which half of its measurements were.
pub(super) fn spread(costs: impl IntoIterator<Item = Summary>) -> impl Iterator<Item = Cell> {
    let cells = |Summary { median, lower, upper, .. }: Summary| {
        spread_cells(digits(median), digits(lower), digits(upper))
    };
    costs.into_iter().flat_map(cells)
}

/// A value, and between which others it may be.
pub(super) fn spread_cells(value: String, lower: String, upper: String) -> [Cell; 2] {
    [Cell::painted(value, Paint::Strong), Cell::painted(format!("{lower}..{upper}"), Paint::Faint)]
}
