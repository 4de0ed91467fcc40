//! The options: as everywhere by `CARROUSEL_*`, and by libfabric's variables of a provider, `FI_CARROUSEL_*`, which come
//! first.

use crate::fi::Errno;
use crate::host;
use carrousel_engine::{AnyNetwork, Endpoint, OpenPeers};
use carrousel_options::{Origin, Settings, VerbsScope};
use std::ffi::OsString;
use std::fmt;
use std::time::Duration;

/// The most processes that an endpoint talks to. The ring of a process takes memory once that process connects. An endpoint
/// then looks through a bit of each of them, which takes some thousand instructions with this many.
const PEERS_MAX: u32 = 1 << 14;
/// The largest ring from a peer, unless an option says otherwise: how many peers there will be is not known.
const RING_BYTES: u64 = 128 << 10;
/// The name of the job: part of every address. Processes of other jobs find no endpoint, as its address has a number that
/// only those know who were told the address.
pub(crate) const JOB: &str = "carrousel";

/// The options of this process.
pub(crate) fn read() -> Result<Settings, Errno> {
    Settings::of(variables(std::env::vars_os())).map_err(|error| refused(&error, Errno::INVALID))
}

/// The variables, in which those for providers take the place of the others.
fn variables(all: impl Iterator<Item = (OsString, OsString)>) -> impl Iterator<Item = (OsString, OsString)> {
    let renamed = |name: &OsString| {
        name.to_str()?.strip_prefix("FI_").filter(|name| name.starts_with("CARROUSEL_")).map(OsString::from)
    };
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for (name, value) in all {
        match renamed(&name) {
            Some(name) => own.push((name, value)),
            None => others.push((name, value)),
        }
    }
    others.retain(|(name, _)| own.iter().all(|(other, _)| other != name));
    own.into_iter().chain(others)
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
        let traced = endpoint.trace_as(directory, host::rank(), host::library());
        traced.map_err(|error| refused(&error, Errno::OTHER))?;
    }
    Ok(endpoint)
}

/// Tells the user why something is refused, which libfabric's errors cannot.
fn refused(why: &dyn fmt::Display, error: Errno) -> Errno {
    eprintln!("carrousel: {why}");
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_for_providers_come_first() {
        let of = |list: &[(&str, &str)]| {
            let pairs: Vec<_> = list.iter().map(|(a, b)| (OsString::from(a), OsString::from(b))).collect();
            let settings = Settings::of(variables(pairs.into_iter()));
            settings.map(|settings| settings.protocol().eager_threshold).map_err(|error| error.to_string())
        };
        let (own, other) = (("FI_CARROUSEL_EAGER_THRESHOLD", "100B"), ("CARROUSEL_EAGER_THRESHOLD", "200B"));
        assert_eq!((of(&[own, other]), of(&[other, own]), of(&[other])), (Ok(100), Ok(100), Ok(200)));
        assert_eq!(of(&[("FI_PROVIDER", "carrousel"), ("PATH", "/")]), Ok(8192));
        assert!(of(&[("FI_CARROUSEL_EAGER", "1")]).is_err());
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
