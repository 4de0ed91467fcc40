//! The speed of the simulator.
//!
//! The claims: a million events a second on one core, for any pattern; and 2,048 ranks that exchange halos for twenty
//! iterations in far less than half a minute.

use carrousel_scenario::Scenario;
use carrousel_transport_sim::{Config, Network, Protocol, simulate};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::path::Path;

fn scenario(name: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios").join(name);
    let text = std::fs::read(&path).expect("the scenario is there");
    carrousel_scenario::load(name, &text).expect("the scenario is right")
}

fn events_per_second(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("events");
    group.sample_size(10);
    for name in ["radix.scn", "cg-b.scn", "eager-stream.scn", "halo-2048.scn"] {
        let scenario = scenario(name);
        for (word, protocol) in Protocol::ALL {
            let network = Network::named("qdr").expect("it comes with the simulator");
            let config = Config { protocol, timeline: false, ..Config::new(network) };
            let events = simulate(&scenario, &config).map(|report| report.statistics.events);
            group.throughput(Throughput::Elements(events.expect("it runs")));
            group.bench_with_input(BenchmarkId::new(name, word), &config, |bencher, config| {
                bencher.iter(|| simulate(&scenario, config));
            });
        }
    }
}

criterion_group!(benches, events_per_second);
criterion_main!(benches);
