//! Equations (1) to (8): what an epoch takes with the schedule (L0) and without (L1), against the simulator.

use crate::entry::Points;
use crate::figure::{Comparison, Figure, Panel, Point, Scale};
use crate::measure::{FigureError, Labelled, Machine};
use carrousel_schedule::{Costs, scheduled, unscheduled};
use carrousel_transport_sim::{Copies, Network};

/// How many targets there are on other nodes, and on this one.
const TARGETS: u64 = 3;

/// An epoch of puts to three targets on other nodes and three on this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Epoch {
    /// Of each put to another node.
    remote_bytes: u64,
    /// Of each copy on the node.
    local_bytes: u64,
    /// What the program computes in it, in nanoseconds.
    compute_ns: u64,
}

impl Epoch {
    /// Its costs on this network, in nanoseconds.
    fn costs(self, network: &Network) -> Costs {
        let Network { remote, local, cpu, header_bytes, .. } = network;
        let bytes_ns = |bytes: u64, ps_per_byte: u64| bytes * ps_per_byte / 1000;
        Costs {
            submitting: TARGETS * (cpu.call_ns + cpu.post_ns),
            streaming: remote.latency_ns
                + TARGETS * bytes_ns(self.remote_bytes + header_bytes, remote.ps_per_byte),
            detecting: TARGETS * cpu.completion_ns,
            copying: TARGETS * (cpu.call_ns + bytes_ns(self.local_bytes, local.ps_per_byte)),
            computing: self.compute_ns,
        }
    }

    /// How long it lasts in the simulator, in nanoseconds, from its opening to the end of its closing.
    fn simulated(self, network: &Network, copies: Copies) -> Result<f64, FigureError> {
        let machine = Machine::new("qdr")?.with(|config| {
            config.network = network.clone();
            config.copies = copies;
        });
        let Self { remote_bytes, local_bytes, compute_ns } = self;
        let puts = |targets: [u32; 3], bytes: u64| -> String {
            targets.into_iter().map(|target| format!(" put w to {target} size {bytes}\n")).collect()
        };
        let window = remote_bytes.max(local_bytes);
        let report = machine.run(&format!(
            "ranks 7\nnodes [0 1 2 3] [4] [5] [6]\nwindow w {window}\nrank 0\n barrier\n begin: start w to [1 2 3 4 5 6]\n\
             {}{} compute {compute_ns}ns\n end: complete w\nrank 1..6\n post w from [0]\n barrier\n wait_epoch w\n",
            puts([1, 2, 3], local_bytes),
            puts([4, 5, 6], remote_bytes),
        ))?;
        Ok(report.between("begin", "end")? * 1000.0)
    }
}

/// (1) to (8), over the computation in the epoch.
pub(super) fn equations(points: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(
        "IE (1)-(8)",
        "What an epoch takes by the equations, and in the simulator",
        "An epoch of puts of 1 MiB to three targets on other nodes and three on this one, with more and more computing C. \
         The paper's numbers are equation (1), L0 = α + ε + max(D, ζ + C), for the scheduled series and equation (2), \
         L1 = α + ε + max(D, C) + ζ, for the deferred one.",
    );
    let network = Machine::new("qdr")?.network().clone();
    let mut panel = Panel::new("", "us of computing", Scale::Linear, "us, epoch");
    let computing: Vec<u64> = (0..=16).map(|at| at * 100_000).collect();
    let mut all = [const { Vec::new() }; 2];
    for (copies, times) in [Copies::Scheduled, Copies::Deferred].into_iter().zip(&mut all) {
        let (mut series, mut comparisons) = (Vec::new(), Vec::new());
        for compute_ns in points.of(&computing) {
            let epoch = Epoch { remote_bytes: 1 << 20, local_bytes: 1 << 20, compute_ns };
            let us = epoch.simulated(&network, copies)? / 1000.0;
            let costs = epoch.costs(&network);
            let by_equation = if copies == Copies::Scheduled { scheduled(costs) } else { unscheduled(costs) };
            let by_equation = by_equation as f64 / 1000.0;
            series.push(Point::at(compute_ns as f64 / 1000.0, us).paper(by_equation));
            comparisons.push(Comparison::near(format!("C = {} us", compute_ns / 1000), us, by_equation, 0.5));
            times.push((costs, us));
        }
        let (name, says) = match copies {
            Copies::Scheduled => ("scheduled", "scheduled: equation (1)"),
            _ => ("deferred", "deferred: equation (2)"),
        };
        panel.series(name, series);
        figure.says(says, comparisons);
    }
    let [new, old] = all;
    let gains = new.iter().zip(&old).map(|((costs, new), (_, old))| {
        let gain = costs.copying.min(costs.streaming.saturating_sub(costs.computing)) as f64 / 1000.0;
        // Some calls are there once, and in one order only: 5 us.
        Comparison::between(format!("C = {} us", costs.computing / 1000), old - new, gain - 5.0, gain + 5.0)
    });
    figure.says("the gain is min(ζ, D - C), and none from C = D on: (5) to (8)", gains);
    figure.panels.push(panel);
    figure.differs(
        "The paper's (5) and (6) claim a gain whenever C < D. It needs copies, too: the closed form is min(ζ, D - C).",
    );
    Ok(figure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

        /// Not only for the costs of one network: α, ε, D, ζ and C are drawn.
        #[test]
        fn the_simulator_obeys_the_equations(
            post_ns in 0..20_000u64, completion_ns in 0..20_000u64,
            remote_ps in 50..1000u64, local_ps in 50..1000u64,
            // From the threshold on, at which copies are scheduled.
            remote_bytes in 64..4096u64, local_bytes in 8..4096u64, compute_ns in 0..4_000_000u64,
        ) {
            let mut network = Machine::new("qdr").expect("it is there").network().clone();
            network.cpu.post_ns = post_ns;
            network.cpu.completion_ns = completion_ns;
            network.remote.ps_per_byte = remote_ps;
            network.local.ps_per_byte = local_ps;
            let epoch = Epoch { remote_bytes: remote_bytes << 10, local_bytes: local_bytes << 10, compute_ns };
            let costs = epoch.costs(&network);
            for (copies, by_equation) in
                [(Copies::Scheduled, scheduled(costs)), (Copies::Deferred, unscheduled(costs))]
            {
                let ns = epoch.simulated(&network, copies).expect("it runs");
                let by_equation = by_equation as f64;
                // The equations add α, the network's time and ε. But the first transfer streams while the others are
                // submitted, and its completion is seen while the last streams: of three, up to two of each are hidden.
                let hidden = (costs.submitting + costs.detecting) as f64 * 2.0 / 3.0;
                // They have the transfers of an epoch, not the packets and calls that open and close it.
                let more = 12.0 * (post_ns + completion_ns) as f64 + 10_000.0;
                prop_assert!(
                    (by_equation * 0.999 - hidden..=by_equation * 1.001 + more).contains(&ns),
                    "{copies:?}: {ns} ns, by equation {by_equation}; {costs:?}"
                );
            }
        }
    }
}
