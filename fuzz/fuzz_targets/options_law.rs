//! What holds for any environment and any file of options; shared by the fuzzer and the replay of its corpus.

use carrousel_options::Settings;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;

/// Names the file of options.
const FILE: &str = "CARROUSEL_OPTIONS";

/// Panics when options do not survive `bytes`: variables `NAME=VALUE` by line, `CARROUSEL_` being understood before
/// each, and behind the first zero a file of options.
pub(crate) fn holds(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let variables = parts.next().unwrap_or_default().split(|byte| *byte == b'\n').filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b'=')?;
        let name = [b"CARROUSEL_", &line[..at]].concat();
        Some((OsString::from_vec(name), OsString::from_vec(line[at + 1..].to_vec())))
    });
    // A file is named by this, not by what comes: that could be any of the machine's.
    let mut variables: Vec<_> = variables.filter(|(name, _)| name != FILE).collect();
    let path = std::env::temp_dir().join(format!("carrousel-fuzz-options-{}", std::process::id()));
    if let Some(text) = parts.next() {
        fs::write(&path, text).expect("it can be written");
        variables.push((FILE.into(), path.clone().into()));
    }
    let settings = Settings::of(variables.into_iter());
    let _ = fs::remove_file(&path);
    match settings {
        Ok(settings) => {
            // As a launcher on another host would set them.
            let again = settings.all().map(|(spec, value, _)| (spec.variable().into(), value.into()));
            let again = Settings::of(again).expect("what options are can be set");
            let values =
                |settings: &Settings| -> Vec<String> { settings.all().map(|(_, value, _)| value).collect() };
            assert_eq!(values(&again), values(&settings), "a value is what is written of it");
            assert_eq!((again.protocol(), again.verbs()), (settings.protocol(), settings.verbs()));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
