//! Random programs: what a person does not think of.

use carrousel_transport_sim::{Config, Network, Progress, Protocol, simulate};
use std::fmt::Write;

/// Numbers from a seed (Knuth's MMIX generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A program that must come to its end: every message has its receive, posted in the same order.
fn program(numbers: &mut Numbers) -> String {
    let ranks = 2 + numbers.below(3);
    let mut programs = vec![String::new(); ranks as usize];
    for _ in 0..=numbers.below(5) {
        let rounds = 1 + numbers.below(12);
        programs.iter_mut().for_each(|program| *program += &format!(" repeat {rounds}\n"));
        for _ in 0..=numbers.below(30) {
            let (from, to, tag) = (numbers.below(ranks), numbers.below(ranks), numbers.below(3));
            let size = [8, 4096, 20_000, 100_000, 17_000][numbers.below(5) as usize];
            let call = if numbers.below(4) == 0 { "issend" } else { "isend" };
            let _ = writeln!(programs[from as usize], "  {call} to {to} tag {tag} size {size}");
            let _ = writeln!(programs[to as usize], "  irecv from {from} tag {tag} size 100000");
            for rank in [from, to] {
                let _ =
                    writeln!(programs[rank as usize], "  compute {}us", numbers.below(30) * numbers.below(2));
            }
        }
        for program in &mut programs {
            let _ = write!(program, "  compute {}us\n  wait all\n end\n", numbers.below(100));
        }
    }
    let speculation = ["always", "adaptive"][numbers.below(2) as usize];
    let mut text =
        format!("ranks {ranks}\noption speculation {speculation}\noption rtr_limit {}\n", numbers.below(70));
    for (rank, program) in programs.iter().enumerate() {
        let _ = write!(text, "rank {rank}\n{program}");
    }
    text
}

#[test]
fn random_programs_come_to_their_end() {
    for seed in 0..200 {
        let numbers = &mut Numbers(seed);
        let text = program(numbers);
        let scenario = carrousel_scenario::load("random.scn", text.as_bytes()).expect("a right scenario");
        for protocol in [Protocol::Mirror, Protocol::Rget, Protocol::Rput] {
            for progress in [Progress::None, Progress::Thread] {
                let network = Network::named("qdr").expect("it comes with the simulator");
                let jitter_per_mille = [0, 300, 3000][numbers.below(3) as usize];
                let config = Config { protocol, progress, seed, jitter_per_mille, ..Config::new(network) };
                if let Err(error) = simulate(&scenario, &config) {
                    panic!("seed {seed}, {protocol:?}, {progress:?}: {error}\n{text}");
                }
            }
        }
    }
}
