//! Runs a scenario and prints its report: `run FILE [NETWORK] [PROTOCOL] [PROGRESS] [TIMELINE.svg|.html]`.

use carrousel_transport_sim::{Config, Network, simulate, timeline};
use std::error::Error;
use std::io::{Write, stdout};
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("run FILE [NETWORK] [PROTOCOL] [PROGRESS] [TIMELINE]")?;
    let mut config = Config::new(Network::named(arguments.next().as_deref().unwrap_or("qdr"))?);
    config.protocol = arguments.next().as_deref().unwrap_or("mirror").parse()?;
    config.progress = arguments.next().as_deref().unwrap_or("none").parse()?;
    let drawing = arguments.next();
    config.timeline = drawing.is_some();
    let started = Instant::now();
    let text = carrousel_scenario::read(std::fs::File::open(&file)?)?;
    let scenario = carrousel_scenario::load(&file, &text)?;
    let loaded = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let report = simulate(&scenario, &config)?;
    let seconds = started.elapsed().as_secs_f64();
    let events = report.statistics.events;
    let mut out = stdout().lock();
    writeln!(out, "makespan {} us, {} statements", report.makespan_us, report.statements.len())?;
    writeln!(
        out,
        "loaded in {loaded:.2} s; {events} events in {seconds:.2} s: {:.0} a second",
        events as f64 / seconds
    )?;
    for statement in report.statements.iter().filter(|statement| statement.label.is_some()) {
        writeln!(out, "{statement:?}")?;
    }
    for late in &report.late {
        writeln!(out, "{late:?}")?;
    }
    let (used, unused) = (report.statistics.rtrs_used(), report.statistics.rtrs_unused());
    writeln!(out, "RTRs used {used}, unused {unused}")?;
    for (kind, count) in &report.statistics.by_kind {
        writeln!(out, "  {kind}: {} packets, {} bytes", count.packets, count.bytes)?;
    }
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        for line in status.lines().filter(|line| line.starts_with("VmHWM")) {
            writeln!(out, "{line}")?;
        }
    }
    if let Some(path) = drawing {
        let page = if path.ends_with(".html") { timeline::html(&report) } else { timeline::svg(&report) };
        std::fs::write(path, page)?;
    }
    Ok(())
}
