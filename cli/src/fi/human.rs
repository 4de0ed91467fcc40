//! The report for a person.

use super::host::ProviderHost;
use super::report::Report;
use crate::failure::{Failure, shown};
use crate::out::Out;
use crate::style::{Paint, Style};
use crate::table::{Align, Cell, Table};

/// What an MPI would load, why not, and how to see it in a job.
pub(super) fn print(report: &Report, out: &mut Out) -> Result<(), Failure> {
    let style = out.style;
    out.line(&style.paint(Paint::Strong, "variables"))?;
    let mut table = Table::plain(&[Align::Left, Align::Left, Align::Left]);
    for variable in &report.variables {
        let value = variable.value.as_deref().map_or_else(|| "not set".to_owned(), shown);
        let problem = variable.problem.clone().unwrap_or_default();
        table.row([variable.name.as_str().into(), value.into(), Cell::painted(problem, Paint::Bad)]);
    }
    out.text(&table.render(2, style))?;
    if !report.files.is_empty() {
        out.line("")?;
        out.line(&style.paint(Paint::Strong, "providers of FI_PROVIDER_PATH"))?;
        for file in &report.files {
            out.line(&format!("  {}", shown(&file.file)))?;
            match (&file.provider, &file.problem) {
                (Some(provider), _) => out.line(&format!(
                    "    {} {}, made for libfabric {} and older",
                    provider.name, provider.version, provider.interface
                ))?,
                (None, problem) => {
                    let problem = problem.as_deref().unwrap_or("it cannot be loaded");
                    out.line(&format!("    {}", style.paint(Paint::Bad, problem)))?;
                }
            }
        }
    }
    out.line("")?;
    out.line(&style.paint(Paint::Strong, "who may use it"))?;
    for host in &report.hosts {
        one(host, style, out)?;
    }
    out.line("")?;
    let Some(first) = report.hosts.first() else { return Ok(()) };
    let whose = match &first.launcher {
        Some(launcher) => format!("a job of {}", shown(launcher)),
        None => "a program with the system's libfabric".to_owned(),
    };
    if report.uses {
        out.line(&style.paint(Paint::Good, &format!("{whose} would use the provider")))?;
        out.line(&style.wrapped(
            "  ",
            "To see it in the job itself: CARROUSEL_REPORT=1, and standard error has a line that begins with `carrousel`. \
             All hosts need the same variables.",
        ))
    } else {
        out.line(&style.paint(Paint::Bad, &format!("{whose} would not use the provider")))
    }
}

fn one(host: &ProviderHost, style: Style, out: &mut Out) -> Result<(), Failure> {
    let mut head =
        host.launcher.as_ref().map_or_else(String::new, |launcher| format!("{}: ", shown(launcher)));
    head += &host.name;
    if let Some(version) = &host.version {
        head += &format!(" {version}");
    }
    if let (Some(libfabric), Some(_)) = (&host.libfabric, &host.launcher) {
        head += &format!(", libfabric {}", libfabric.version);
    }
    let verdict = if host.uses {
        style.paint(Paint::Good, "would use it")
    } else {
        style.paint(Paint::Bad, "would not use it")
    };
    out.line(&format!("  {head}: {verdict}"))?;
    if let Some(libfabric) = &host.libfabric {
        let offers = match &libfabric.offers[..] {
            [] => "nothing".to_owned(),
            offers => offers.join(", "),
        };
        out.line(&format!("    {} offers {offers}", shown(&libfabric.file)))?;
    }
    for problem in &host.problems {
        out.line(&format!("    {}", shown(&problem.what)))?;
        if let Some(remedy) = &problem.remedy {
            out.line(&format!("      {} {remedy}", style.paint(Paint::Hint, "help:")))?;
        }
    }
    for note in &host.notes {
        out.line(&format!("    {} {note}", style.paint(Paint::Faint, "note:")))?;
    }
    Ok(())
}
