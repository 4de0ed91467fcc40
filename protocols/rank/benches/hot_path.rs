//! What a message costs on the processor, without data and network.
//!
//! Claims: an eager message costs two ranks together less than 200 ns; a rendezvous only a few times
//! that; a message whose receive is behind 1,000 others pays for the search, and nothing else.

use carrousel_rank::{Mirror, Protocol, Published};
use criterion::{Criterion, criterion_group, criterion_main};
use ends::Ends;

mod ends;

fn messages<P: Protocol>(criterion: &mut Criterion, rules: &str) {
    let mut group = criterion.benchmark_group(rules);
    for (name, len) in [("eager", 8), ("announced rendezvous", 1 << 20)] {
        let mut ends = Ends::<P>::new();
        group.bench_function(name, |bencher| bencher.iter(|| ends.exchange(len, 5)));
    }
    let mut ends = Ends::<P>::new();
    ends.post_others(1000);
    group.bench_function("eager, behind 1000 receives", |bencher| bencher.iter(|| ends.exchange(8, 5)));
    group.finish();
}

fn hot_path(criterion: &mut Criterion) {
    messages::<Mirror>(criterion, "mirror");
    messages::<Published>(criterion, "published");
}

criterion_group!(benches, hot_path);
criterion_main!(benches);
