//! `carrousel info`: what there is, what is chosen of it and why, and which value each option has.

mod chosen;
mod devices;
mod host;

use self::chosen::Chosen;
use self::devices::DeviceInfo;
use self::host::Host;
use crate::failure::Failure;
use crate::input;
use crate::numbers::bytes;
use crate::out::Out;
use crate::report::{Format, json};
use crate::rules::{self, Rule};
use crate::status::Status;
use crate::style::Paint;
use crate::table::{Align, Cell, Table};
use carrousel_options::{Origin, Settings};
use carrousel_transport_sim::{Network, Protocol};
use carrousel_transport_verbs::Adapters;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Show this host, its adapters, what is chosen of them and why, the options, networks, protocols and rules
///
/// What `ibstat`, `ulimit -a`, `show_gids` and `ucx_info -d` tell is here in one place: every adapter and port with its
/// state, rate and global identifiers; the limits that jobs meet; and which transport, device, port and identifier a job
/// started here would use, with the option that changes each.
///
/// An option has its default, or the value from the file that CARROUSEL_OPTIONS names (lines `NAME VALUE`), or
/// that of its own CARROUSEL_ variable; a scenario's `option` line comes before all of these. A CARROUSEL_
/// variable that is no option is an error.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  carrousel info
  CARROUSEL_EAGER_THRESHOLD=64KiB carrousel info
  carrousel info --format json | jq '.options[].name'
  carrousel info --format json | jq '.chosen'              device, port, GID, and why")]
pub(crate) struct InfoArgs {
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Where the files of the host are, for tests
    #[arg(long, hide = true, value_name = "DIRECTORY")]
    root: Option<PathBuf>,
}

/// The version of the report.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Info {
    version: u32,
    /// The version of the command.
    carrousel: &'static str,
    host: Host,
    devices: Vec<DeviceInfo>,
    chosen: Vec<Chosen>,
    options: Vec<OptionInfo>,
    networks: Vec<Named>,
    protocols: Vec<Named>,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
struct OptionInfo {
    name: &'static str,
    value: String,
    source: String,
    #[serde(skip)]
    is_default: bool,
    default: String,
    range: String,
    variable: String,
    doc: &'static str,
}

#[derive(Serialize)]
struct Named {
    name: String,
    doc: String,
}

/// `carrousel info`.
pub(crate) fn run(args: &InfoArgs, out: &mut Out) -> Result<Status, Failure> {
    let info = collect(&input::settings()?, args.root.as_deref())?;
    match args.format {
        Format::Json => out.line(&json(&info)?)?,
        Format::Human => print(&info, out)?,
    }
    Ok(Status::Fine)
}

fn collect(settings: &Settings, root: Option<&Path>) -> Result<Info, Failure> {
    let host = Host::of(root.unwrap_or(Path::new("/")));
    // The adapters of another root cannot be opened: what would be chosen of them is said.
    let adapters = root.map_or_else(Adapters::of_this_host, Adapters::under);
    let between = match root {
        None => carrousel::describe_verbs(settings),
        Some(_) => adapters
            .select(&carrousel::verbs_choice(settings))
            .map(|selected| selected.adapter.name.clone())
            .map_err(|error| error.to_string()),
    };
    let defaults = Settings::default();
    let default = defaults.all().map(|(_, value, _)| value);
    let options = settings.all().zip(default).map(|((spec, value, origin), default)| OptionInfo {
        name: spec.name,
        value,
        source: origin.to_string(),
        is_default: *origin == Origin::Default,
        default,
        range: spec.range(),
        variable: spec.variable(),
        doc: spec.doc,
    });
    Ok(Info {
        version: VERSION,
        carrousel: env!("CARGO_PKG_VERSION"),
        devices: devices::infos(&adapters),
        chosen: chosen::all(settings, &adapters, host.ptrace_scope, &between),
        options: options.collect(),
        host,
        networks: networks()?,
        protocols: protocols(),
        rules: rules::all()?,
    })
}

fn networks() -> Result<Vec<Named>, Failure> {
    let describe = |name: &str| {
        let network = Network::named(name).map_err(Failure::wrong)?;
        let path = network.remote;
        let doc = format!(
            "{:.1} us latency, {:.1} GB/s between nodes; eager up to {}",
            path.latency_ns as f64 / 1e3,
            1e3 / path.ps_per_byte.max(1) as f64,
            carrousel_scenario::units::size(network.eager_threshold)
        );
        Ok(Named { name: network.name, doc })
    };
    Network::names().map(describe).collect()
}

fn protocols() -> Vec<Named> {
    let doc = |protocol| match protocol {
        Protocol::Mirror => "speculative; the sender mirrors the posted receives (the default)",
        Protocol::Published => "speculative; the handshake of the thesis (SR), in its sound reading",
        Protocol::Rget => "classical; the receiver reads when it has seen the announcement (sim only)",
        Protocol::Rput => "classical; the sender writes when the receiver has answered (sim only)",
    };
    Protocol::ALL
        .map(|(name, protocol)| Named { name: name.to_owned(), doc: doc(protocol).to_owned() })
        .into()
}

fn print(info: &Info, out: &mut Out) -> Result<(), Failure> {
    let style = out.style;
    let memory = match (info.host.memory_bytes, info.host.memory_available_bytes) {
        (Some(all), Some(available)) => format!(", {} of memory, {} available", bytes(all), bytes(available)),
        _ => String::new(),
    };
    out.line(&style.paint(Paint::Strong, &format!("carrousel {}", info.carrousel)))?;
    let Host { name, system, cores, .. } = &info.host;
    let plural = if *cores == 1 { "" } else { "s" };
    out.line(&format!("  host {name}: {cores} core{plural}{memory}; {system}"))?;

    let mut rows = Table::plain(&[Align::Left, Align::Left]);
    for (name, what) in info.host.rows() {
        rows.row([name.into(), what.into()]);
    }
    out.text(&rows.render(4, style))?;
    for (heading, text) in
        [("devices", devices::text(&info.devices, style)), ("chosen", chosen::text(&info.chosen, style))]
    {
        out.line("")?;
        out.line(&style.paint(Paint::Strong, heading))?;
        out.text(&text)?;
    }

    out.line("")?;
    out.line(&style.paint(Paint::Strong, "options"))?;
    let mut table = Table::headed(&[
        ("name", Align::Left),
        ("value", Align::Left),
        ("from", Align::Left),
        ("default", Align::Left),
        ("takes", Align::Left),
    ]);
    for option in &info.options {
        let paint = if option.is_default { Paint::Faint } else { Paint::Note };
        table.row([
            option.name.into(),
            option.value.as_str().into(),
            Cell::painted(option.source.as_str(), paint),
            option.default.as_str().into(),
            option.range.as_str().into(),
        ]);
    }
    out.text(&table.render(2, style))?;
    for option in &info.options {
        out.line(&format!("  {}: {}", option.name, option.doc))?;
    }
    named("networks", &info.networks, out)?;
    named("protocols", &info.protocols, out)?;

    out.line("")?;
    out.line(
        &style.paint(Paint::Strong, "rules, for verify --without (SR: the thesis on speculative rendezvous)"),
    )?;
    for rule in &info.rules {
        let head = format!("{} {}, {}", rule.protocol, rule.name, rule.source);
        out.line(&format!("  {}  {}", rule.id, style.paint(Paint::Faint, &head)))?;
        out.line(&style.wrapped("    ", &rule.says))?;
    }
    Ok(())
}

fn named(heading: &str, all: &[Named], out: &mut Out) -> Result<(), Failure> {
    let style = out.style;
    out.line("")?;
    out.line(&style.paint(Paint::Strong, heading))?;
    let mut table = Table::plain(&[Align::Left, Align::Left]);
    for Named { name, doc } in all {
        table.row([name.as_str().into(), doc.as_str().into()]);
    }
    out.text(&table.render(2, style))
}
