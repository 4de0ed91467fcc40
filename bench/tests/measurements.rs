//! Every measurement, between threads: that it ends, and that what it says makes sense. How much it says is
//! nothing that a test could know.

use carrousel::threads;
use carrousel_bench::{Benchmark, Budget, Case, Measured, Plan, Progress, Step, measure};

const FEW: Budget = Budget { seconds: 1.0, repetitions: Some(5) };

/// The results of rank 0; the others have none.
fn run(ranks: u32, plan: &Plan) -> Vec<Measured> {
    let done = threads(ranks, |world| measure(world, plan, &mut |_| {})).expect("the job can be set up");
    let mut done = done.into_iter().map(|results| results.expect("nothing fails"));
    let first = done.next().expect("there is a rank 0");
    assert!(done.all(|results| results.is_empty()));
    first
}

#[test]
fn every_measurement_between_two_ranks_has_a_value() {
    let plan = Plan::new(2, &[], &[8, 40_000], FEW).expect("it is right");
    let results = run(2, &plan);
    let found: Vec<_> =
        results.iter().map(|measured| (measured.record.bench, measured.record.size)).collect();
    let of_step = |step: &Step| {
        let values = step.case.map_or(1, |case| case.calls().count());
        std::iter::repeat_n((step.benchmark, step.size), values)
    };
    let asked: Vec<_> = plan.steps().iter().flat_map(of_step).collect();
    assert_eq!(found, asked);
    for measured in results {
        let record = measured.record;
        assert_eq!(record.unit, record.bench.unit());
        assert!(record.value.is_finite() && record.repetitions == 5, "{record:?}");
        match record.bench {
            // Differences may be anything, on a machine that does something else meanwhile.
            Benchmark::HiddenSend | Benchmark::HiddenReceive => {}
            _ => assert!(record.value > 0.0, "{record:?}"),
        }
        if let Some([lower, upper]) = measured.quartiles {
            assert!(lower <= record.value && record.value <= upper, "{measured:?}");
        }
    }
}

#[test]
fn an_overlap_has_a_time_for_each_call_of_each_case() {
    // The bytes of each message are looked at by the measurement itself.
    let plan = Plan::new(2, &[Benchmark::Overlap], &[0, 100_000], FEW).expect("it is right");
    let results = run(2, &plan);
    let overlapped = |measured: &Measured| measured.record.overlapped.expect("it is one");
    let found: Vec<_> = results.iter().map(|measured| (overlapped(measured), measured.record.size)).collect();
    let found: Vec<_> = found.iter().map(|(about, size)| (about.case, *size, about.call)).collect();
    let of = |case: Case| {
        [0, 100_000].into_iter().flat_map(move |size| case.calls().map(move |call| (case, size, call)))
    };
    let expected: Vec<_> = Case::ALL.into_iter().flat_map(of).collect();
    assert_eq!(found, expected);
    assert_eq!(found.len(), 2 * (4 + 8 + 4 + 8));
    for measured in &results {
        // At least a millisecond, and a whole number of exchanges.
        let about = overlapped(measured);
        assert!(about.compute_us >= 1000 && about.out_of_order <= 5, "{measured:?}");
        assert!(measured.record.value > 0.0 && measured.quartiles.is_some(), "{measured:?}");
    }
}

#[test]
fn many_pairs_measure_at_once_and_one_rank_may_be_left_over() {
    for ranks in [4, 5] {
        let plan = Plan::new(ranks, &[Benchmark::MultiPair, Benchmark::Barrier], &[64], FEW);
        let results = run(ranks, &plan.expect("it is right"));
        assert_eq!(results.len(), 2);
        assert!(results.iter().all(|measured| measured.record.value > 0.0), "{results:?}");
    }
}

#[test]
fn several_partners_are_measured_in_every_number_of_them() {
    let names = [Benchmark::MultiLatency, Benchmark::MultiBandwidth];
    // Of 5 ranks one is left over while rank 0 has 2 partners, and the largest messages are no eager ones.
    let plan = Plan::new(5, &names, &[0, 8, 40_000], FEW).expect("it is right");
    let results = run(5, &plan);
    let found: Vec<_> = results.iter().map(|measured| measured.record.connections).collect();
    let asked: Vec<_> = plan.steps().iter().map(|step| step.connections).collect();
    assert_eq!((found.len(), &found), (18, &asked));
    for record in results.iter().map(|measured| measured.record) {
        let is_nothing = record.bench == Benchmark::MultiBandwidth && record.size == 0;
        assert_eq!(record.value > 0.0, !is_nothing, "{record:?}");
    }
}

#[test]
fn a_message_of_nothing_can_be_measured_and_has_no_bandwidth() {
    let names = [Benchmark::Bandwidth, Benchmark::Latency, Benchmark::ReuseHalf];
    let plan = Plan::new(2, &names, &[0], FEW).expect("it is right");
    let results = run(2, &plan);
    assert!(results[0].record.value > 0.0 && results[1].record.value > 0.0, "{results:?}");
    assert_eq!(results[2].record.value, 0.0);
}

#[test]
fn a_time_is_as_good_as_a_number_of_batches() {
    let budget = Budget { seconds: 0.01, repetitions: None };
    let plan = Plan::new(2, &[Benchmark::Latency], &[8], budget).expect("it is right");
    assert!(run(2, &plan)[0].record.repetitions >= 5);
}

#[test]
fn rank_0_is_told_of_each_measurement_when_it_begins_and_when_it_is_done() {
    let plan = Plan::new(2, &[Benchmark::Latency], &[0, 8], FEW).expect("it is right");
    let told = threads(2, |world| {
        let mut told = Vec::new();
        let done = measure(world, &plan, &mut |progress| {
            told.push(match progress {
                Progress::Begins(step) => (step.size, false),
                Progress::Done(measured) => (measured[0].record.size, true),
            });
        });
        done.map(|_| told)
    });
    let told: Vec<_> = told.expect("the job can be set up").into_iter().map(Result::unwrap).collect();
    assert_eq!(told[0], [(0, false), (0, true), (8, false), (8, true)]);
    assert_eq!(told[1], []);
}
