//! Libraries are asked by a process of its own, which is this command once more: what they do by themselves when they are
//! loaded, such as to crash, is then an answer, too.

use super::process;
use crate::failure::Failure;
use crate::report::json;
use carrousel_libfabric as libfabric;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;

const LIBRARY: &str = "library";
const PROVIDER: &str = "provider";

/// A libfabric, and what it offers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Libfabric {
    pub(super) file: String,
    pub(super) version: String,
    /// The names of providers, in its order.
    pub(super) offers: Vec<String>,
    /// What was said meanwhile on standard error: why a provider offers nothing, for one.
    #[serde(default)]
    pub(super) says: Vec<String>,
}

/// A provider, as its file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Provider {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) interface: String,
}

/// What the libfabric of this name or path offers.
pub(super) fn library(name: &str) -> Result<Libfabric, String> {
    let (library, err): (Libfabric, _) = ask(LIBRARY, name)?;
    Ok(Libfabric { says: lines(&err), ..library })
}

/// What the provider of this file is.
pub(super) fn provider(file: &Path) -> Result<Provider, String> {
    Ok(ask(PROVIDER, &file.to_string_lossy())?.0)
}

fn ask<T: for<'a> Deserialize<'a>>(what: &str, file: &str) -> Result<(T, String), String> {
    let this =
        std::env::current_exe().map_err(|error| format!("this command does not find itself: {error}"))?;
    let said = process::run(Command::new(this).args(["fi", "--ask", what, file]))?;
    // A library may have said something before.
    let last = said.out.lines().last().unwrap_or_default();
    let answer: Result<Result<T, String>, _> = serde_json::from_str(last);
    match (answer, said.failure) {
        (Ok(answer), _) => answer.map(|answer| (answer, said.err)),
        (Err(_), Some(failure)) => Err(format!("loading it ends the process: {failure}")),
        (Err(error), None) => Err(format!("loading it has disturbed the answer: {error}")),
    }
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).filter(|line| !line.is_empty()).collect()
}

/// What the process that is asked prints.
pub(super) fn answer(what: &str, file: &str) -> Result<String, Failure> {
    match what {
        LIBRARY => json(&libfabric::library(file).map(|library| Libfabric {
            file: library.file,
            version: library.version.to_string(),
            offers: library.offers,
            says: Vec::new(),
        })),
        PROVIDER => json(&libfabric::provider(file).map(|provider| Provider {
            name: provider.name,
            version: provider.version.to_string(),
            interface: provider.interface.to_string(),
        })),
        _ => Err(Failure::wrong(format_args!("nothing is asked about a {what}"))),
    }
}
