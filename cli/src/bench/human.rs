//! Results as tables.

use super::digits::digits;
use crate::failure::Failure;
use crate::out::Out;
use crate::style::Paint;
use crate::table::{Align, Cell, Table};
use carrousel_bench::{Benchmark, Results};
use carrousel_scenario::units;

/// Prints a table for each benchmark.
pub(super) fn print(results: &Results, out: &mut Out) -> Result<(), Failure> {
    let Results { ranks, cores, .. } = results;
    out.line(&format!("{ranks} ranks on {cores} cores; medians of batches, of which half lie in the range"))?;
    for benchmark in Benchmark::ALL {
        if results.of(benchmark).next().is_some() {
            let name = out.style.paint(Paint::Strong, benchmark.name());
            out.line(&format!("\n{name}: {}", benchmark.says()))?;
            let text = table(results, benchmark).render(2, out.style);
            out.text(&text)?;
        }
    }
    Ok(())
}

fn table(results: &Results, benchmark: Benchmark) -> Table {
    let partners = benchmark.has_connections().then_some("partners");
    let bytes = benchmark.has_sizes().then_some("bytes");
    let columns =
        partners.into_iter().chain([bytes.unwrap_or_default(), benchmark.unit(), "from", "to", "batches"]);
    let columns: Vec<_> = columns.map(|name| (name, Align::Right)).collect();
    let mut table = Table::headed(&columns);
    for measured in results.of(benchmark) {
        let record = &measured.record;
        let spread = measured.quartiles.map_or([String::new(), String::new()], |both| both.map(digits));
        let [from, to] = spread.map(|text| Cell::painted(text, Paint::Faint));
        let size = if benchmark.has_sizes() { units::size(record.size) } else { String::new() };
        let partners = record.connections.map(|partners| partners.to_string().into());
        table.row(partners.into_iter().chain([
            size.into(),
            Cell::painted(digits(record.value), Paint::Strong),
            from,
            to,
            Cell::painted(record.repetitions.to_string(), Paint::Faint),
        ]));
    }
    table
}
