//! What Open MPI makes of a libfabric: its parameters (MCA) choose the component `ofi` of `mtl`, which `cm` of `pml` uses,
//! and a provider for it.
//!
//! The parameters come from the environment and from files, and `ompi_info` says which value each has, and whence.

use super::host::{NAME, Problem, ProviderHost};
use super::list::List;
use super::process;
use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::process::Command;

const PML: &str = "pml";
const MTL: &str = "mtl";
const INCLUDE: &str = "mtl_ofi_provider_include";
const EXCLUDE: &str = "mtl_ofi_provider_exclude";

/// A parameter's value, and where it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Parameter {
    value: String,
    source: String,
}

/// The parameters that decide, by name.
type Parameters = BTreeMap<String, Parameter>;

/// Adds why Open MPI would not use the provider, of those that its libfabric offers.
pub(super) fn judge(host: &mut ProviderHost, version: &str, offers: &[String]) {
    let parameters = match host.launcher.as_deref().and_then(told) {
        Some(parameters) => parameters,
        None => {
            host.notes
                .push("there is no ompi_info beside it: files of parameters are not looked at".to_owned());
            environment()
        }
    };
    host.problems.extend(problems(&parameters, offers));
    if version.starts_with("5.") {
        host.notes.push(
            "Open MPI 5 prints no `mtl:ofi:provider`: CARROUSEL_REPORT=1 says that it is used".to_owned(),
        );
    }
}

/// What `ompi_info` beside a launcher tells.
fn told(launcher: &Path) -> Option<Parameters> {
    let program = launcher.with_file_name("ompi_info");
    let said = process::run(Command::new(program).args(["--parsable", "--all"])).ok()?;
    let parameters = parse(&said.out);
    parameters.contains_key(MTL).then_some(parameters)
}

/// `mca:mtl:base:param:mtl:value:^ofi`, and the same with `source`.
fn parse(said: &str) -> Parameters {
    let mut parameters = Parameters::new();
    for line in said.lines() {
        let Some((_, rest)) = line.split_once(":param:") else { continue };
        let mut parts = rest.splitn(3, ':');
        let (Some(name), Some(what), Some(text)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        if ![PML, MTL, INCLUDE, EXCLUDE].contains(&name) {
            continue;
        }
        let text = text.trim().trim_matches('"').to_owned();
        let parameter = parameters.entry(name.to_owned()).or_default();
        match what {
            "value" => parameter.value = text,
            "source" if text == "environment" => parameter.source = format!("OMPI_MCA_{name}"),
            "source" => parameter.source = text,
            _ => {}
        }
    }
    parameters
}

/// What the environment alone sets.
fn environment() -> Parameters {
    let set = |name: &str| {
        let source = format!("OMPI_MCA_{name}");
        let value = env::var(&source).ok()?;
        Some((name.to_owned(), Parameter { value, source }))
    };
    [PML, MTL, INCLUDE, EXCLUDE].iter().filter_map(|name| set(name)).collect()
}

fn problems(parameters: &Parameters, offers: &[String]) -> Vec<Problem> {
    let of = |name: &str| parameters.get(name).cloned().unwrap_or_default();
    let mut problems = Vec::new();
    for (name, needed) in [(MTL, "ofi"), (PML, "cm")] {
        let Parameter { value, source } = of(name);
        if !List(&value).allows(needed) {
            let what = format!("{name} is `{value}` ({source}), so {needed} is not used");
            problems.push(Problem::new(what, format!("export OMPI_MCA_{name}={needed}")));
        }
    }
    // What is not offered is told elsewhere.
    if !offers.iter().any(|name| name == NAME) {
        return problems;
    }
    let (include, exclude) = (of(INCLUDE), of(EXCLUDE));
    let remedy = format!("export FI_PROVIDER={NAME}");
    // As `ompi_mtl_ofi_component.c` compares: a word of the list is the beginning of a name, such as that of `tcp;ofi_rxm`.
    let begins = |list: &str, name: &str| {
        List(list)
            .names()
            .any(|word| name.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word)))
    };
    let taken = offers.iter().find(|name| {
        if include.value.is_empty() { !begins(&exclude.value, name) } else { begins(&include.value, name) }
    });
    match taken {
        Some(taken) if taken == NAME => {}
        Some(taken) => {
            problems.push(Problem::new(format!("it takes the provider {taken}, which comes first"), remedy))
        }
        None if include.value.is_empty() => {
            let what = format!("{EXCLUDE} is `{}` ({})", exclude.value, exclude.source);
            problems.push(Problem::new(what, format!("export OMPI_MCA_{INCLUDE}={NAME}")));
        }
        None => {
            let what = format!("{INCLUDE} is `{}` ({})", include.value, include.source);
            problems.push(Problem::new(what, format!("export OMPI_MCA_{INCLUDE}={NAME}")));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(lines: &str, offers: &[&str]) -> Vec<String> {
        let offers: Vec<_> = offers.iter().map(|name| (*name).to_owned()).collect();
        problems(&parse(lines), &offers).into_iter().map(|problem| problem.what).collect()
    }

    const DEFAULT: &str = "mca:mtl:base:param:mtl:value:\nmca:mtl:base:param:mtl:source:default\n\
        mca:mtl:ofi:param:mtl_ofi_provider_exclude:value:shm,sockets,tcp,udp,rstream,usnic,net\n\
        mca:mtl:ofi:param:mtl_ofi_provider_exclude:source:default\n\
        mca:mtl:ofi:param:mtl_ofi_provider_include:value:\n";

    #[test]
    fn debians_parameters_leave_the_component_out() {
        let file = "file (/etc/openmpi/openmpi-mca-params.conf:67)";
        let lines = format!(
            "{DEFAULT}mca:mtl:base:param:mtl:value:^ofi\nmca:mtl:base:param:mtl:source:{file}\n\
             mca:pml:base:param:pml:value:^ucx\nmca:pml:base:param:pml:source:{file}\n"
        );
        assert_eq!(whats(&lines, &["carrousel"]), [format!("mtl is `^ofi` ({file}), so ofi is not used")]);
        let ob1 =
            format!("{DEFAULT}mca:pml:base:param:pml:value:ob1\nmca:pml:base:param:pml:source:environment\n");
        assert_eq!(whats(&ob1, &["carrousel"]), ["pml is `ob1` (OMPI_MCA_pml), so cm is not used"]);
    }

    #[test]
    fn the_first_provider_that_is_not_left_out_is_taken() {
        assert_eq!(whats(DEFAULT, &["carrousel", "efa"]), [""; 0]);
        assert_eq!(whats(DEFAULT, &["tcp;ofi_rxm", "udp;ofi_rxd", "carrousel"]), [""; 0]);
        let others = whats(DEFAULT, &["psm3", "carrousel"]);
        assert_eq!(others, ["it takes the provider psm3, which comes first"]);
        let included = |value: &str| {
            let set = format!("{DEFAULT}mca:mtl:ofi:param:mtl_ofi_provider_include:value:{value}\n");
            whats(
                &format!("{set}mca:mtl:ofi:param:mtl_ofi_provider_include:source:environment\n"),
                &["psm3", "carrousel"],
            )
        };
        assert_eq!(included("carrousel"), [""; 0]);
        let wrong = included("carousel");
        assert_eq!(wrong, ["mtl_ofi_provider_include is `carousel` (OMPI_MCA_mtl_ofi_provider_include)"]);
    }

    #[test]
    fn what_ompi_info_says_may_be_anything() {
        for lines in ["", ":param:", "mca:mtl:base:param:mtl:value", "x:param:mtl:value:a:b"] {
            let parameters = parse(lines);
            assert!(parameters.values().all(|parameter| parameter.value == "a:b"), "{parameters:?}");
        }
    }
}
