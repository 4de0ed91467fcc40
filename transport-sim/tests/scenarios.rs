//! The micro-benchmarks of `tests/scenarios`: each runs under every protocol, and shows what it is for.

use carrousel_scenario::Check;
use carrousel_transport_sim::Protocol::{self, Mirror, Published, Rget, Rput};
use carrousel_transport_sim::{Config, Network, Progress, Report, simulate};
use std::path::Path;

fn text(name: &str) -> String {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios").join(name).with_extension("scn");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn run_text(text: &str, network: &str, protocol: Protocol) -> Report {
    let scenario = match carrousel_scenario::load("scenario.scn", text.as_bytes()) {
        Ok(scenario) => scenario,
        Err(error) => panic!("{}", error.render(false)),
    };
    let config =
        Config { protocol, ..Config::new(Network::named(network).expect("it comes with the simulator")) };
    simulate(&scenario, &config).unwrap_or_else(|error| panic!("{protocol:?}: {error}"))
}

fn run(name: &str, network: &str, protocol: Protocol) -> Report {
    run_text(&text(name), network, protocol)
}

/// Microseconds that all ranks together spend in the library.
fn communication(report: &Report) -> f64 {
    report.statements.iter().filter(|s| s.op != "compute").map(|s| s.end_us - s.begin_us).sum()
}

/// Improvement of the time in the library over the classical protocol, in percent.
fn improvement(name: &str, network: &str, protocol: Protocol) -> f64 {
    let (old, new) = (communication(&run(name, network, Rget)), communication(&run(name, network, protocol)));
    let percent = (1.0 - new / old) * 100.0;
    println!("{name} {network} {protocol:?}: in the library {old:.0} -> {new:.0} us, {percent:.1} % less");
    percent
}

#[test]
fn every_scenario_runs_under_every_protocol_on_every_network() {
    let names = "receiver-early sender-early overlap-send overlap-receive progress-send progress-receive \
                 exchange-1 exchange-2 pingpong-crossing eager-stream cg-b bt-a lu-a radix \
                 master-and-workers answer-by-tag";
    for name in names.split_whitespace() {
        for (_, protocol) in Protocol::ALL {
            for network in Network::names() {
                let report = run(name, network, protocol);
                assert!(
                    report.makespan_us > 0.0 && report.statements.iter().all(|s| s.complete_us.is_some())
                );
            }
        }
    }
}

#[test]
fn both_arrival_orders_hide_the_transfer() {
    for (name, classical) in [("receiver-early", 1040.0), ("sender-early", 1060.0)] {
        for protocol in [Mirror, Published] {
            assert!(run(name, "qdr", protocol).makespan_us < 725.0, "{name} {protocol:?}");
        }
        for protocol in [Rget, Rput] {
            assert!(run(name, "qdr", protocol).makespan_us > classical, "{name} {protocol:?}");
        }
    }
}

/// Figure 4.17a: "BT.A -30 % wait; LU.A -5 (ANY_SOURCE, no RTR); RADIX -4; CG.B +21, +4 with adaptation".
#[test]
fn figure_4_17_communication_times_of_the_applications() {
    for protocol in [Mirror, Published] {
        for network in ["qdr", "ddr-iwarp"] {
            assert!(improvement("bt-a", network, protocol) > 30.0);
            assert!(improvement("radix", network, protocol) > 4.0);
            // No announcements, so nothing is lost but acknowledgements.
            assert!(improvement("lu-a", network, protocol) > -1.0);
            assert!(improvement("cg-b", network, protocol) > -4.0);
            assert_eq!(run("lu-a", network, protocol).statistics.packets("RTR"), 0);
        }
    }
}

/// Figure 4.17b: RTR usage is high in BT.A, low in CG.B; 4.2.6: adaptation stops most of the useless ones.
#[test]
fn adaptation_keeps_useful_announcements_and_stops_useless_ones() {
    for protocol in [Mirror, Published] {
        let bt = run("bt-a", "qdr", protocol).statistics;
        assert!(bt.rtrs_used() * 10 > (bt.rtrs_used() + bt.rtrs_unused()) * 9);
        for name in ["cg-b", "eager-stream", "pingpong-crossing"] {
            let always = format!("option speculation always\n{}", text(name));
            let adaptive = run(name, "qdr", protocol).statistics;
            if name == "eager-stream" && protocol == Published {
                // Without adaptation the published rules keep what eager messages leave behind.
                assert!(adaptive.packets("RTR") <= 16);
                continue;
            }
            let always = run_text(&always, "qdr", protocol).statistics;
            println!(
                "{name} {protocol:?}: {} RTRs, {} with adaptation",
                always.packets("RTR"),
                adaptive.packets("RTR")
            );
            assert!(adaptive.packets("RTR") * 2 < always.packets("RTR"));
        }
    }
}

/// Other orders of the same events: whatever jitter brings about, the protocols accept.
#[test]
fn no_order_of_events_breaks_a_protocol() {
    let names = "exchange-1 exchange-2 pingpong-crossing cg-b bt-a lu-a radix";
    for name in names.split_whitespace() {
        let scenario = carrousel_scenario::load(name, text(name).as_bytes()).expect("it was loaded before");
        for (_, protocol) in Protocol::ALL {
            for progress in [Progress::None, Progress::Thread] {
                for seed in 0..5 {
                    let network = Network::named("qdr").expect("it comes with the simulator");
                    let jitter_per_mille = 200 + 1000 * (seed as u32 % 2);
                    let config =
                        Config { protocol, progress, seed, jitter_per_mille, ..Config::new(network) };
                    if let Err(error) = simulate(&scenario, &config) {
                        panic!("{name}, {protocol:?}, {progress:?}, seed {seed}: {error}");
                    }
                }
            }
        }
    }
}

/// A run is one of the executions that `verify` explores: what it proves of all of them holds here.
#[test]
fn every_scenario_with_windows_runs_unless_its_ranks_get_stuck_or_break_the_rules() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios/rma");
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("it is there").flatten().collect();
    files.sort_by_key(|file| file.path());
    assert!(files.len() > 10);
    for file in files.into_iter().map(|file| file.path()) {
        let text = std::fs::read(&file).expect("it can be read");
        let scenario = carrousel_scenario::load(&file.display().to_string(), &text)
            .unwrap_or_else(|error| panic!("{}", error.render(false)));
        let is_safe = scenario
            .expects
            .iter()
            .all(|expect| !matches!(expect.check, Check::DeadlockFreedom | Check::EpochUsage));
        for network in Network::names() {
            let config = Config::new(Network::named(network).expect("it comes with the simulator"));
            match simulate(&scenario, &config) {
                Ok(report) => assert!(report.statements.iter().all(|s| s.end_us >= s.begin_us)),
                Err(error) => assert!(!is_safe, "{}: {error}", file.display()),
            }
        }
    }
}
