//! A wait for a rank that is late, as a report has it.

use carrousel_rank::epoch::Inefficiency;
use serde::{Deserialize, Serialize};

/// A stretch of time in which a statement waits, and for whom. Times are virtual microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Late {
    /// Why.
    #[serde(with = "name")]
    pub pattern: Inefficiency,
    /// The rank that waits.
    pub rank: u32,
    /// The line of the statement that waits.
    pub line: u32,
    /// The rank that is waited for.
    pub by: u32,
    /// From when.
    pub from_us: f64,
    /// Until when.
    pub to_us: f64,
}

impl Late {
    /// How long.
    pub fn length_us(&self) -> f64 {
        self.to_us - self.from_us
    }
}

/// The names of patterns in reports: `late_post`.
mod name {
    use carrousel_rank::epoch::Inefficiency;
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    fn of(pattern: Inefficiency) -> String {
        pattern.to_string().to_lowercase().replace(' ', "_")
    }

    pub(super) fn serialize<S: Serializer>(pattern: &Inefficiency, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&of(*pattern))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Inefficiency, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = Inefficiency::ALL.into_iter().find(|pattern| of(*pattern) == name);
        found.ok_or_else(|| D::Error::custom(format!("no pattern of a wait is called `{name}`")))
    }

    #[cfg(test)]
    mod tests {
        use super::super::{Inefficiency, Late};

        #[test]
        fn every_pattern_is_read_as_it_is_written() {
            let mut names = Vec::new();
            for pattern in Inefficiency::ALL {
                let late = Late { pattern, rank: 0, line: 1, by: 2, from_us: 3.0, to_us: 4.0 };
                let json = serde_json::to_value(&late).expect("it is data");
                names.push(json["pattern"].as_str().expect("a name").to_owned());
                assert_eq!(serde_json::from_value::<Late>(json).expect("it was written"), late);
            }
            let known = ["late_post", "late_complete", "early_fence", "wait_at_fence", "late_unlock"];
            assert_eq!(names, known, "the schema of reports has these");
        }
    }
}
