//! A process that is a rank of a scenario.

use super::timeline::timeline;
use crate::failure::Failure;
use crate::input;
use crate::out::Out;
use crate::report::{Format, json};
use crate::sim::draw;
use crate::sim::human;
use crate::sim::overlap::{SimulationReport, totals};
use crate::status::Status as Ended;
use crate::style::Style;
use crate::verify::Drawing;
use carrousel_options::Settings;
use carrousel_program::{Program, ProgramError, check_no_windows, programs};
use carrousel_runner::{Done, FailedStatement, gather, run_scenario, site};
use carrousel_scenario::Scenario;
use carrousel_transport_sim::{Report, Statement};
use std::path::Path;
use std::sync::Arc;

/// Whether this process was started as a rank: by our launcher or by another one.
pub(crate) fn is_one() -> bool {
    ["PMI_RANK", "PMI_ID"].iter().any(|name| std::env::var_os(name).is_some())
}

/// The programs of a scenario's ranks, or what can be said against running it, before anything is started.
pub(super) fn programs_of(scenario: &Scenario, errors: Style) -> Result<Vec<Arc<Program>>, Failure> {
    check_no_windows(scenario).and_then(|()| programs(scenario)).map_err(|error| match error {
        ProgramError::Window { line, statement } => {
            input::at_line(scenario, line, format_args!("`{statement}` cannot be run yet"), errors)
        }
        ProgramError::TooManyCommunicators { line } | ProgramError::TooManyBytes { line, .. } => {
            input::at_line(scenario, line, error, errors)
        }
    })
}

/// Runs this process's rank; rank 0 prints what all have done, and draws it where it is asked to.
pub(super) fn run(
    scenario: &Scenario,
    programs: &[Arc<Program>],
    settings: &Settings,
    (format, drawn): (Format, Option<(&Path, Drawing)>),
    out: &mut Out,
    errors: Style,
) -> Result<Ended, Failure> {
    let settings = settings.clone().with_scenario(scenario);
    let job = carrousel::init_with(&settings).map_err(Failure::wrong)?;
    let world = job.world();
    let (rank, size) = (world.rank(), world.size());
    if size != scenario.ranks {
        return Err(wrong_size(scenario, size));
    }
    let done = run_scenario(world, scenario, &programs[rank as usize]).map_err(
        |FailedStatement { line, error }| {
            let what = format_args!("rank {rank}: {error}");
            input::at_line(scenario, line, what, errors).with_status(Ended::Violated)
        },
    )?;
    let end = site(scenario, 0);
    let all = gather(&world.at(end), &done).map_err(Failure::wrong)?;
    job.finalize_at(end).map_err(Failure::wrong)?;
    if rank == 0 {
        let mut report = report(scenario, programs, &all);
        if drawn.is_some() {
            report.timeline = timeline(programs, &all, settings.protocol().eager_threshold);
        }
        match format {
            Format::Json => out.line(&json(&SimulationReport::new(&scenario.file, &report))?)?,
            Format::Human => human::print(scenario, &report, out)?,
        }
        if let Some((path, drawing)) = drawn {
            draw(path, drawing, &report)?;
        }
    }
    Ok(Ended::Fine)
}

/// A job of another size than the scenario.
pub(super) fn wrong_size(scenario: &Scenario, size: u32) -> Failure {
    let ranks = scenario.ranks;
    Failure::wrong(format_args!("{} is for {ranks} ranks, and the job has {size}", scenario.file))
        .with_help(format_args!("carrousel run -n {ranks} {}", scenario.file))
}

fn report(scenario: &Scenario, programs: &[Arc<Program>], all: &[Vec<Done>]) -> Report {
    let us = |seconds: f64| seconds * 1e6;
    let statements = (0..).zip(programs.iter().zip(all)).flat_map(|(rank, (program, done))| {
        program.statements().zip(done).map(move |(it, Done { times: [begin, end, complete], .. })| {
            Statement {
                rank,
                file: None,
                line: it.line(),
                label: it.label().cloned(),
                op: it.keyword().into(),
                begin_us: us(*begin),
                end_us: us(*end),
                complete_us: Some(us(*complete)).filter(|us| !us.is_nan()),
            }
        })
    });
    let statements: Vec<Statement> = statements.collect();
    let makespan_us = statements.iter().map(|statement| statement.end_us).fold(0.0, f64::max);
    Report {
        scenario: scenario.title.clone().unwrap_or_else(|| scenario.file.clone()),
        network: "shm".to_owned(),
        makespan_us,
        lines: totals(&statements),
        statements,
        late: Vec::new(),
        late_count: 0,
        timeline: carrousel_transport_sim::timeline::Timeline::default(),
        statistics: carrousel_transport_sim::Statistics::default(),
    }
}
