//! Measured numbers as a person reads them. `cargo xtask bench` shares the file: its tables have these numbers next
//! to those of other libraries.

/// Digits that mean something: three of them, and all before the point; millions are `M`.
pub(super) fn digits(value: f64) -> String {
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
