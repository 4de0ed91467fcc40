//! Results as tables.

use super::digits::digits;
use crate::failure::Failure;
use crate::out::Out;
use crate::style::Paint;
use crate::table::{Align, Cell, Table};
use carrousel_bench::{Benchmark, Call, CallKind, Measured, Overlapped, Results};
use carrousel_scenario::units;

/// Prints a table for each benchmark.
pub(super) fn print(results: &Results, out: &mut Out) -> Result<(), Failure> {
    let Results { ranks, cores, .. } = results;
    out.line(&format!("{ranks} ranks on {cores} cores; medians of batches, of which half lie in the range"))?;
    for benchmark in Benchmark::ALL {
        if results.of(benchmark).next().is_some() {
            let name = out.style.paint(Paint::Strong, benchmark.name());
            out.line(&format!("\n{name}: {}", benchmark.says()))?;
            let table = match benchmark {
                Benchmark::Overlap => overlap(results),
                _ => table(results, benchmark),
            };
            out.text(&table.render(2, out.style))?;
        }
    }
    Ok(())
}

/// A row for each message of an exchange, with the calls of both ranks: median, and the quartiles in brackets.
fn overlap(results: &Results) -> Table {
    let columns = ["bytes", "compute us", "message", "irecv us", "its wait us", "isend us", "its wait us"];
    let right = columns.map(|name| (name, Align::Right));
    let last = [("exchanges", Align::Right), ("out of order", Align::Right)];
    let mut table = Table::headed(&[&[("case", Align::Left)][..], &right, &last].concat());
    let about = |measured: &Measured| measured.record.overlapped;
    let measured: Vec<(&Measured, Overlapped)> =
        results.of(Benchmark::Overlap).filter_map(|measured| Some((measured, about(measured)?))).collect();
    for (first, Overlapped { case, call, compute_us, out_of_order }) in &measured {
        // A message's first call stands for the row.
        if call.kind != CallKind::ALL[0] {
            continue;
        }
        let size = first.record.size;
        let time = |kind| {
            let of = |(measured, about): &&(&Measured, Overlapped)| {
                measured.record.size == size
                    && about.case == *case
                    && about.call == Call { kind, message: call.message }
            };
            let text = measured.iter().find(of).map_or(String::new(), |(measured, _)| {
                let spread = measured.quartiles.map(|both| both.map(digits));
                let spread = spread.map_or(String::new(), |[from, to]| format!(" ({from}..{to})"));
                digits(measured.record.value) + &spread
            });
            Cell::painted(text, if kind.is_wait() { Paint::Strong } else { Paint::Faint })
        };
        let mut cells: Vec<Cell> = vec![case.name().into(), units::size(size).into()];
        cells.extend([compute_us.to_string().into(), (call.message + 1).to_string().into()]);
        cells.extend(CallKind::ALL.map(time));
        cells.push(Cell::painted(first.record.repetitions.to_string(), Paint::Faint));
        cells.push(Cell::painted(out_of_order.to_string(), Paint::Faint));
        table.row(cells);
    }
    table
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
