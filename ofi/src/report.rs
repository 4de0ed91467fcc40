//! The line by which a host's job says that this provider carries its messages (option `report`).
//!
//! It is said when the first endpoint of a process is enabled: an MPI library does that in `MPI_Init`, if it has chosen
//! this provider. Open MPI has endpoints for one-sided operations also where its messages go another way, which is said
//! then. No process knows its whole job here. What the launcher has told it is said, and nothing else: rank 0
//! says it for all, or each process does where no launcher has numbered them.

use crate::fi;
use crate::host;
use carrousel_engine::Endpoint;
use carrousel_engine::report::{counted, network, say};
use carrousel_trace::{HostLibrary, HostRank};
use std::sync::Once;

/// What keeps MPICH from sending messages of a node by its own shared memory.
const NOLOCAL: &str = "MPIR_CVAR_NOLOCAL";

/// Says so, once in a process, if it is for this process to say. An endpoint with these capabilities is enabled.
#[cold]
#[inline(never)]
pub(crate) fn say_once(endpoint: &Endpoint, caps: u64) {
    static MESSAGES: Once = Once::new();
    static ONE_SIDED: Once = Once::new();
    let is_one_sided = caps & (fi::MSG | fi::TAGGED) == 0;
    if is_one_sided && MESSAGES.is_completed() {
        return;
    }
    let once = if is_one_sided { &ONE_SIDED } else { &MESSAGES };
    once.call_once(|| {
        let (rank, library) = (host::launched(), host::library());
        if rank.as_ref().is_none_or(|host| host.rank == 0) {
            let keeps_nodes = library == Some(HostLibrary::Mpich) && !is_set(std::env::var(NOLOCAL).ok());
            let whose = whose(library, is_one_sided);
            say(&parts(rank.as_ref(), host::ranks_here(), &whose, keeps_nodes, network(endpoint)));
        }
    });
}

/// Whether this value of one of MPICH's variables is true.
fn is_set(value: Option<String>) -> bool {
    let value = value.map(|value| value.to_lowercase());
    matches!(value.as_deref(), Some("1" | "yes" | "true" | "on"))
}

/// The host of the provider, and the purpose of it, if that is not messages.
fn whose(library: Option<HostLibrary>, is_one_sided: bool) -> String {
    let name = match library {
        Some(HostLibrary::Mpich) => "MPICH",
        Some(HostLibrary::OpenMpi) => "Open MPI",
        None => "libfabric",
    };
    let what_for = if is_one_sided { ", for one-sided operations alone" } else { "" };
    format!("provider of {name}{what_for}")
}

/// What is said.
fn parts(
    rank: Option<&HostRank>,
    here: Option<u32>,
    whose: &str,
    keeps_nodes: bool,
    network: String,
) -> Vec<String> {
    let who = match (rank, here) {
        (None, _) => {
            let process = std::process::id();
            format!("process {process}, for which no launcher names a rank")
        }
        (Some(host), Some(here)) if here >= host.ranks => {
            format!("{} on 1 node", counted(host.ranks as usize, "rank"))
        }
        (Some(host), Some(here)) => {
            format!("{}, {here} of them on the node of rank 0", counted(host.ranks as usize, "rank"))
        }
        (Some(host), None) => counted(host.ranks as usize, "rank"),
    };
    let within = if keeps_nodes {
        format!("within a node: MPICH itself, unless {NOLOCAL}=1")
    } else {
        "within a node: shm".to_owned()
    };
    vec![format!("{whose}: {who}"), within, format!("between nodes: {network}")]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(rank: Option<u32>, here: Option<u32>, library: Option<HostLibrary>, keeps_nodes: bool) -> String {
        let rank = rank.map(|ranks| HostRank { job: None, rank: 0, ranks });
        parts(rank.as_ref(), here, &whose(library, false), keeps_nodes, "rxe0".to_owned()).join("; ")
    }

    #[test]
    fn what_launchers_tell_is_said_and_nothing_else() {
        let (mpich, open) = (Some(HostLibrary::Mpich), Some(HostLibrary::OpenMpi));
        let rest = "; within a node: shm; between nodes: rxe0";
        assert_eq!(
            said(Some(4), Some(4), open, false),
            format!("provider of Open MPI: 4 ranks on 1 node{rest}")
        );
        let two = said(Some(4), Some(2), mpich, false);
        assert_eq!(two, format!("provider of MPICH: 4 ranks, 2 of them on the node of rank 0{rest}"));
        assert_eq!(said(Some(1), None, None, false), format!("provider of libfabric: 1 rank{rest}"));
        let alone = said(None, Some(4), open, false);
        assert!(alone.ends_with(&format!(", for which no launcher names a rank{rest}")), "{alone}");
    }

    #[test]
    fn an_endpoint_that_carries_no_messages_says_so() {
        let whose = whose(Some(HostLibrary::OpenMpi), true);
        assert_eq!(whose, "provider of Open MPI, for one-sided operations alone");
    }

    #[test]
    fn mpich_keeps_the_messages_of_a_node_unless_it_is_told_not_to() {
        let said = said(Some(2), Some(2), Some(HostLibrary::Mpich), true);
        assert!(said.contains("; within a node: MPICH itself, unless MPIR_CVAR_NOLOCAL=1; "), "{said}");
        let set = [Some("1"), Some("YES"), Some("0"), Some(""), None];
        assert_eq!(set.map(|value| is_set(value.map(str::to_owned))), [true, true, false, false, false]);
    }
}
