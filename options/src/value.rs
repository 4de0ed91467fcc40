//! Reads values from text, in the syntax of scenarios.

use carrousel_scenario::units::Unit;

/// A size: bytes, or `16KiB`, `512MiB`, `8GiB`.
///
/// # Errors
/// When the text is not a size; the error gives examples.
pub fn parse_size(text: &str) -> Result<u64, String> {
    number(text, |unit| unit == Unit::None || unit.is_size())
        .ok_or_else(|| format!("`{text}` is no size; write bytes, or 16KiB, 512MiB, 8GiB"))
}

/// A time, in nanoseconds: `250ns`, `5us`, `1ms`, `2s`.
pub(crate) fn parse_time(text: &str) -> Result<u64, String> {
    let is_time = Unit::is_time;
    let zero = text == "0";
    let time = if zero { Some(0) } else { number(text, is_time) };
    time.ok_or_else(|| format!("`{text}` is no time; write 250ns, 5us, 1ms or 2s"))
}

/// A number with a unit that `is_unit` accepts; a number without a unit has `Unit::None`.
fn number(text: &str, is_unit: impl Fn(Unit) -> bool) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = if unit.is_empty() { Unit::None } else { Unit::from_name(unit)? };
    let number: u64 = number.parse().ok()?;
    number.checked_mul(unit.factor().unsigned_abs()).filter(|_| is_unit(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_in_scenarios() {
        assert_eq!(parse_size("8GiB"), Ok(8 << 30));
        assert_eq!(parse_size("12"), Ok(12));
        let sizes = ["0", "8", "8B", "64KiB", "1MiB"].map(parse_size);
        assert_eq!(sizes, [0, 8, 8, 64 << 10, 1 << 20].map(Ok));
        let wrong = ["", "KiB", "GiB", "-1", "1kb", "1GB", "1 KiB", "1.5GiB", "10s", "1us"];
        let large = ["99999999999999999999", "17179869184GiB", "99999999999GiB"];
        for wrong in wrong.into_iter().chain(large) {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_have_a_unit() {
        assert_eq!(parse_time("30s"), Ok(30_000_000_000));
        assert_eq!(parse_time("250ns"), Ok(250));
        assert_eq!(parse_time("0"), Ok(0));
        for wrong in ["", "5", "5KiB", "-1s", "1.5s"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }
}
