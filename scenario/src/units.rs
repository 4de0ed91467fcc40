//! Units of sizes and times: `16KiB`, `5us`.

/// The unit behind a number. The meaning of a number without a unit depends on its slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unit {
    /// None: a plain number, or bytes where a size is asked for.
    #[default]
    None,
    /// Bytes.
    B,
    /// 2^10 bytes.
    KiB,
    /// 2^20 bytes.
    MiB,
    /// 2^30 bytes.
    GiB,
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl Unit {
    /// Every unit that can be written, sizes first, each from small to large.
    pub const WRITTEN: [Unit; 8] =
        [Unit::B, Unit::KiB, Unit::MiB, Unit::GiB, Unit::Ns, Unit::Us, Unit::Ms, Unit::S];

    /// The text of the unit behind a number; empty for [`Unit::None`].
    pub const fn name(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::B => "B",
            Unit::KiB => "KiB",
            Unit::MiB => "MiB",
            Unit::GiB => "GiB",
            Unit::Ns => "ns",
            Unit::Us => "us",
            Unit::Ms => "ms",
            Unit::S => "s",
        }
    }

    /// The factor of the number: bytes for sizes, nanoseconds for times.
    pub const fn factor(self) -> i64 {
        match self {
            Unit::None | Unit::B | Unit::Ns => 1,
            Unit::KiB => 1 << 10,
            Unit::MiB => 1 << 20,
            Unit::GiB => 1 << 30,
            Unit::Us => 1_000,
            Unit::Ms => 1_000_000,
            Unit::S => 1_000_000_000,
        }
    }

    /// Whether it measures bytes.
    pub fn is_size(self) -> bool {
        matches!(self, Unit::B | Unit::KiB | Unit::MiB | Unit::GiB)
    }

    /// Whether it measures time.
    pub fn is_time(self) -> bool {
        matches!(self, Unit::Ns | Unit::Us | Unit::Ms | Unit::S)
    }

    /// The unit that is written `name`.
    pub fn from_name(name: &str) -> Option<Unit> {
        Unit::WRITTEN.into_iter().find(|unit| unit.name() == name)
    }
}

/// `bytes` in the largest unit that divides it: `64KiB`, `100`.
pub fn size(bytes: u64) -> String {
    let units = [Unit::GiB, Unit::MiB, Unit::KiB];
    largest(bytes, &units, "")
}

/// `ns` nanoseconds in the largest unit that divides it: `1ms`, `1500us`.
pub fn time(ns: u64) -> String {
    let units = [Unit::S, Unit::Ms, Unit::Us];
    largest(ns, &units, Unit::Ns.name())
}

fn largest(value: u64, units: &[Unit], smallest: &str) -> String {
    let fits = |unit: &&Unit| value != 0 && value.is_multiple_of(unit.factor().unsigned_abs());
    match units.iter().find(fits) {
        Some(unit) => format!("{}{}", value / unit.factor().unsigned_abs(), unit.name()),
        None => format!("{value}{smallest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_in_the_largest_exact_unit() {
        for (bytes, text) in
            [(0, "0"), (1, "1"), (1024, "1KiB"), (65536, "64KiB"), (1025, "1025"), (3 << 30, "3GiB")]
        {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn times_are_written_in_the_largest_exact_unit() {
        for (ns, text) in [(0, "0ns"), (250, "250ns"), (1_500_000, "1500us"), (2_000_000_000, "2s")] {
            assert_eq!(time(ns), text);
        }
    }
}
