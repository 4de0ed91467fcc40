//! A result as programs print it: one JSON object a line.

use serde::{Deserialize, Serialize};

/// One measurement of one program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The measurement.
    pub(crate) bench: String,
    /// Which rank begins, and which call the value is the time of; of an overlap only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) case: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) call: Option<String>,
    /// Bytes of a message; of `startup`, ranks.
    pub(crate) size: u64,
    /// A median over `repetitions`.
    pub(crate) value: f64,
    /// `us`, `MB/s`, `messages/s`, `percent`, `ns` or `ms`.
    pub(crate) unit: String,
    /// Batches that were measured.
    pub(crate) repetitions: u64,
}

impl Record {
    /// Of nothing yet.
    pub(crate) fn of(bench: &str, unit: &str) -> Self {
        let (bench, unit) = (bench.to_owned(), unit.to_owned());
        Self { bench, case: None, call: None, size: 0, value: 0.0, unit, repetitions: 0 }
    }
}

/// Reads what a program printed. Launchers mix their remarks in, so lines that do not begin an object are
/// passed over; one that does must be a record.
pub(crate) fn parse(text: &str) -> Result<Vec<Record>, String> {
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with('{'));
    lines
        .map(|line| {
            let record: Record =
                serde_json::from_str(line).map_err(|error| format!("not a result: {error}: {line}"))?;
            if record.value.is_finite() {
                Ok(record)
            } else {
                Err(format!("not a number that was measured: {line}"))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"bench": "latency", "size": 8, "value": 0.33, "unit": "us", "repetitions": 293}"#;

    #[test]
    fn a_line_is_a_record() {
        let expected = Record { size: 8, value: 0.33, repetitions: 293, ..Record::of("latency", "us") };
        assert_eq!(parse(LINE), Ok(vec![expected]));
    }

    #[test]
    fn a_call_of_an_overlap_has_its_case() {
        let line =
            LINE.replace("latency", "overlap").replace('{', r#"{"case": "sender_early", "call": "isend", "#);
        let record = &parse(&line).expect("it is a record")[0];
        assert_eq!((record.case.as_deref(), record.call.as_deref()), (Some("sender_early"), Some("isend")));
    }

    #[test]
    fn remarks_of_a_launcher_are_passed_over() {
        let text = format!("[vm:1] hello\n\n{LINE}\n  {LINE}\nbye\n");
        assert_eq!(parse(&text).map(|records| records.len()), Ok(2));
    }

    #[test]
    fn a_torn_line_is_an_error_that_shows_it() {
        let error = parse(&LINE[..30]).unwrap_err();
        assert!(error.contains("latency"), "{error}");
    }

    #[test]
    fn a_record_without_a_unit_is_an_error() {
        assert!(parse(r#"{"bench": "latency", "size": 8, "value": 1, "repetitions": 1}"#).is_err());
    }

    #[test]
    fn further_members_are_allowed() {
        let text = LINE.replace('}', r#", "ranks": 2}"#);
        assert_eq!(parse(&text).map(|records| records.len()), Ok(1));
    }
}
