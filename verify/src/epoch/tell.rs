//! A path, for a person.

use super::program::EpochProgram;
use super::state::{EpochState, LaneItem, OperationName, word_index};
use super::step::EpochAction;
use carrousel_epoch::{GrantWord, Mode, Packet};
use std::fmt::Write;

/// The violation, the program, and the steps, one a line.
pub(super) fn tell(what: &str, program: &EpochProgram, path: &[(EpochState, Option<EpochAction>)]) -> String {
    let mut text = format!("{what}\n{program}");
    for (number, step) in (1..).zip(path.windows(2)) {
        if let [(before, Some(action)), (after, _)] = step {
            let _ = writeln!(text, "{number:>3}. {}", line(program, before, *action, after));
        }
    }
    text
}

fn line(program: &EpochProgram, before: &EpochState, action: EpochAction, after: &EpochState) -> String {
    let mut text = match action {
        EpochAction::Program(me) => {
            let rank = &before.ranks[usize::from(me)];
            let step = rank
                .next_step(&program.ranks[usize::from(me)])
                .map_or(String::new(), |step| step.to_string());
            format!("rank {me}: {step}")
        }
        EpochAction::Arrive(from, to, at) => {
            let lane = &before.lanes[before.pair(from.into(), to.into())];
            match lane.get(usize::from(at)) {
                Some(LaneItem::Packet(packet, _)) => {
                    format!("rank {to} takes {} of rank {from}", packet_name(*packet))
                }
                Some(LaneItem::Data(name)) => arrival(before, *name),
                None => String::new(),
            }
        }
        EpochAction::Act(name) => {
            let operation = before.operation(name);
            format!(
                "the get of rank {} reads the memory of rank {}, and is complete",
                name.origin, operation.target
            )
        }
        EpochAction::Report(name) => {
            let operation = before.operation(name);
            format!(
                "rank {} learns that its {} to rank {} is complete",
                name.origin,
                operation.kind.name(),
                operation.target
            )
        }
        EpochAction::CompleteLocally(name) => {
            let operation = before.operation(name);
            format!(
                "rank {} learns that the buffer of its {} to rank {} can be used",
                name.origin,
                operation.kind.name(),
                operation.target
            )
        }
        EpochAction::See(host, origin, word) => {
            let value = before.words[before.pair(host.into(), origin.into())][word_index(word)].stored;
            let what = match word {
                GrantWord::Exposures => "exposures",
                GrantWord::Locks => "locks",
            };
            format!("rank {origin} sees that rank {host} has granted {value} {what}")
        }
    };
    effects(before, after, &mut text);
    text
}

fn arrival(state: &EpochState, name: OperationName) -> String {
    let operation = state.operation(name);
    format!("the {} of rank {} arrives at rank {}", operation.kind.name(), name.origin, operation.target)
}

fn packet_name(packet: Packet) -> String {
    match packet {
        Packet::Done { access } => format!("Done of access {access}"),
        Packet::LockRequest { mode: Mode::Exclusive, .. } => "the request of an exclusive lock".to_owned(),
        Packet::LockRequest { mode: Mode::Shared, .. } => "the request of a shared lock".to_owned(),
        Packet::LockRelease { .. } => "the release of the lock".to_owned(),
        Packet::StagingRequest => "the request of a staging buffer".to_owned(),
        Packet::StagingGrant => "a staging buffer".to_owned(),
    }
}

/// What a step has set going.
fn effects(before: &EpochState, after: &EpochState, text: &mut String) {
    for from in 0..after.ranks.len() {
        for to in 0..after.ranks.len() {
            let pair = after.pair(from, to);
            // A step takes one item at most from a lane, and adds others behind.
            let (old, new) = (&before.lanes[pair], &after.lanes[pair]);
            let kept = new.iter().take_while(|item| old.contains(item)).count();
            for item in new.iter().skip(kept) {
                let what = match item {
                    LaneItem::Packet(packet, _) => packet_name(*packet),
                    LaneItem::Data(name) => match after.operation(*name).kind.name() {
                        kind if kind.starts_with('a') => format!("an {kind}"),
                        kind => format!("a {kind}"),
                    },
                };
                let _ = write!(text, "; {what} goes to rank {to}");
            }
            for word in [GrantWord::Exposures, GrantWord::Locks] {
                let (old, new) = (before.words[pair][word_index(word)], after.words[pair][word_index(word)]);
                if new.stored > old.stored {
                    let what = if word == GrantWord::Locks { "its lock" } else { "its memory" };
                    let _ = write!(text, "; rank {from} grants {what} to rank {to}");
                }
            }
        }
    }
    for (me, (old, new)) in before.ranks.iter().zip(&after.ranks).enumerate() {
        for (number, epoch) in new.epochs.iter().enumerate() {
            if epoch.has_ended && old.epochs.get(number).is_none_or(|old| !old.has_ended) {
                let _ = write!(text, "; {} {number} of rank {me} is complete", epoch.kind);
            }
        }
        if new.window.deferred() > old.window.deferred() {
            let _ = write!(text, "; it is deferred");
        }
    }
}
