//! `carrousel info`: what there is, and which value each option has.

use crate::failure::Failure;
use crate::input;
use crate::numbers::bytes;
use crate::out::Out;
use crate::report::{Format, json};
use crate::rules::{self, Rule};
use crate::status::Status;
use crate::style::Paint;
use crate::table::{Align, Cell, Table};
use crate::verify::memory;
use carrousel_options::{Origin, Settings, VerbsScope};
use carrousel_transport_sim::{Network, Protocol};
use serde::Serialize;

/// Show this host, the options and their values, networks, protocols and rules
///
/// An option has its default, or the value from the file that CARROUSEL_OPTIONS names (lines `NAME VALUE`), or
/// that of its own CARROUSEL_ variable; a scenario's `option` line comes before all of these. A CARROUSEL_
/// variable that is no option is an error.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  carrousel info
  CARROUSEL_EAGER_THRESHOLD=64KiB carrousel info
  carrousel info --format json | jq '.options[].name'")]
pub(crate) struct InfoArgs {
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Serialize)]
struct Info {
    version: &'static str,
    host: Host,
    options: Vec<OptionInfo>,
    transports: Vec<Named>,
    networks: Vec<Named>,
    protocols: Vec<Named>,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
struct Host {
    name: String,
    system: String,
    cores: usize,
    memory_bytes: Option<u64>,
    memory_available_bytes: Option<u64>,
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
    let info = collect(&input::settings()?)?;
    match args.format {
        Format::Json => out.line(&json(&info)?)?,
        Format::Human => print(&info, out)?,
    }
    Ok(Status::Fine)
}

fn collect(settings: &Settings) -> Result<Info, Failure> {
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
        version: env!("CARGO_PKG_VERSION"),
        host: host(),
        options: options.collect(),
        transports: transports(settings),
        networks: networks()?,
        protocols: protocols(),
        rules: rules::all()?,
    })
}

fn host() -> Host {
    let read = |path| std::fs::read_to_string(path).map(|text| text.trim().to_owned()).ok();
    let (memory_bytes, memory_available_bytes) = memory::of_host().unzip();
    Host {
        name: read("/proc/sys/kernel/hostname").unwrap_or_else(|| "unknown".to_owned()),
        system: format!(
            "{} {}{}",
            std::env::consts::OS,
            std::env::consts::ARCH,
            read("/proc/sys/kernel/osrelease").map_or_else(String::new, |release| format!(", {release}"))
        ),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        memory_bytes,
        memory_available_bytes,
    }
}

/// The networks of a job: each is available, or says what is missing.
fn transports(settings: &Settings) -> Vec<Named> {
    // Which processes the system lets copy from and to another process of the same user (Yama, Linux's
    // Documentation/admin-guide/LSM/Yama.rst); ranks permit each other what 1 leaves to them.
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
    let scope = scope.and_then(|text| text.trim().parse::<u32>().ok()).unwrap_or(0);
    let copies = if !settings.shm_direct() {
        "in pieces (shm_direct is off)".to_owned()
    } else if scope > 1 {
        format!("in pieces (kernel.yama.ptrace_scope is {scope})")
    } else {
        "directly, unless a container forbids it".to_owned()
    };
    let shm = format!("used between ranks of one node; large messages are copied {copies}");
    let verbs = match (settings.verbs().scope, carrousel::describe_verbs(settings)) {
        (VerbsScope::None, _) => "not used (verbs is off): ranks of different nodes cannot talk".to_owned(),
        (VerbsScope::Nodes, Ok(device)) => format!("used between ranks of different nodes: {device}"),
        (VerbsScope::All, Ok(device)) => format!("used between all ranks (verbs is always): {device}"),
        (_, Err(why)) => format!("ranks of different nodes cannot talk: {why}"),
    };
    vec![Named { name: "shm".to_owned(), doc: shm }, Named { name: "verbs".to_owned(), doc: verbs }]
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
    out.line(&style.paint(Paint::Strong, &format!("carrousel {}", info.version)))?;
    let Host { name, system, cores, .. } = &info.host;
    let plural = if *cores == 1 { "" } else { "s" };
    out.line(&format!("  host {name}: {cores} core{plural}{memory}; {system}"))?;

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
    named("transports", &info.transports, out)?;
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
