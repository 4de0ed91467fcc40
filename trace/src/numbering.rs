//! Which rank of a trace an endpoint is: that of its process in the host's job, as far as its launcher says it.

use crate::{HostRank, RANKS_MAX, TraceError, TracePart};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Puts the parts of endpoints where their ranks are. The first endpoint of a process is its rank in its job, behind those of
/// the jobs before; further endpoints, and those of processes without a rank, come behind all jobs.
pub(crate) fn number(parts: impl Iterator<Item = TracePart>) -> Result<Vec<Option<TracePart>>, TraceError> {
    let mut jobs: BTreeMap<(Option<String>, u32), BTreeMap<u32, TracePart>> = BTreeMap::new();
    let mut others = Vec::new();
    for part in parts {
        let endpoint = part.endpoint();
        let process = endpoint.map(|endpoint| endpoint.process);
        let Some(HostRank { job, rank, ranks }) = endpoint.and_then(|endpoint| endpoint.host.clone()) else {
            others.push(part);
            continue;
        };
        if ranks > RANKS_MAX || rank >= ranks {
            return Err(part.invalid_line(format_args!("rank {rank} of a job of {ranks}")));
        }
        match jobs.entry((job, ranks)).or_default().entry(rank) {
            Entry::Vacant(place) => {
                place.insert(part);
            }
            Entry::Occupied(first) => {
                let first = first.get();
                if first.endpoint().map(|first| first.process) != process {
                    let (path, other) = (part.path().to_owned(), first.path().to_owned());
                    return Err(TraceError::RankTwice { path, other, rank });
                }
                others.push(part);
            }
        }
    }
    let mut all = Vec::new();
    for ((_, ranks), mut job) in jobs {
        if let Some(part) = job.values().next().filter(|_| all.len() + ranks as usize > RANKS_MAX as usize) {
            return Err(part.invalid_line(format_args!("more than {RANKS_MAX} ranks")));
        }
        all.extend((0..ranks).map(|rank| job.remove(&rank)));
    }
    if let Some(part) = others.first().filter(|_| all.len() + others.len() > RANKS_MAX as usize) {
        return Err(part.invalid_line(format_args!("more than {RANKS_MAX} endpoints")));
    }
    all.extend(others.into_iter().map(Some));
    Ok(all)
}
