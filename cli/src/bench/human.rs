//! Results as tables.

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
    let right = |name| (name, Align::Right);
    let mut table = Table::headed(&[
        right(if benchmark.has_sizes() { "bytes" } else { "" }),
        right(benchmark.unit()),
        right("from"),
        right("to"),
        right("batches"),
    ]);
    for measured in results.of(benchmark) {
        let record = &measured.record;
        let spread = measured.quartiles.map_or([String::new(), String::new()], |both| both.map(digits));
        let [from, to] = spread.map(|text| Cell::painted(text, Paint::Faint));
        let size = if benchmark.has_sizes() { units::size(record.size) } else { String::new() };
        table.row([
            size.into(),
            Cell::painted(digits(record.value), Paint::Strong),
            from,
            to,
            Cell::painted(record.repetitions.to_string(), Paint::Faint),
        ]);
    }
    table
}

/// Digits that mean something: three of them, and all before the point; millions are `M`.
fn digits(value: f64) -> String {
    if value.abs() >= 1e6 {
        return digits(value / 1e6) + "M";
    }
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let decimals = (2 - magnitude).clamp(0, 4) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_shown() {
        let shown = [0.0, 0.0123, 0.32897, -9.876, 61.02, 12472.13, 11_092_785.6].map(digits);
        assert_eq!(shown, ["0.00", "0.0123", "0.329", "-9.88", "61.0", "12472", "11.1M"]);
    }
}
