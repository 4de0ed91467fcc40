//! A process that is a rank of a scenario.

use super::timeline::timeline;
use crate::failure::Failure;
use crate::input;
use crate::out::Out;
use crate::report::{Format, json};
use crate::sim::draw;
use crate::sim::human;
use crate::sim::overlap::Printed;
use crate::status::Status as Ended;
use crate::style::Style;
use crate::verify::Drawing;
use carrousel::Communicator;
use carrousel_options::Settings;
use carrousel_runner::{Done, PlayError, Player, gather, site, unsupported};
use carrousel_scenario::Scenario;
use carrousel_transport_sim::{Report, Statement};
use std::path::Path;

/// Whether this process was started as a rank: by our launcher or by another one.
pub(crate) fn is_one() -> bool {
    ["PMI_RANK", "PMI_ID"].iter().any(|name| std::env::var_os(name).is_some())
}

/// What can be said against running a scenario, before anything is started.
pub(super) fn check(scenario: &Scenario, errors: Style) -> Result<(), Failure> {
    match scenario.programs.iter().find_map(|program| unsupported(program)) {
        Some((line, name)) => {
            Err(input::at_line(scenario, line, format_args!("`{name}` cannot be run yet"), errors))
        }
        None => Ok(()),
    }
}

/// Runs this process's rank; rank 0 prints what all have done, and draws it where it is asked to.
pub(super) fn run(
    scenario: &Scenario,
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
    let played = play(scenario, world);
    let done = match played {
        Ok(done) => done,
        Err((at, error)) => {
            let step = &scenario.program(rank).steps[at];
            let what = format_args!("rank {rank}: {error}");
            return Err(input::at_line(scenario, step.line, what, errors).with_status(Ended::Violated));
        }
    };
    let end = site(scenario, 0);
    let all = gather(&world.at(end), &done).map_err(Failure::wrong)?;
    job.finalize_at(end).map_err(Failure::wrong)?;
    if rank == 0 {
        let mut report = report(scenario, &all);
        if drawn.is_some() {
            report.timeline = timeline(scenario, &all, settings.protocol().eager_threshold);
        }
        match format {
            Format::Json => out.line(&json(&Printed::new(&scenario.file, &report))?)?,
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

fn play(scenario: &Scenario, world: &Communicator) -> Result<Vec<Done>, (usize, PlayError)> {
    // Its memory is there before the clock starts.
    let player = Player::new(world, scenario);
    // So that times have one beginning, as far as a barrier ends at one time for all.
    let first = scenario.program(world.rank()).steps.first().map_or(0, |step| step.line);
    world.at(site(scenario, first)).barrier().map_err(|error| (0, error.into()))?;
    player.play()
}

fn report(scenario: &Scenario, all: &[Vec<Done>]) -> Report {
    let us = |seconds: f64| seconds * 1e6;
    let statements = (0..).zip(all).flat_map(|(rank, done)| {
        let steps = scenario.program(rank).steps.iter();
        steps.zip(done).map(move |(step, Done { times: [begin, end, complete], .. })| Statement {
            rank,
            file: None,
            line: step.line,
            label: step.label.clone(),
            op: step.op.name().into(),
            begin_us: us(*begin),
            end_us: us(*end),
            complete_us: Some(us(*complete)).filter(|us| !us.is_nan()),
        })
    });
    let statements: Vec<Statement> = statements.collect();
    let makespan_us = statements.iter().map(|statement| statement.end_us).fold(0.0, f64::max);
    Report {
        scenario: scenario.title.clone().unwrap_or_else(|| scenario.file.clone()),
        network: "shm".to_owned(),
        makespan_us,
        statements,
        timeline: carrousel_transport_sim::timeline::Timeline::default(),
        statistics: carrousel_transport_sim::Statistics::default(),
    }
}
