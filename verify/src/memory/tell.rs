//! A path, for a person.

use super::bounds::Kind;
use super::environment::Environment;
use super::step::{Action, is_stuck};
use super::world::{Pages, World, Wrong};
use carrousel_reuse::{CacheRules, RegionId, ReuseRules};
use std::fmt::Write;

/// What goes wrong, and the steps to it, one a line.
pub(super) fn tell<C: CacheRules, R: ReuseRules>(
    environment: &Environment,
    path: &[(World<C, R>, Option<Action>)],
) -> String {
    let mut text = String::new();
    if let Some((last, _)) = path.last() {
        let (check, what) = match last.wrong {
            Some(wrong) => (wrong.check(), sentence(wrong)),
            None if is_stuck(environment, last) => {
                ("never-stuck", "a send waits for what does not come".to_owned())
            }
            None => return text,
        };
        let _ = writeln!(text, "{check}: {what}");
    }
    for (number, step) in (1..).zip(path.windows(2)) {
        if let [(before, Some(action)), (after, _)] = step {
            let _ = writeln!(text, "{number:>3}. {}", line(before, *action, after));
        }
    }
    text
}

fn sentence(wrong: Wrong) -> String {
    match wrong {
        Wrong::OtherBytes { page } => format!("what goes out is not what was in page {page} at the send"),
        Wrong::NotRegistered { region } => format!("a message uses {region}, which does not exist"),
        Wrong::NotCovered { region, page } => {
            format!("a message uses {region}, which does not have page {page}")
        }
        Wrong::DeregisteredInUse { region } => {
            format!("{region} is deregistered while a message is read through it")
        }
        Wrong::Misuse(misuse) => format!("the driver's next call is refused: {misuse}"),
    }
}

fn line<C: CacheRules, R: ReuseRules>(before: &World<C, R>, action: Action, after: &World<C, R>) -> String {
    let flight = |at: usize| before.flights.get(at).map_or(String::new(), |flight| pages(flight.buffer));
    let mut text = match action {
        Action::Send { kind, buffer } => {
            let kind = if kind == Kind::Small { "small" } else { "large" };
            format!("the application sends {}, {kind}: {}", pages(buffer), travels(before, after))
        }
        Action::Answer { sending, well } => {
            let region = before.sending.get(sending).and_then(|sending| sending.region);
            let region = region.map_or(String::new(), |region| region.to_string());
            if well {
                format!("{region} is registered: {}", travels(before, after))
            } else {
                format!("{region} cannot be registered: the message is copied")
            }
        }
        Action::Retry(_) => format!("the send tries again: {}", travels(before, after)),
        Action::Read(at) => {
            let page = before.flights.get(at).map_or(0, |flight| flight.buffer.first + flight.read);
            format!("the adapter reads page {page} of the message from {}", flight(at))
        }
        Action::Done(at) => format!("the message from {} is done", flight(at)),
        Action::Write(page) => format!("the application writes to page {page}"),
        Action::Unmap(page) => format!("the application unmaps page {page}"),
        Action::Map(page) => format!("the application maps page {page} anew"),
        Action::Tell(at) => {
            let page = before.untold.get(at).copied().unwrap_or_default();
            format!("the process hears that page {page} has gone")
        }
        Action::Move(page) => format!("the kernel moves page {page} to another frame"),
    };
    for region in gone(before, after) {
        let _ = write!(text, "; {region} is deregistered");
    }
    text
}

fn pages(Pages { first, len }: Pages) -> String {
    if len == 1 { format!("page {first}") } else { format!("pages {first} to {}", first + len - 1) }
}

/// What has become of a message.
fn travels<C: CacheRules, R: ReuseRules>(before: &World<C, R>, after: &World<C, R>) -> String {
    if after.flights.len() > before.flights.len() {
        after.flights.last().map_or(String::new(), |flight| format!("it goes out by {}", flight.region))
    } else if let Some(sending) = after.sending.last().filter(|_| after.sending.len() >= before.sending.len())
    {
        match sending.region {
            Some(region) => format!("{region} is to be registered for it"),
            None => "it waits to be let in".to_owned(),
        }
    } else {
        "it is copied".to_owned()
    }
}

/// The registrations that a step has ended.
fn gone<C: CacheRules, R: ReuseRules>(before: &World<C, R>, after: &World<C, R>) -> Vec<RegionId> {
    let is_there = |region: RegionId| after.translation(region).is_some_and(|at| at.region == region);
    let registered = before.translations.iter().flatten().filter(|at| at.is_pinned).map(|at| at.region);
    registered.filter(|region| !is_there(*region)).collect()
}
