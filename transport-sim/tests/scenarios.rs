//! The micro-benchmarks of `tests/scenarios`: each runs under every protocol, and shows what it is for.

use carrousel_scenario::Check;
use carrousel_transport_sim::Protocol::{self, Mirror, Published, Rget, Rput};
use carrousel_transport_sim::{Acquisition, Config, Network, Progress, Report, simulate};
use std::path::Path;

fn text(name: &str) -> String {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios").join(name).with_extension("scn");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn run(name: &str, network: &str, protocol: Protocol) -> Report {
    let scenario = match carrousel_scenario::load("scenario.scn", text(name).as_bytes()) {
        Ok(scenario) => scenario,
        Err(error) => panic!("{}", error.render(false)),
    };
    let config =
        Config { protocol, ..Config::new(Network::named(network).expect("it comes with the simulator")) };
    simulate(&scenario, &config).unwrap_or_else(|error| panic!("{protocol:?}: {error}"))
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

/// A request of an access has to begin, and with it the epoch that it is in: a lock that is requested lazily is requested now.
#[test]
fn an_access_with_a_request_is_waited_for_whenever_locks_are_requested() {
    let text = "ranks 2\nwindow w 64\nrank 0\n  lock w at 1 exclusive\n  put w to 1 size 8\n  \
                p = put w to 1 size 8 at 8\n  g = get w from 1 size 8 at 16 count 2 stride 16\n  wait p g\n  \
                compute 50us\n  unlock w at 1\n";
    let scenario = carrousel_scenario::load("scenario.scn", text.as_bytes()).expect("it is right");
    for acquisition in [Acquisition::Eager, Acquisition::Lazy] {
        let network = Network::named("qdr").expect("it comes with the simulator");
        let report = simulate(&scenario, &Config { acquisition, ..Config::new(network) });
        let report = report.unwrap_or_else(|error| panic!("{acquisition:?}: {error}"));
        let of = |line| report.statements.iter().find(|s| s.line == line).expect("it is there");
        let (get, wait, compute) = (of(7), of(8), of(9));
        assert!(get.complete_us.is_some_and(|us| us > get.end_us && us <= wait.end_us), "{acquisition:?}");
        assert!(
            wait.end_us > wait.begin_us && compute.complete_us == Some(compute.end_us),
            "{acquisition:?}"
        );
    }
}
