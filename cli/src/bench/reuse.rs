//! `carrousel bench reuse`: from how many uses on it pays to register a small buffer.

use super::costs::{Costs, failure, settle, spread, spread_cells};
use crate::failure::{Failure, shown};
use crate::out::Out;
use crate::report::{Format, json};
use crate::status::Status;
use crate::style::Paint;
use crate::table::{Align, Cell, Table};
use carrousel_bench::{Adapter, ClassCosts, reuse_costs, thresholds};
use carrousel_registration::{CLASSES, Path as Way, Thresholds};
use carrousel_system::stderr;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// Measure from how many uses on it pays to register a small buffer
///
/// A small message is copied into memory that is registered for good (C). Where a program sends from the same
/// buffer again and again, registering that one (R) saves the copies. Each use costs a look-up instead (V): it pays
/// after more than R / (C - V) uses, and never where V is no less than C, or may be no less as far as the medians
/// are sure. An eager message is lent to the adapter then, which costs more than a look-up: of those, C - V is
/// measured as a whole, as what a message saves.
///
/// In one process, without a job, with the adapter that a job would take. Messages are in the caches of the
/// processor, as is what a program has just written; they are of the middle of each size class, which is 1 KiB
/// wide; the last one, which has no end, is taken to be, too. What a message saves is seen by sending them through the
/// library and the adapter to a second rank of this process, copied and lent, which takes five times as long as each
/// of the others.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The parameter file that --write makes has a line for each path (eager_by_write,
eager_by_send, put, get) with a number of uses for each size class, or `never`;
`#` begins a comment. It belongs to this machine and adapter. Ranks read the
file that the option verbs_reuse_table names:

  carrousel bench reuse --write reuse.table
  export CARROUSEL_VERBS_REUSE_TABLE=$PWD/reuse.table

Examples:
  carrousel bench reuse
  carrousel bench reuse --seconds 1 --write /etc/carrousel/reuse.table
  carrousel bench reuse --format json | jq '.thresholds.put'

Exit status: 0 when all is measured; 2 without an adapter, for a file that
cannot be written, or for a wrong command line.")]
pub(crate) struct ReuseArgs {
    #[command(flatten)]
    costs: Costs,
    /// Write the parameter file
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

#[derive(Serialize)]
struct ReuseReport {
    adapter: String,
    unit: &'static str,
    classes: Vec<Class>,
    /// For each path, by size class; none for never.
    thresholds: BTreeMap<&'static str, [Option<u32>; CLASSES]>,
}

#[derive(Serialize)]
struct Class {
    #[serde(flatten)]
    costs: ClassCosts,
    /// For each path, from where the medians are sure to be: the end that speaks for registering, and the one that
    /// speaks against it.
    spread: BTreeMap<&'static str, [Option<u32>; 2]>,
}

/// `carrousel bench reuse`.
pub(super) fn run(args: &ReuseArgs, out: &mut Out) -> Result<Status, Failure> {
    let settings = settle()?;
    let adapter = Adapter::open(&carrousel::verbs_choice(&settings)).map_err(failure)?;
    let costs = reuse_costs(&adapter, args.costs.budget()).map_err(failure)?;
    match args.costs.format {
        Format::Json => out.line(&json(&report(adapter.name(), &costs))?)?,
        Format::Human => {
            let name = out.style.paint(Paint::Strong, adapter.name());
            out.line(&format!("{name}: us a message; medians, and where half of the values lie"))?;
            out.text(&costs_table(&costs).render(2, out.style))?;
            out.line("\nuses from which on registering pays, and between which numbers that is sure")?;
            out.text(&uses_table(&costs).render(2, out.style))?;
        }
    }
    if let Some(path) = &args.write {
        fs::write(path, file(adapter.name(), &costs))
            .map_err(|error| Failure::of_file("write", path, &error))?;
        out.flush()?;
        stderr::tell(format!("written to {}", shown(path)));
    }
    Ok(Status::Fine)
}

/// The text of the parameter file.
fn file(adapter: &str, costs: &[ClassCosts]) -> String {
    format!("# Measured with {adapter} by `carrousel bench reuse`.\n{}", thresholds(costs))
}

/// Names of classes are the KiB that their messages have at least.
fn class(cost: &ClassCosts) -> Cell {
    let kib = cost.class;
    if kib + 1 < CLASSES { format!("{kib} KiB").into() } else { format!("{kib} KiB and more").into() }
}

fn costs_table(costs: &[ClassCosts]) -> Table {
    let heads = ["copy", "", "look-up", "", "saved", "", "registration", ""];
    let columns: Vec<_> = [("messages", Align::Left), ("bytes", Align::Right)]
        .into_iter()
        .chain(heads.map(|name| (name, Align::Right)))
        .collect();
    let mut table = Table::headed(&columns);
    for cost in costs {
        let cells = spread([cost.copy, cost.look_up, cost.saved, cost.registration]);
        table.row([class(cost), cost.size.to_string().into()].into_iter().chain(cells));
    }
    table
}

fn uses_table(costs: &[ClassCosts]) -> Table {
    let paths = Way::ALL.into_iter().flat_map(|way| [(way.name(), Align::Right), ("", Align::Right)]);
    let columns: Vec<_> = [("messages", Align::Left)].into_iter().chain(paths).collect();
    let mut table = Table::headed(&columns);
    let word = |uses: u32| if uses == Thresholds::NEVER { "never".to_owned() } else { uses.to_string() };
    for cost in costs {
        let cells = Way::ALL.into_iter().flat_map(|way| {
            let [low, high] = cost.spread(way).map(word);
            spread_cells(word(cost.uses(way)), low, high)
        });
        table.row([class(cost)].into_iter().chain(cells));
    }
    table
}

fn report(adapter: &str, costs: &[ClassCosts]) -> ReuseReport {
    let number = |uses: u32| Some(uses).filter(|uses| *uses != Thresholds::NEVER);
    let found = thresholds(costs);
    let classes = costs.iter().map(|cost| Class {
        costs: *cost,
        spread: Way::ALL.map(|way| (way.name(), cost.spread(way).map(number))).into(),
    });
    ReuseReport {
        adapter: adapter.to_owned(),
        unit: "us",
        classes: classes.collect(),
        thresholds: Way::ALL.map(|way| (way.name(), found.of(way).map(number))).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Style;
    use carrousel_bench::Summary;

    fn costs() -> Vec<ClassCosts> {
        let cost = |median| Summary { median, lower: median / 2.0, upper: median * 2.0, count: 900 };
        let of = |class: usize| ClassCosts {
            class,
            size: class * 1024 + 512,
            copy: cost(0.25 * (class + 1) as f64),
            look_up: cost(0.25),
            saved: cost(0.125 * class as f64),
            registration: cost(30.0),
        };
        (0..CLASSES).map(of).collect()
    }

    #[test]
    fn the_tables_have_a_row_for_each_class() {
        let plain = Style { color: false, terminal: false };
        let costs = &costs()[7..];
        let expected = "\
messages        bytes  copy              look-up                saved               registration
7 KiB            7680  2.00  1.00..4.00    0.250  0.125..0.500  0.875  0.438..1.75          30.0  15.0..60.0
8 KiB and more   8704  2.25  1.12..4.50    0.250  0.125..0.500   1.00  0.500..2.00          30.0  15.0..60.0
";
        assert_eq!(costs_table(costs).render(0, plain), expected);
        let expected = "\
messages        eager_by_write          eager_by_send          put          get
7 KiB                       35  29..42             35  29..42   18  14..22   18  14..22
8 KiB and more              31  25..37             31  25..37   16  13..19   16  13..19
";
        assert_eq!(uses_table(costs).render(0, plain), expected);
    }

    #[test]
    fn the_file_has_the_thresholds_that_follow() {
        let text = file("rxe0", &costs());
        assert!(text.starts_with("# Measured with rxe0 by"), "{text}");
        let read: Thresholds = text.parse().expect("it is right");
        assert_eq!(read, thresholds(&costs()));
        assert_eq!(
            (read.put[3], read.put[4], read.eager_by_send[0], read.eager_by_send[6]),
            (41, 31, Thresholds::NEVER, 41)
        );
    }

    #[test]
    fn a_program_is_told_null_for_never() {
        let report = serde_json::to_value(report("rxe0", &costs())).expect("it is JSON");
        assert_eq!(report["thresholds"]["eager_by_send"][0], serde_json::Value::Null);
        assert_eq!(report["thresholds"]["put"][4], 31);
        assert_eq!(report["classes"][5]["spread"]["eager_by_send"], serde_json::json!([40, 58]));
        assert_eq!((&report["classes"][8]["size"], &report["unit"]), (&8704.into(), &"us".into()));
    }
}
