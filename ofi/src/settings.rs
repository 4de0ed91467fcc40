//! The options: as everywhere by `CARROUSEL_*`, and by libfabric's variables of a provider, `FI_CARROUSEL_*`, which come
//! first.

use crate::fi::Errno;
use crate::host;
use crate::tell::tell;
use carrousel_engine::{AnyNetwork, Endpoint, OpenPeers};
use carrousel_options::{OptionEntry, Origin, Settings, ValueKind, VerbsScope};
use carrousel_system::inherited;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::time::Duration;

/// The most processes that an endpoint talks to. The ring of a process takes memory once that process connects. An endpoint
/// then looks through a bit of each of them, which takes some thousand instructions with this many.
const PEERS_MAX: u32 = 1 << 14;
/// The largest ring from a peer, unless an option says otherwise: how many peers there will be is not known.
const RING_BYTES: u64 = 128 << 10;
/// The beginning of the options' variables.
const PREFIX: &str = "CARROUSEL_";
/// The name of the job: part of every address. Processes of other jobs find no endpoint, as its address has a number that
/// only those know who were told the address.
pub(crate) const JOB: &str = "carrousel";

/// The options of this process.
pub(crate) fn read() -> Result<Settings, Errno> {
    of(std::env::vars_os()).map_err(|error| refused(&error, Errno::INVALID))
}

/// The options of such variables, in which those for providers take the place of the others.
fn of(all: impl Iterator<Item = (OsString, OsString)>) -> Result<Settings, String> {
    let renamed = |name: &OsString| {
        name.to_str()?.strip_prefix("FI_").filter(|name| name.starts_with(PREFIX)).map(str::to_owned)
    };
    let (mut own, mut others) = (BTreeMap::new(), Vec::new());
    for (name, value) in all {
        match renamed(&name) {
            Some(name) => drop(own.insert(name.clone(), truth(&name, value))),
            None => others.push((name, value)),
        }
    }
    others.retain(|(name, _)| name.to_str().is_none_or(|name| !own.contains_key(name)));
    let variables = own.iter().map(|(name, value)| (name.into(), value.clone())).chain(others);
    Settings::of(variables).map_err(|error| {
        let help = error.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        let told = format!("{error}{help}");
        // Variables have the names here by which the user sets them.
        let is_own = own.keys().any(|name| told.contains(name));
        if is_own { told.replace(PREFIX, &format!("FI_{PREFIX}")) } else { told }
    })
}

/// The value of a variable. One of two values may also be given by libfabric's words (fi_param_get(3), `FI_PARAM_BOOL`),
/// of which `1` and `0` are ours, too.
fn truth(name: &str, value: OsString) -> OsString {
    let entry = name.strip_prefix(PREFIX).and_then(|name| OptionEntry::named(&name.to_lowercase()));
    if entry.is_none_or(|entry| entry.kind != ValueKind::OnOff) {
        return value;
    }
    match value.to_str().map(str::to_lowercase).as_deref() {
        Some("true" | "yes" | "on") => "on".into(),
        Some("false" | "no" | "off") => "off".into(),
        _ => value,
    }
}

/// How long nothing may move until it is told: a host that idles looks like one that hangs, so nobody is told unasked.
pub(crate) fn patience(settings: &Settings) -> Option<Duration> {
    match settings.origin("hang_report") {
        Some(Origin::Default) | None => None,
        Some(_) => settings.hang_report().map(Duration::from_nanos),
    }
}

/// The names of all options, without the variables' beginnings, and what each is for, which values it takes, and which it
/// has here unless it is set.
pub(crate) fn parameters() -> impl Iterator<Item = (&'static str, String)> {
    let others = [
        ("options", "a file with an option and its value in each line; variables come first".to_owned()),
        (
            "trace",
            "the directory into which each process writes what `carrousel check` reads; default: none"
                .to_owned(),
        ),
        ("trace_limit", "the most bytes of each part of that trace; default: no limit".to_owned()),
    ];
    let all: Vec<_> = Settings::default().all().map(|(entry, value, _)| (entry, value)).collect();
    let options = all.into_iter().map(|(entry, value)| {
        let default = match entry.name {
            "hang_report" => "never".to_owned(),
            "shm_ring" => format!("{}KiB", RING_BYTES >> 10),
            _ => value,
        };
        (entry.name, format!("{}; takes {}; default: {default}", entry.doc, entry.range()))
    });
    options.chain(others)
}

/// An endpoint of the engine.
pub(crate) fn open() -> Result<Endpoint, Errno> {
    inherited::keep().map_err(|inherited| refused(&inherited, Errno::OTHER))?;
    let settings = read()?;
    let ring = match settings.origin("shm_ring") {
        Some(Origin::Default) | None => settings.shm_ring().min(RING_BYTES),
        Some(_) => settings.shm_ring(),
    };
    let rings = carrousel_transport_shm::Settings {
        capacity: ring as usize / size_of::<u64>(),
        direct: settings.shm_direct(),
    };
    let network = AnyNetwork::by(&settings).map_err(|error| refused(&error, Errno::INVALID))?;
    let peers = OpenPeers { job: JOB, most: PEERS_MAX, apart: settings.verbs().scope == VerbsScope::All };
    let opened = Endpoint::open(peers, &settings.protocol(), rings, network);
    let mut endpoint = opened.map_err(|error| refused(&error, Errno::NO_MEMORY))?;
    if let Some(directory) = settings.trace() {
        let traced = endpoint.trace_as(directory, settings.trace_limit(), host::rank(), host::library());
        traced.map_err(|error| refused(&error, Errno::OTHER))?;
    }
    Ok(endpoint)
}

/// Tells the user why something is refused, which libfabric's errors cannot.
fn refused(why: &dyn fmt::Display, error: Errno) -> Errno {
    tell(why.to_string());
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(list: &[(&str, &str)]) -> Result<Settings, String> {
        of(list.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))))
    }

    #[test]
    fn variables_for_providers_come_first() {
        let of = |list: &[(&str, &str)]| settings(list).map(|settings| settings.protocol().eager_threshold);
        let (own, other) = (("FI_CARROUSEL_EAGER_THRESHOLD", "100B"), ("CARROUSEL_EAGER_THRESHOLD", "200B"));
        assert_eq!((of(&[own, other]), of(&[other, own]), of(&[other])), (Ok(100), Ok(100), Ok(200)));
        assert_eq!(of(&[("FI_PROVIDER", "carrousel"), ("PATH", "/")]), Ok(8192));
        assert!(of(&[("FI_CARROUSEL_EAGER", "1")]).is_err());
    }

    #[test]
    fn libfabrics_words_are_on_and_off() {
        let of = |name, value| settings(&[(name, value)]).map(|settings| settings.shm_direct());
        let own = |value| of("FI_CARROUSEL_SHM_DIRECT", value);
        assert_eq!(["0", "No", "false", "off"].map(own), [(); 4].map(|()| Ok(false)));
        assert_eq!(["1", "YES", "true", "on"].map(own), [(); 4].map(|()| Ok(true)));
        let error = |name| of(name, "2").expect_err("it is neither");
        let says = "CARROUSEL_SHM_DIRECT: `2` is no value of shm_direct; it takes on, off";
        assert_eq!(error("FI_CARROUSEL_SHM_DIRECT"), format!("FI_{says}"));
        assert_eq!(error("CARROUSEL_SHM_DIRECT"), says);
        let misspelt = of("FI_CARROUSEL_SHM_DIRCT", "on").expect_err("there is no such option");
        assert!(misspelt.contains("FI_CARROUSEL_SHM_DIRCT, "), "{misspelt}");
        assert!(misspelt.contains("did you mean FI_CARROUSEL_SHM_DIRECT?"), "{misspelt}");
        assert!(
            of("CARROUSEL_SHM_DIRECT", "no").is_err()
                && settings(&[("FI_CARROUSEL_RTR_LIMIT", "yes")]).is_err()
        );
    }

    #[test]
    fn parameters_are_the_options_with_the_defaults_of_providers() {
        let of = |name: &str| parameters().find(|(other, _)| *other == name).map(|(_, purpose)| purpose);
        let says = |name: &str, what: &str| of(name).is_some_and(|purpose| purpose.ends_with(what));
        assert!(says("eager_threshold", "; takes a size; default: 8KiB"), "{:?}", of("eager_threshold"));
        assert!(says("hang_report", "default: never") && says("shm_ring", "default: 128KiB"));
        assert!(parameters().count() > 20 && of("trace").is_some());
    }
}
