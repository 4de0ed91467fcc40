//! The variables that decide, and what is wrong with the value of one.

use super::files::entries;
use super::host::NAME;
use super::list::{List, misspelt};
use crate::failure::shown;
use serde::Serialize;
use std::env;

/// A variable that decides, or may.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Variable {
    pub(super) name: String,
    /// `null`: it is not set.
    pub(super) value: Option<String>,
    /// What is wrong with it.
    pub(super) problem: Option<String>,
}

/// Variables that are told whether they are set or not.
const ALWAYS: [&str; 2] = ["FI_PROVIDER_PATH", "FI_PROVIDER"];
/// The beginnings of names of others that decide.
const BEGINNINGS: [&str; 10] = [
    "FI_CARROUSEL_",
    "CARROUSEL_",
    "OMPI_MCA_pml",
    "OMPI_MCA_mtl",
    "OMPI_MCA_btl",
    "OMPI_MCA_opal_common_ofi",
    "MPIR_CVAR_CH4_NETMOD",
    "MPIR_CVAR_NOLOCAL",
    "MPIR_CVAR_OFI_",
    "LD_LIBRARY_PATH",
];

/// The variables of this process that decide.
pub(super) fn all() -> Vec<Variable> {
    let set = env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
    of(set)
}

fn of(set: impl Iterator<Item = (String, String)>) -> Vec<Variable> {
    let decides = |name: &str| {
        ALWAYS.contains(&name)
            || BEGINNINGS.iter().any(|begin| name.starts_with(begin))
            || name == "FI_PROVIDERS"
    };
    let mut set: Vec<_> = set.filter(|(name, _)| decides(name)).collect();
    set.sort();
    let mut all: Vec<Variable> = ALWAYS
        .into_iter()
        .filter(|name| set.iter().all(|(other, _)| other != name))
        .map(|name| Variable { name: name.to_owned(), value: None, problem: None })
        .collect();
    all.extend(set.into_iter().map(|(name, value)| Variable {
        problem: problem(&name, &value),
        name,
        value: Some(value),
    }));
    all
}

fn problem(name: &str, value: &str) -> Option<String> {
    match name {
        "FI_PROVIDER" | "OMPI_MCA_mtl_ofi_provider_include" => provider_problem(name, value),
        "FI_PROVIDERS" => Some("libfabric does not read it: did you mean FI_PROVIDER?".to_owned()),
        "FI_PROVIDER_PATH" => path_problem(value),
        "MPIR_CVAR_OFI_USE_PROVIDER" => Some("MPICH does not read it any more: set FI_PROVIDER".to_owned()),
        _ => None,
    }
}

/// What is wrong with a list of providers.
fn provider_problem(name: &str, value: &str) -> Option<String> {
    let list = List(value);
    if list.allows(NAME) {
        return None;
    }
    Some(match misspelt(list, NAME) {
        Some(wrong) if !list.excludes() => format!("`{wrong}`: did you mean {NAME}?"),
        _ if list.excludes() => format!("it excludes {NAME}"),
        _ => format!("it does not name {NAME}: set {name}={NAME}"),
    })
}

fn path_problem(value: &str) -> Option<String> {
    let wrong = entries(value).find_map(|entry| {
        if entry.is_file() {
            return None;
        }
        match std::fs::read_dir(&entry) {
            Ok(_) => None,
            Err(error) => Some(format!("{}: {error}", shown(&entry))),
        }
    });
    wrong.or_else(|| entries(value).next().is_none().then(|| "it is empty".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem_of(name: &str, value: &str) -> Option<String> {
        let all = of([(name.to_owned(), value.to_owned())].into_iter());
        all.into_iter().find(|variable| variable.name == name).expect("it decides").problem
    }

    #[test]
    fn a_misspelt_provider_has_a_suggestion() {
        let said = |value| problem_of("FI_PROVIDER", value);
        assert_eq!(said("carousel").as_deref(), Some("`carousel`: did you mean carrousel?"));
        let other = said("tcp;ofi_rxm");
        assert_eq!(other.as_deref(), Some("it does not name carrousel: set FI_PROVIDER=carrousel"));
        assert_eq!(said("^tcp,carrousel").as_deref(), Some("it excludes carrousel"));
        assert_eq!([said("carrousel"), said("tcp,Carrousel"), said("^tcp"), said("")], [const { None }; 4]);
    }

    #[test]
    fn a_path_that_is_no_directory_is_named() {
        let wrong = problem_of("FI_PROVIDER_PATH", "/:/there/is/none").expect("it is not there");
        assert_eq!(wrong, "/there/is/none: No such file or directory (os error 2)");
        assert_eq!(problem_of("FI_PROVIDER_PATH", "").as_deref(), Some("it is empty"));
        assert_eq!(problem_of("FI_PROVIDER_PATH", "@/"), None);
    }

    #[test]
    fn a_variable_that_nobody_reads_is_told() {
        assert!(problem_of("FI_PROVIDERS", "carrousel").is_some());
        assert!(problem_of("MPIR_CVAR_OFI_USE_PROVIDER", "carrousel").is_some());
        let names: Vec<_> = of(std::iter::empty()).into_iter().map(|variable| variable.name).collect();
        assert_eq!(names, ["FI_PROVIDER_PATH", "FI_PROVIDER"]);
    }
}
