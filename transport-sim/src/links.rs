//! Links that several transfers share.
//!
//! A transfer is a fluid: at each moment it gets an equal share of each of its links, and moves at the rate of the
//! busier one. When a transfer starts or ends, the transfers that share a link with it change their rate.

use crate::queue::{Occurrence, Queue};

/// A transfer that is under way, on its links.
#[derive(Debug)]
struct Flow {
    links: [u32; 2],
    /// Picoseconds that it would still take alone.
    remaining_ps: u64,
    /// The time up to which `remaining_ps` is accounted for.
    since: u64,
    /// The number of transfers on its busier link.
    share: u64,
    /// The time of its event in the queue.
    due: u64,
    version: u32,
    transfer: u32,
}

impl Flow {
    fn settle(&mut self, now: u64) {
        let moved = (now - self.since).saturating_mul(1000) / self.share;
        self.remaining_ps = self.remaining_ps.saturating_sub(moved);
        self.since = now;
    }

    fn end(&self) -> u64 {
        let ns = (u128::from(self.remaining_ps) * u128::from(self.share)).div_ceil(1000);
        self.since.saturating_add(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

/// All links, by number, and the transfers on them.
#[derive(Debug)]
pub(crate) struct Links {
    active: Vec<Vec<u32>>,
    flows: Vec<Flow>,
    free: Vec<u32>,
}

impl Links {
    pub(crate) fn new(links: usize) -> Self {
        Self { active: vec![Vec::new(); links], flows: Vec::new(), free: Vec::new() }
    }

    /// Starts a transfer over two links (twice the same, if there is only one) that alone takes `work_ps`.
    pub(crate) fn start(&mut self, links: [u32; 2], work_ps: u64, transfer: u32, queue: &mut Queue) {
        let (since, share) = (queue.now(), 1);
        let flow = Flow { links, remaining_ps: work_ps, since, share, due: u64::MAX, version: 0, transfer };
        let id = match self.free.pop() {
            Some(id) => {
                let version = self.flows[id as usize].version.wrapping_add(1);
                self.flows[id as usize] = Flow { version, ..flow };
                id
            }
            None => {
                self.flows.push(flow);
                self.flows.len() as u32 - 1
            }
        };
        self.active[links[0] as usize].push(id);
        if links[1] != links[0] {
            self.active[links[1] as usize].push(id);
        }
        self.share_anew(links, queue);
    }

    /// The event of a flow: its transfer, if the flow is over.
    pub(crate) fn event(&mut self, id: u32, version: u32, queue: &mut Queue) -> Option<u32> {
        let flow = &mut self.flows[id as usize];
        if flow.version != version {
            return None;
        }
        let end = flow.end();
        if end > queue.now() {
            flow.due = end;
            queue.add(end, Occurrence::Flow { flow: id, version });
            return None;
        }
        let (links, transfer) = (flow.links, flow.transfer);
        flow.version = flow.version.wrapping_add(1);
        for link in links {
            self.active[link as usize].retain(|other| *other != id);
        }
        self.free.push(id);
        self.share_anew(links, queue);
        Some(transfer)
    }

    /// The number of transfers on these links has changed.
    fn share_anew(&mut self, links: [u32; 2], queue: &mut Queue) {
        let twice = links[0] == links[1];
        for link in &links[..if twice { 1 } else { 2 }] {
            for id in &self.active[*link as usize] {
                let flow = &mut self.flows[*id as usize];
                let on = |link: u32| self.active[link as usize].len() as u64;
                let share = on(flow.links[0]).max(on(flow.links[1]));
                if share != flow.share {
                    flow.settle(queue.now());
                    flow.share = share;
                }
                // An event that has become too early is queued again for the right time when it comes.
                if flow.end() < flow.due {
                    flow.due = flow.end();
                    flow.version = flow.version.wrapping_add(1);
                    queue.add(flow.due, Occurrence::Flow { flow: *id, version: flow.version });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of each of these transfers, given by start time, links, and its nanoseconds alone.
    fn ends(transfers: &[(u64, [u32; 2], u64)]) -> Vec<u64> {
        let (mut links, mut queue) = (Links::new(4), Queue::default());
        let mut ends = vec![0; transfers.len()];
        for (at, _, _) in transfers {
            queue.add(*at, Occurrence::Wake { rank: 0 });
        }
        let mut waiting = transfers.iter().enumerate();
        while let Some(what) = queue.next() {
            match what {
                Occurrence::Flow { flow, version } => {
                    if let Some(transfer) = links.event(flow, version, &mut queue) {
                        ends[transfer as usize] = queue.now();
                    }
                }
                _ => {
                    if let Some((transfer, (_, on, ns))) = waiting.next() {
                        links.start(*on, ns * 1000, transfer as u32, &mut queue);
                    }
                }
            }
        }
        ends
    }

    #[test]
    fn a_lone_transfer_has_the_link_to_itself() {
        assert_eq!(ends(&[(5, [0, 1], 100)]), [105]);
    }

    #[test]
    fn two_transfers_share_the_link_that_they_have_in_common() {
        assert_eq!(ends(&[(0, [0, 1], 100), (0, [0, 2], 100)]), [200, 200]);
        assert_eq!(ends(&[(0, [0, 1], 100), (0, [2, 3], 100)]), [100, 100]);
    }

    #[test]
    fn a_late_transfer_slows_down_only_what_is_left() {
        // The first moves half of its data alone; then both move at half speed until it has moved the rest.
        assert_eq!(ends(&[(0, [0, 1], 100), (50, [0, 2], 100)]), [150, 200]);
    }
}
