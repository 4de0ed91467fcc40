//! A path, for a person.

use super::bounds::TransferKind;
use super::environment::Environment;
use super::state::{MemoryState, MemoryViolation, Pages};
use super::step::{MemoryAction, is_stuck};
use carrousel_registration::{CacheRules, RegionId, ReuseRules};
use std::fmt::Write;

/// The violation and the steps to it, one a line.
pub(super) fn tell<C: CacheRules, R: ReuseRules>(
    environment: &Environment,
    path: &[(MemoryState<C, R>, Option<MemoryAction>)],
) -> String {
    let mut text = String::new();
    if let Some((last, _)) = path.last() {
        let (check, what) = match last.violation {
            Some(violation) => (violation.check(), sentence(violation)),
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

fn sentence(violation: MemoryViolation) -> String {
    match violation {
        MemoryViolation::OtherBytes { page } => {
            format!("what goes out is not what was in page {page} at the send")
        }
        MemoryViolation::NotRegistered { region } => format!("a message uses {region}, which does not exist"),
        MemoryViolation::NotCovered { region, page } => {
            format!("a message uses {region}, which does not have page {page}")
        }
        MemoryViolation::DeregisteredInUse { region } => {
            format!("{region} is deregistered while a message is read through it")
        }
        MemoryViolation::RegionError(misuse) => format!("the driver's next call is refused: {misuse}"),
    }
}

fn line<C: CacheRules, R: ReuseRules>(
    before: &MemoryState<C, R>,
    action: MemoryAction,
    after: &MemoryState<C, R>,
) -> String {
    let transmission = |at: usize| {
        before.transmissions.get(at).map_or(String::new(), |transmission| pages(transmission.buffer))
    };
    let mut text = match action {
        MemoryAction::Send { kind, buffer } => {
            let kind = if kind == TransferKind::Small { "small" } else { "large" };
            format!("the application sends {}, {kind}: {}", pages(buffer), travels(before, after))
        }
        MemoryAction::Answer { sending, well } => {
            let region = before.sending.get(sending).and_then(|sending| sending.region);
            let region = region.map_or(String::new(), |region| region.to_string());
            if well {
                format!("{region} is registered: {}", travels(before, after))
            } else {
                format!("{region} cannot be registered: the message is copied")
            }
        }
        MemoryAction::Retry(_) => format!("the send tries again: {}", travels(before, after)),
        MemoryAction::Read(at) => {
            let page = before
                .transmissions
                .get(at)
                .map_or(0, |transmission| transmission.buffer.first + transmission.read);
            format!("the adapter reads page {page} of the message from {}", transmission(at))
        }
        MemoryAction::Done(at) => format!("the message from {} is done", transmission(at)),
        MemoryAction::Write(page) => format!("the application writes to page {page}"),
        MemoryAction::Unmap(page) => format!("the application unmaps page {page}"),
        MemoryAction::Map(page) => format!("the application maps page {page} anew"),
        MemoryAction::Tell(at) => {
            let page = before.untold.get(at).copied().unwrap_or_default();
            format!("the process hears that page {page} has gone")
        }
        MemoryAction::Move(page) => format!("the kernel moves page {page} to another frame"),
    };
    for region in gone(before, after) {
        let _ = write!(text, "; {region} is deregistered");
    }
    text
}

fn pages(Pages { first, len }: Pages) -> String {
    if len == 1 { format!("page {first}") } else { format!("pages {first} to {}", first + len - 1) }
}

/// What happens to a message in a step.
fn travels<C: CacheRules, R: ReuseRules>(before: &MemoryState<C, R>, after: &MemoryState<C, R>) -> String {
    if after.transmissions.len() > before.transmissions.len() {
        after
            .transmissions
            .last()
            .map_or(String::new(), |transmission| format!("it goes out by {}", transmission.region))
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
fn gone<C: CacheRules, R: ReuseRules>(
    before: &MemoryState<C, R>,
    after: &MemoryState<C, R>,
) -> Vec<RegionId> {
    let is_there = |region: RegionId| after.translation(region).is_some_and(|at| at.region == region);
    let registered = before.translations.iter().flatten().filter(|at| at.is_pinned).map(|at| at.region);
    registered.filter(|region| !is_there(*region)).collect()
}
