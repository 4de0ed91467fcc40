//! Small scenarios whose ranks ask for the source and the tag of messages, drawn from a fixed sequence.

use crate::dice::Dice;
use std::fmt::Write;

/// Draws a scenario: rank 0 receives what the others send it, asks about it and answers, mostly.
pub(crate) fn draw_scenario(dice: &mut Dice, ranks: u64, speculation: &str) -> String {
    let messages: Vec<u64> = (1..ranks).map(|_| 1 + dice.below(5 - ranks)).collect();
    let total: u64 = messages.iter().sum();
    let mut text =
        format!("ranks {ranks}\noption eager_threshold 1\noption speculation {speculation}\nrank 0\n");
    let received = if dice.below(6) == 0 { total - 1 } else { total };
    asking(dice, &mut text, received);
    for (rank, messages) in (1..).zip(messages) {
        let _ = writeln!(text, "rank {rank}");
        answered(dice, &mut text, (rank, ranks), messages);
    }
    text
}

/// A rank that receives so many messages. Each name is known before it is asked for.
fn asking(dice: &mut Dice, text: &mut String, messages: u64) {
    let mut known: Vec<&str> = Vec::new();
    for _ in 0..messages {
        let name = ["a", "b"][dice.below(2) as usize];
        let tag = ["any", "any", "any", "any", "0"][dice.below(5) as usize];
        match dice.below(6) {
            0 => _ = writeln!(text, "  {name} = recv from any tag {tag} size 2"),
            1 => {
                let test = if dice.below(2) == 0 { format!("  test {name}\n") } else { String::new() };
                let _ = writeln!(text, "  {name} = irecv from any tag {tag} size 2\n{test}  wait {name}");
            }
            2 => {
                // The receive may get another message than the probe has found.
                let _ = writeln!(text, "  {name} = probe from any tag any\n  recv from any tag {tag} size 2");
            }
            3 => {
                let _ = writeln!(text, "  {name} = probe from any tag any");
                let _ = writeln!(text, "  recv from source({name}) tag tag({name}) size 2");
            }
            4 if !known.is_empty() => {
                let asked = known[dice.below(known.len() as u64) as usize];
                let form = ["from any tag 1-tag(X)", "from source(X) tag any", "from any tag any"];
                let form = form[dice.below(3) as usize].replace('X', asked);
                let _ = writeln!(text, "  {name} = recv {form} size 1+tag({asked})");
            }
            _ => _ = writeln!(text, "  {name} = recv from any tag {tag} size 2"),
        }
        known.push(name);
        let asked = known[dice.below(known.len() as u64) as usize];
        let size = 1 + dice.below(2);
        match dice.below(12) {
            0..3 => _ = writeln!(text, "  send to source({asked}) tag tag({asked}) size {size}"),
            3..5 => _ = writeln!(text, "  isend to source({asked}) tag 0 size {size}"),
            5 => _ = writeln!(text, "  issend to source({asked}) tag 0 size tag({asked}) buf x"),
            6 => _ = writeln!(text, "  isend to source({asked})+1 tag 0 size {size}"),
            7 => _ = writeln!(text, "  irecv from source({asked}) tag any size tag({asked})+1"),
            _ => {}
        }
    }
    if dice.below(8) > 0 {
        text.push_str("  wait all\n");
    }
}

/// A rank that sends rank 0 so many messages, and may take as many answers.
fn answered(dice: &mut Dice, text: &mut String, (rank, ranks): (u64, u64), messages: u64) {
    for _ in 0..dice.below(messages + 1) {
        let from = if dice.below(4) == 0 { "any" } else { "0" };
        let _ = writeln!(text, "  irecv from {from} tag any size 2");
    }
    let mut sends = String::new();
    for number in 0..messages {
        let (size, tag) = (1 + dice.below(2), dice.below(2));
        let to = if dice.below(12) == 0 { (rank + 1) % ranks } else { 0 };
        let call = ["isend", "isend", "issend"][dice.below(3) as usize];
        let _ = writeln!(text, "  s{number} = {call} to {to} tag {tag} size {size}");
        let _ = write!(sends, " s{number}");
    }
    match dice.below(3) {
        0 => text.push_str("  wait all\n"),
        1 => _ = writeln!(text, "  wait{sends}"),
        _ => {}
    }
}
