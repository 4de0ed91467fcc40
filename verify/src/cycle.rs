//! Cycles of ranks that wait for each other.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::rc::Rc;

/// A shortest cycle through one of `starts`, each followed by one that it waits for, the last by the first; of those
/// that are equally long, that of the first start. `edges` has the nodes that each waits for; a node without an entry
/// waits for none. Lists that many nodes share, as those of a collective do, are gone through once. `None` if there
/// is no cycle.
pub fn shortest<N: Copy + Eq + Hash>(
    starts: impl IntoIterator<Item = N>,
    edges: &HashMap<N, Vec<Rc<[N]>>>,
) -> Option<Vec<N>> {
    starts.into_iter().filter_map(|start| from(start, edges)).min_by_key(Vec::len)
}

/// A shortest way from `start` back to itself.
fn from<N: Copy + Eq + Hash>(start: N, edges: &HashMap<N, Vec<Rc<[N]>>>) -> Option<Vec<N>> {
    let mut came_from: HashMap<N, N> = HashMap::new();
    let mut seen = HashSet::from([start]);
    let mut queue = VecDeque::from([start]);
    let mut gone_through = HashSet::new();
    while let Some(one) = queue.pop_front() {
        let lists = edges.get(&one).into_iter().flatten();
        for next in lists.filter(|list| gone_through.insert(list.as_ptr())).flat_map(|list| &**list) {
            if *next == start {
                let mut way = vec![one];
                while let Some(before) = way.last().and_then(|last| came_from.get(last)) {
                    way.push(*before);
                }
                way.reverse();
                return Some(way);
            }
            if seen.insert(*next) {
                came_from.insert(*next, one);
                queue.push_back(*next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_way_around_is_found() {
        let edges = [(0, vec![1]), (1, vec![2, 3]), (2, vec![0]), (3, vec![1]), (4, vec![5])];
        let edges = edges.into_iter().map(|(one, others)| (one, vec![others.into()])).collect();
        assert_eq!(shortest(0..6, &edges), Some(vec![1, 3]));
        assert_eq!(shortest([0], &edges), Some(vec![0, 1, 2]));
        assert_eq!(shortest([4, 5], &edges), None);
    }

    #[test]
    fn a_shared_list_is_a_way_for_each_that_has_it() {
        let shared: Rc<[u32]> = (100..200).collect();
        let mut edges: HashMap<u32, Vec<Rc<[u32]>>> =
            (0..100).map(|one| (one, vec![Rc::clone(&shared)])).collect();
        assert_eq!(shortest(0..100, &edges), None);
        edges.insert(150, vec![[7].into()]);
        assert_eq!(shortest(0..100, &edges), Some(vec![7, 150]));
        assert_eq!(shortest([150], &edges), Some(vec![150, 7]));
    }
}
