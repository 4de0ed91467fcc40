//! SPIN, on models that say in Promela what two of the programs do, and nothing of the library under them.
//!
//! It is the measure of what a state may cost: a checker that has been made faster for thirty years, on states of a few bytes.

use serde::Serialize;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Megabytes that it may use: then it says how far it has come.
const MEMORY_MIB: u32 = 1024;

/// What SPIN says of a search.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct SpinRun {
    pub(super) states: f64,
    pub(super) states_per_second: f64,
    /// Of the table of states and the states in it.
    pub(super) bytes_per_state: f64,
}

/// Some ranks send to one that takes the messages in any order.
pub(super) fn gather(ranks: u32) -> String {
    let takes: String = (1..ranks)
        .map(|rank| format!("  :: n < {ranks} && nempty(sent[{rank}]) -> sent[{rank}] ? _; n++\n"))
        .collect();
    format!(
        "chan sent[{ranks}] = [1] of {{ byte }};\nproctype sender(byte me) {{ sent[me] ! 1 }}\n\
         active proctype root() {{\n  byte n = 1;\n  atomic {{ do :: n < {ranks} -> run sender(n); n++ :: else -> break \
         od; n = 1 }}\n  do\n{takes}  :: n == {ranks} -> break\n  od\n}}\n"
    )
}

/// Each rank takes its own lock, and then its neighbour's.
pub(super) fn dining(ranks: u32) -> String {
    format!(
        "#define N {ranks}\nbit held[N];\nproctype rank(byte me) {{\n  atomic {{ !held[me] -> held[me] = 1 }}\n  \
         atomic {{ !held[(me + 1) % N] -> held[(me + 1) % N] = 1 }}\n  held[(me + 1) % N] = 0;\n  held[me] = 0\n}}\n\
         init {{ byte n; atomic {{ do :: n < N -> run rank(n); n++ :: else -> break od }} }}\n"
    )
}

/// Searches through a model; `None` where SPIN or a C compiler is missing, or cannot do it.
pub(super) fn measure(model: &str, folder: &Path) -> Option<SpinRun> {
    fs::write(folder.join("model.pml"), model).ok()?;
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(folder).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    run("spin", &["-a", "model.pml"])?;
    run("cc", &["-O2", "-DSAFETY", &format!("-DMEMLIM={MEMORY_MIB}"), "-o", "pan", "pan.c"])?;
    // Invalid end states are allowed, so that a deadlock does not end the search.
    let pan = folder.join("pan");
    read(&run(&pan.to_string_lossy(), &["-E", "-m1000000", "-w24"])?)
}

/// Reads what SPIN prints at the end.
fn read(text: &str) -> Option<SpinRun> {
    let number = |line: &str| line.split_whitespace().find_map(|word| word.parse::<f64>().ok());
    let line = |words: &str| text.lines().find(|line| line.contains(words)).and_then(number);
    let states = line("states, stored")?;
    // The memory for the stack of its search is taken at once, and is not of its states.
    let megabytes = line("actual memory usage for states")? + line("memory used for hash table")?;
    let states_per_second = line("pan: rate")?;
    Some(SpinRun { states, states_per_second, bytes_per_state: megabytes * 1024.0 * 1024.0 / states })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "State-vector 92 byte, depth reached 76, errors: 0\n   872662 states, stored\n  3829679 transitions \
        (= stored+matched)\n   99.868\tequivalent memory usage for states (stored*(State-vector + overhead))\n   \
        51.857\tactual memory usage for states (compression: 51.92%)\n  128.000\tmemory used for hash table (-w24)\n\
        pan: elapsed time 4.48 seconds\npan: rate 194790.62 states/second\n";

    #[test]
    fn what_spin_says_is_read() {
        let run = read(SAID).expect("all of it is there");
        assert_eq!((run.states, run.states_per_second), (872_662.0, 194_790.62));
        assert_eq!(run.bytes_per_state.round(), 216.0);
        assert_eq!(read("spin: error"), None);
    }

    #[test]
    fn each_sender_has_a_way_to_the_root() {
        assert_eq!(gather(5).matches("nempty").count(), 4);
    }
}
