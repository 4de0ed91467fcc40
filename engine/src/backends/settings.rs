//! How networks are made, as the options say.

use crate::Error;
use carrousel_options::{ReuseOptions, ReuseTable, Settings, read_text};
use carrousel_registration::{Policy, Thresholds, ThresholdsError};
use carrousel_transport_verbs as verbs;

/// How the transport between nodes is made.
pub(crate) type NetworkSettings = verbs::Settings;

/// Bytes of a receive buffer of the transport between nodes: every one of them takes the largest eager message.
const LEAST: u64 = 1 << 10;
const MOST: u64 = 64 << 10;

/// The adapter that ranks of different nodes talk over, as far as the options choose it.
pub fn verbs_choice(settings: &Settings) -> verbs::Choice {
    let options = settings.verbs();
    verbs::Choice { device: options.device, port: options.port, gid_index: options.gid }
}

/// How the transport between nodes is made, as the options say.
pub(crate) fn network_settings(settings: &Settings) -> Result<NetworkSettings, Error> {
    let options = settings.verbs();
    let mut made = NetworkSettings::default();
    made.choice = verbs_choice(settings);
    made.eager = settings.protocol().eager_threshold.clamp(LEAST, MOST);
    made.service_level = options.service_level;
    made.control_service_level = options.control_service_level;
    made.window = options.window;
    made.receives = options.receives;
    made.keep = options.cache;
    made.timeout = options.timeout;
    made.retries = options.retries;
    made.reuse = options.reuse.as_ref().map(|reuse| policy(settings, reuse, made.eager)).transpose()?;
    Ok(made)
}

/// The option that names a table.
const TABLE: &str = "verbs_reuse_table";

/// When small buffers are registered, as the options say: all whose messages would be copied otherwise may be.
fn policy(settings: &Settings, reuse: &ReuseOptions, bytes_max: u64) -> Result<Policy, Error> {
    let thresholds = match &reuse.table {
        ReuseTable::Published => Thresholds::PUBLISHED,
        ReuseTable::File(file) => {
            let origin = settings.origin(TABLE).map_or_else(String::new, |origin| format!(" ({origin})"));
            let wrong = |why: String| Error::Option(format!("{TABLE}{origin}: {}: {why}", file.display()));
            let text = read_text(file).map_err(|why| wrong(why.to_string()))?;
            text.parse().map_err(|why: ThresholdsError| wrong(why.to_string()))?
        }
    };
    let (speculation_percent, share_percent) = (reuse.percent, reuse.share);
    Ok(Policy { thresholds, speculation_percent, share_percent, bytes_max, ..Policy::default() })
}

#[cfg(test)]
mod tests {
    use super::{MOST, network_settings};
    use carrousel_options::Settings;
    use std::ffi::OsString;

    #[test]
    fn whatever_is_sent_eagerly_may_be_sent_without_a_copy() {
        for (threshold, bytes_max) in [("8KiB", 8 << 10), ("33KiB", 33 << 10), ("1MiB", MOST)] {
            let variables =
                [("CARROUSEL_VERBS_REUSE_TABLE", "published"), ("CARROUSEL_EAGER_THRESHOLD", threshold)];
            let settings = Settings::of(
                variables.map(|pair| <[&str; 2]>::from(pair).map(OsString::from).into()).into_iter(),
            );
            let made =
                network_settings(&settings.expect("there are such options")).expect("there is no file");
            let reuse = made.reuse.expect("there is a table");
            assert_eq!((reuse.bytes_max, made.eager), (bytes_max, bytes_max), "{threshold}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "it has no files")]
    fn a_table_without_end_is_an_error_that_names_variable_and_file() {
        let variable = ("CARROUSEL_VERBS_REUSE_TABLE".into(), "/dev/zero".into());
        let settings = Settings::of([variable].into_iter()).expect("there is such an option");
        let error = network_settings(&settings).expect_err("it has no end").to_string();
        let expected =
            "verbs_reuse_table (CARROUSEL_VERBS_REUSE_TABLE): /dev/zero: it is too large, or has no end";
        assert!(error.contains(expected), "{error}");
    }
}
