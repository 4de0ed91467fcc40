//! `carrousel bench registration`: what registering memory costs.

use super::costs::{Costs, failure, settle, spread};
use crate::failure::Failure;
use crate::out::Out;
use crate::report::{Format, json};
use crate::status::Status;
use crate::style::Paint;
use crate::table::{Align, Table};
use carrousel_bench::{Adapter, REGISTERED_SIZES, RegistrationCost, registration_costs};
use carrousel_scenario::units;
use serde::Serialize;

/// Measure what registering memory with an adapter costs
///
/// In one process, without a job: from a page to 16 MiB, what it takes to register memory with an InfiniBand or
/// RoCE adapter, to end that, and to copy as many bytes instead. With each adapter that can be used, or with
/// the one that the option verbs_device names.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  carrousel bench registration
  CARROUSEL_VERBS_DEVICE=mlx5_0 carrousel bench registration --seconds 1
  carrousel bench registration --format json | jq '.adapters[].costs[]'

Exit status: 0 when all is measured; 2 without an adapter, or for a wrong
command line.")]
pub(crate) struct RegistrationArgs {
    #[command(flatten)]
    costs: Costs,
}

#[derive(Serialize)]
struct RegistrationReport {
    unit: &'static str,
    adapters: Vec<OfAdapter>,
}

#[derive(Serialize)]
struct OfAdapter {
    name: String,
    costs: Vec<RegistrationCost>,
}

/// `carrousel bench registration`.
pub(super) fn run(args: &RegistrationArgs, out: &mut Out) -> Result<Status, Failure> {
    let settings = settle()?;
    let mut report = RegistrationReport { unit: "us", adapters: Vec::new() };
    for adapter in Adapter::all(&carrousel::verbs_choice(&settings)).map_err(failure)? {
        let costs = registration_costs(&adapter, &REGISTERED_SIZES, args.costs.budget()).map_err(failure)?;
        report.adapters.push(OfAdapter { name: adapter.name().to_owned(), costs });
    }
    match args.costs.format {
        Format::Json => out.line(&json(&report)?)?,
        Format::Human => {
            for adapter in &report.adapters {
                let name = out.style.paint(Paint::Strong, &adapter.name);
                out.line(&format!(
                    "{name}: us to register memory; medians, and where half of the values lie"
                ))?;
                out.text(&table(&adapter.costs).render(2, out.style))?;
            }
        }
    }
    Ok(Status::Fine)
}

fn table(costs: &[RegistrationCost]) -> Table {
    let right = |name| (name, Align::Right);
    let mut table = Table::headed(&[
        right("bytes"),
        right("register"),
        right(""),
        right("deregister"),
        right(""),
        right("copy"),
        right(""),
    ]);
    for cost in costs {
        let size = units::size(cost.size as u64).into();
        table.row([size].into_iter().chain(spread([cost.register, cost.deregister, cost.copy])));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Style;
    use carrousel_bench::Summary;

    #[test]
    fn each_size_has_three_costs_with_their_spread() {
        let cost = |median| Summary { median, lower: median / 2.0, upper: median * 2.0, count: 9 };
        let costs =
            RegistrationCost { size: 4096, register: cost(8.0), deregister: cost(3.0), copy: cost(0.25) };
        let plain = Style { color: false, terminal: false };
        let expected = "\
bytes  register              deregister               copy
 4KiB      8.00  4.00..16.0        3.00  1.50..6.00  0.250  0.125..0.500
";
        assert_eq!(table(&[costs]).render(0, plain), expected);
    }
}
