//! An epoch takes what the paper's equations say, if its transfers are carried out as the schedule asks.

use carrousel_schedule::*;
use proptest::prelude::*;

/// One operation of an epoch: bytes that take as many units of time, on the node or on the network.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Copy(u64),
    Put(u64),
}

/// When an epoch of these operations is over: they are issued, the program computes, and it closes the epoch.
fn epoch(operations: &[Operation], submitting: u64, computing: u64, threshold: Threshold) -> u64 {
    let mut schedule = Schedule::<Operation, usize>::new(threshold);
    let (mut processor, mut network) = (0, 0);
    let mut carry_out = |operation, processor: &mut u64| match operation {
        Operation::Copy(time) => *processor += time,
        Operation::Put(time) => {
            *processor += submitting;
            network = network.max(*processor) + time;
        }
    };
    for (target, &operation) in operations.iter().enumerate() {
        let (place, bytes) = match operation {
            Operation::Copy(bytes) => (Place::Node, bytes),
            Operation::Put(bytes) => (Place::Remote, bytes),
        };
        let transfer = Transfer { place, bytes, granted: Granted::InCall, accumulates: false };
        if let Some(now) = schedule.offer(target, transfer, operation) {
            carry_out(now, &mut processor);
        }
    }
    processor += computing;
    schedule.demand_all(|_| true);
    while let Some(copy) = schedule.take_due() {
        carry_out(copy, &mut processor);
    }
    processor.max(network)
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let operation = (any::<bool>(), 1..500u64)
        .prop_map(|(copy, time)| if copy { Operation::Copy(time) } else { Operation::Put(time) });
    prop::collection::vec(operation, 0..8)
}

proptest! {
    /// Submitting takes no time here, so that the network streams without gaps: equation 1 as it stands.
    #[test]
    fn an_epoch_takes_what_equation_1_says(operations in operations(), computing in 0..1000u64) {
        let (mut streaming, mut copying) = (0, 0);
        for operation in &operations {
            match operation {
                Operation::Copy(time) => copying += time,
                Operation::Put(time) => streaming += time,
            }
        }
        let costs = Costs { submitting: 0, streaming, detecting: 0, copying, computing };
        prop_assert_eq!(epoch(&operations, 0, computing, Threshold(0)), scheduled(costs));
        prop_assert!(epoch(&operations, 0, computing, Threshold(0)) <= unscheduled(costs));
    }

    /// Queueing copies never makes an epoch longer than making them where they are asked for.
    #[test]
    fn no_epoch_is_longer_for_being_scheduled(
        operations in operations(), submitting in 0..20u64, computing in 0..1000u64, threshold in 0..500u64,
    ) {
        let ours = epoch(&operations, submitting, computing, Threshold(threshold));
        prop_assert!(ours <= epoch(&operations, submitting, computing, Threshold(u64::MAX)));
    }
}

/// The paper's `Mix` (5.1): three copies before three remote puts.
#[test]
fn copies_asked_for_first_do_not_delay_the_network() {
    let mix = [[Operation::Copy(200); 3], [Operation::Put(300); 3]].concat();
    assert_eq!(epoch(&mix, 1, 0, Threshold(0)), 901, "the network is never idle behind its first post");
    assert_eq!(epoch(&mix, 1, 0, Threshold(u64::MAX)), 600 + 901, "copies first, then the network");
}
