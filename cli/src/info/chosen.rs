//! What carries the messages of a job on this host, why, and which option changes that.

use crate::style::{Paint, Style};
use crate::table::{Align, Cell, Table};
use carrousel_options::{Settings, VerbsScope};
use carrousel_transport_verbs::{Adapters, LinkLayer, Selected};
use serde::Serialize;

/// Something that is chosen.
#[derive(Serialize)]
pub(super) struct Chosen {
    /// `within a node`, `between nodes`, `device`, `port`, `GID`.
    what: &'static str,
    value: String,
    why: String,
    /// The options that change it.
    options: Vec<&'static str>,
}

/// How messages within a node and between nodes go, and by what. `between` is what the transport between nodes says of
/// itself, or why there is none.
pub(super) fn all(
    settings: &Settings,
    adapters: &Adapters,
    scope: Option<u32>,
    between: &Result<String, String>,
) -> Vec<Chosen> {
    let verbs = settings.verbs().scope;
    let (value, why) = match (verbs, between) {
        (VerbsScope::None, _) => ("nothing", "verbs is off: ranks of different nodes cannot talk".to_owned()),
        (VerbsScope::Nodes, Ok(device)) => ("verbs", device.clone()),
        (VerbsScope::All, Ok(device)) => ("verbs", format!("for all ranks (verbs is always): {device}")),
        (_, Err(why)) => ("nothing", format!("ranks of different nodes cannot talk: {why}")),
    };
    let between_nodes =
        Chosen { what: "between nodes", value: value.to_owned(), why, options: vec!["verbs"] };
    let mut all = vec![within(settings, scope), between_nodes];
    if verbs != VerbsScope::None
        && between.is_ok()
        && let Ok(selected) = adapters.select(&carrousel::verbs_choice(settings))
    {
        all.extend(adapter(settings, adapters, &selected));
    }
    all
}

/// How ranks of one node talk, as far as the options and the system decide. Which processes the system lets copy from and to
/// another process of the same user, Yama says (Linux's Documentation/admin-guide/LSM/Yama.rst): ranks permit each other what
/// a `scope` of 1 leaves to them.
fn within(settings: &Settings, scope: Option<u32>) -> Chosen {
    let scope = scope.unwrap_or(0);
    let (value, copies) = if settings.verbs().scope == VerbsScope::All {
        ("verbs", "verbs is always".to_owned())
    } else if !settings.shm_direct() {
        ("shm", "large messages are copied in pieces (shm_direct is off)".to_owned())
    } else if scope > 1 {
        ("shm", format!("large messages are copied in pieces (kernel.yama.ptrace_scope is {scope})"))
    } else {
        ("shm", "large messages are copied directly, unless a container forbids it".to_owned())
    };
    let options = vec!["verbs", "shm_direct"];
    Chosen { what: "within a node", value: value.to_owned(), why: copies, options }
}

fn adapter(settings: &Settings, adapters: &Adapters, selected: &Selected<'_>) -> [Chosen; 3] {
    let options = settings.verbs();
    let Selected { adapter, port, gid } = selected;
    let named = |name: &str| {
        settings.origin(name).map_or_else(String::new, |origin| format!("it is named: {origin}"))
    };
    let device_why = match (&options.device, adapters.all.len()) {
        (Some(_), _) => named("verbs_device"),
        (None, 1) => "the only one".to_owned(),
        (None, count) => format!("the first of {count} that has an active port, in libibverbs' order"),
    };
    let port_why = match (options.port, adapter.ports.len()) {
        (Some(_), _) => named("verbs_port"),
        (None, 1) => "the only one".to_owned(),
        (None, count) => format!("the first of {count} that is active"),
    };
    let gid_why = match (options.gid, port.link, port.gids.len()) {
        (Some(_), ..) => named("verbs_gid"),
        (None, _, 1) => "the only one".to_owned(),
        (None, LinkLayer::InfiniBand, count) => format!("the first of {count}"),
        (None, LinkLayer::Ethernet, count) => format!("the first of the best kind of {count}: {}", gid.rank),
    };
    let of = |what, value, why, option| Chosen { what, value, why, options: vec![option] };
    [
        of("device", adapter.name.clone(), device_why, "verbs_device"),
        of("port", port.number.to_string(), port_why, "verbs_port"),
        of("GID", format!("{}, {}", gid.index, gid.address()), gid_why, "verbs_gid"),
    ]
}

/// A row for each.
pub(super) fn text(all: &[Chosen], style: Style) -> String {
    // The reason may be long.
    let heads = ["for", "chosen", "changed by", "why"];
    let mut table = Table::headed(&heads.map(|head| (head, Align::Left)));
    for Chosen { what, value, why, options } in all {
        table.row([
            (*what).into(),
            Cell::painted(value.as_str(), Paint::Strong),
            Cell::painted(options.join(", "), Paint::Faint),
            why.as_str().into(),
        ]);
    }
    table.render(2, style)
}
