//! Numbers as people read and write them.

use carrousel_scenario::units::Unit;
use indicatif::HumanCount;

/// `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    HumanCount(number).to_string()
}

/// Seconds with as many digits as make sense.
pub(crate) fn seconds(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.2} s") } else { format!("{seconds:.1} s") }
}

/// `1 state`, `2 states`.
pub(crate) fn count(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Bytes, approximately, in the largest binary unit that leaves a number of at least one.
pub(crate) fn bytes(bytes: u64) -> String {
    let units = [(Unit::GiB, 30), (Unit::MiB, 20), (Unit::KiB, 10)];
    match units.into_iter().find(|(_, shift)| bytes >> shift > 0) {
        Some((unit, shift)) => format!("{:.1} {}", bytes as f64 / f64::from(1 << shift), unit.name()),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
