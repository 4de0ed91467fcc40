//! How far a simulation is, on a terminal, and how much memory it may take.

use crate::failure::Failure;
use crate::numbers::grouped;
use crate::style::Style;
use crate::verify::{Line, memory};
use carrousel_scenario::Scenario;
use carrousel_transport_sim::{Config, Report, RunProgress, SimError, simulate_watched};
use carrousel_verify::explore::Footprint;
use std::time::Instant;

/// Simulates a scenario, and gives it up when this process has as much memory as `most`, or as the host and limits leave.
pub(super) fn watched(
    scenario: &Scenario,
    config: &Config,
    most: Option<u64>,
    errors: Style,
    refusal: impl FnOnce(&SimError) -> Failure,
) -> Result<Report, Failure> {
    let (bounds, began) = (memory::bounds(most), Instant::now());
    let line = Line::new(&scenario.file, errors);
    let mut has = Footprint::default();
    let simulated = simulate_watched(scenario, config, &mut |RunProgress { events, time_ns }| {
        has = Footprint::of_process();
        let memory = has.resident.map_or_else(String::new, |bytes| format!(", {}", mebibytes(bytes)));
        let most =
            bounds.resident.map_or_else(String::new, |most| format!(" of at most {}", mebibytes(most)));
        line.say(format!(
            "{} events, {:.3} ms of virtual time{memory}{most}, {:.0} s",
            grouped(events),
            time_ns as f64 / 1e6,
            began.elapsed().as_secs_f64()
        ));
        !has.is_beyond(&bounds)
    });
    drop(line);
    simulated.map_err(|error| match error {
        SimError::GivenUp { .. } => {
            let has = has.resident.map_or_else(|| "what its limits leave".to_owned(), mebibytes);
            refusal(&error).with_help(format_args!(
                "it has {has} of memory: --max-memory allows more; fewer ranks, or a collective in the place of many \
                 messages, need less"
            ))
        }
        _ => refusal(&error),
    })
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", grouped(bytes >> 20))
}
