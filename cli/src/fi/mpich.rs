//! What MPICH makes of a libfabric: its device (`ch4:ucx,ofi`) has network modules, of which `ofi` uses libfabric.

use super::host::{NAME, Problem, ProviderHost};
use super::list::List;
use std::env;

const NETMOD: &str = "MPIR_CVAR_CH4_NETMOD";
const NOLOCAL: &str = "MPIR_CVAR_NOLOCAL";
const PROVIDER: &str = "FI_PROVIDER";

/// Adds why MPICH would not use the provider.
pub(super) fn judge(host: &mut ProviderHost, device: Option<&str>) {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    host.problems.extend(problems(device, variable(NETMOD).as_deref(), variable(PROVIDER).as_deref()));
    if variable(NOLOCAL).is_none_or(|value| ["0", "no", "false", "off"].contains(&&*value.to_lowercase())) {
        host.notes.push(format!(
            "messages within a node stay in MPICH's own shared memory: export {NOLOCAL}=1 for those, too"
        ));
    }
}

fn problems(device: Option<&str>, netmod: Option<&str>, provider: Option<&str>) -> Vec<Problem> {
    let mut problems = Vec::new();
    // The first module of the device is used, unless the variable names another one.
    let modules = device.and_then(|device| device.split_once(':')).map(|(_, modules)| modules);
    let first = modules.and_then(|modules| List(modules).names().next());
    let remedy = format!("export {NETMOD}=ofi");
    match (netmod, first) {
        (Some(netmod), _) if !netmod.eq_ignore_ascii_case("ofi") => {
            problems.push(Problem::new(format!("{NETMOD} is `{netmod}`"), remedy));
        }
        (None, Some(first)) if first != "ofi" => {
            let device = device.unwrap_or_default();
            problems.push(Problem::new(
                format!("it uses {first} first ({device}), and {NETMOD} is not set"),
                remedy,
            ));
        }
        _ => {}
    }
    // Among providers it has a choice of its own.
    if provider.is_none_or(|provider| List(provider).excludes()) {
        let what = format!("{PROVIDER} does not name {NAME}, and MPICH takes another provider");
        problems.push(Problem::new(what, format!("export {PROVIDER}={NAME}")));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_is_the_first_of_the_device_unless_the_variable_names_one() {
        let whats = |device: Option<&str>, netmod: Option<&str>| -> Vec<String> {
            problems(device, netmod, Some(NAME)).into_iter().map(|problem| problem.what).collect()
        };
        for (device, netmod) in [
            (Some("ch4:ofi"), None),
            (Some("ch4:ucx,ofi"), Some("ofi")),
            (None, None),
            (Some("ch4"), Some("OFI")),
        ] {
            assert_eq!(whats(device, netmod), [""; 0], "{device:?} {netmod:?}");
        }
        let first = "it uses ucx first (ch4:ucx,ofi), and MPIR_CVAR_CH4_NETMOD is not set";
        assert_eq!(whats(Some("ch4:ucx,ofi"), None), [first]);
        assert_eq!(whats(Some("ch4:ofi"), Some("ucx")), ["MPIR_CVAR_CH4_NETMOD is `ucx`"]);
    }

    #[test]
    fn a_provider_has_to_be_named() {
        let count = |provider| problems(Some("ch4:ofi"), None, provider).len();
        assert_eq!((count(None), count(Some("^tcp")), count(Some("tcp,carrousel"))), (1, 1, 0));
    }
}
