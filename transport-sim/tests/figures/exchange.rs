//! The exchange models (speculative-rendezvous 4.4.1, figures 4.15 and 4.16).

use crate::run;
use carrousel_transport_sim::Protocol::{self, Mirror, Published, Rget};

const ROUNDS: u32 = 40;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Model {
    ReceiveFirst,
    SendFirst,
}

/// Figure 4.15; `compute_us` is all of a round's production and consumption, halves of it each.
fn text(model: Model, option: &str, compute_us: u32) -> String {
    let half = compute_us / 2;
    let head = format!("ranks 2\noption eager_threshold 64KiB\n{option}\nrank *\n compute {half}us\n");
    let receive = "r = irecv from 1-me tag 0 size 128KiB\n";
    let send = "compute 15us\n s = isend to 1-me tag 0 size 128KiB\n";
    let (more, last) = (ROUNDS - 1, format!(" compute {half}us\n"));
    match model {
        Model::ReceiveFirst => format!(
            "{head} repeat {ROUNDS}\n {receive} {send} compute {half}us\n wait s\n wait r\n compute {half}us\n end\n"
        ),
        Model::SendFirst => format!(
            "{head} {send} {receive} compute {half}us\n wait s\n wait r\n repeat {more}\n {send} compute {half}us\n \
             {receive} compute {half}us\n wait s\n wait r\n end\n{last}"
        ),
    }
}

fn round_us(model: Model, protocol: Protocol, option: &str, compute_us: u32) -> f64 {
    run(&text(model, option, compute_us), "ddr-iwarp", protocol).makespan_us / f64::from(ROUNDS)
}

/// Improvement over the classical protocol by the ratio of communication to computation, both in percent.
fn curve(model: Model, protocol: Protocol, option: &str) -> Vec<(f64, f64)> {
    let communication = round_us(model, Rget, "", 0);
    let computations =
        [4000, 2000, 1000, 600, 400, 340, 300, 270, 250, 230, 210, 180, 150, 120, 80, 40, 20, 8];
    let of = |compute: u32| {
        let (old, new) = (round_us(model, Rget, "", compute), round_us(model, protocol, option, compute));
        (communication / f64::from(compute) * 100.0, (old - new) / old * 100.0)
    };
    let curve: Vec<_> = computations.into_iter().map(of).collect();
    let shown: Vec<_> = curve.iter().map(|(ratio, gain)| format!("{ratio:.0} %: {gain:.1}")).collect();
    println!("{model:?} {protocol:?} {option}: {}", shown.join(", "));
    curve
}

/// Rises to one summit, which it returns, and falls.
fn summit(curve: &[(f64, f64)]) -> (f64, f64) {
    let top = (0..curve.len()).max_by(|a, b| curve[*a].1.total_cmp(&curve[*b].1)).expect("points");
    let rises = |part: &[(f64, f64)]| part.windows(2).all(|pair| pair[0].1 <= pair[1].1 + 0.5);
    let falls = |part: &[(f64, f64)]| part.windows(2).all(|pair| pair[0].1 + 0.5 >= pair[1].1);
    assert!(rises(&curve[..=top]) && falls(&curve[top..]), "more than one summit: {curve:?}");
    assert!(curve[0].1 < curve[top].1 / 2.0 && curve[curve.len() - 1].1 < curve[top].1 / 2.0, "{curve:?}");
    curve[top]
}

/// Figure 4.16: "model 1 up to 32 % (around 80 %), model 2 up to 20 % (at 50 %)".
#[test]
fn figure_4_16_improvement_has_a_summit() {
    for protocol in [Mirror, Published] {
        for model in [Model::ReceiveFirst, Model::SendFirst] {
            let (ratio, gain) = summit(&curve(model, protocol, ""));
            println!("{model:?} {protocol:?}: summit {gain:.1} % at {ratio:.0} %");
            assert!((15.0..50.0).contains(&gain), "{gain}");
            assert!((30.0..150.0).contains(&ratio), "{ratio}");
        }
    }
}

/// "In model 1 the RTR usage is high: adaptive and non-adaptive are very close."
#[test]
fn figure_4_16_adaptation_does_not_disturb_model_1() {
    for protocol in [Mirror, Published] {
        let adaptive = curve(Model::ReceiveFirst, protocol, "");
        let always = curve(Model::ReceiveFirst, protocol, "option speculation always");
        for ((_, a), (_, b)) in adaptive.iter().zip(&always) {
            assert!((a - b).abs() < 1.0, "{a} against {b}");
        }
    }
}
