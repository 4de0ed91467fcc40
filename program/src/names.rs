//! Numbers of requests, and the requests that names stand for. Both follow from the text of a program alone.
//!
//! Programs have no branches, so the text says which request each name stands for at each statement, and which
//! requests are open. Only the success of a `test` is not known from the text. So a request stays open until a
//! statement waits for it: waiting for one that a test has released changes nothing.

use carrousel_scenario::{Op, RequestId};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// The number of requests that a process has started before this one.
pub type Ordinal = u32;

/// The requests and messages that names stand for, at a statement.
#[derive(Default)]
pub(crate) struct Names {
    /// By name: its request.
    bound: Vec<Option<Ordinal>>,
    /// Requests that were started and not waited for.
    open: BTreeSet<Ordinal>,
    /// The open requests that have a name.
    named: BTreeMap<Ordinal, RequestId>,
    /// The names of each list that some statement waits for: a statement of a `repeat` waits for the same list each
    /// time.
    lists: HashMap<*const RequestId, HashSet<RequestId>>,
    /// By request: the name that stands for its message once the request has ended.
    pub(crate) of_messages: Vec<Option<RequestId>>,
}

impl Names {
    pub(crate) fn new(names: usize) -> Self {
        Self { bound: vec![None; names], ..Self::default() }
    }

    /// The number of requests that were started.
    pub(crate) fn started(&self) -> Ordinal {
        self.of_messages.len() as Ordinal
    }

    /// A request begins that its own statement waits for. Afterwards, its name stands for its message, and not for a
    /// request.
    pub(crate) fn start_blocking(&mut self, name: Option<RequestId>, receives: bool) {
        self.unbind(name);
        self.of_messages.push(name.filter(|_| receives));
    }

    /// A request begins that goes on after its statement has returned.
    pub(crate) fn start(&mut self, name: Option<RequestId>, receives: bool) {
        let request = self.started();
        self.start_blocking(name, receives);
        self.open.insert(request);
        if let Some(name) = name {
            self.bound[name.0 as usize] = Some(request);
            self.named.insert(request, name);
        }
    }

    /// A name stands for no request any more. If its last request was not waited for, no statement can use that
    /// request's message.
    pub(crate) fn unbind(&mut self, name: Option<RequestId>) {
        let Some(name) = name else { return };
        if let Some(lost) = self.bound[name.0 as usize].take()
            && self.named.remove(&lost).is_some()
        {
            self.of_messages[lost as usize] = None;
        }
    }

    /// The requests that a statement waits for, or tests, in ascending order.
    pub(crate) fn awaited(&mut self, op: &Op) -> Vec<Ordinal> {
        match op {
            Op::Wait(list) => {
                let awaited = self.open_of(list);
                for request in &awaited {
                    self.open.remove(request);
                    self.named.remove(request);
                }
                awaited
            }
            Op::WaitAll => {
                self.named.clear();
                std::mem::take(&mut self.open).into_iter().collect()
            }
            Op::Test(name) => self.bound[name.0 as usize].into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The open requests of a list of names. If the list is longer than that of the open requests, it is not searched
    /// in each round of a `repeat`.
    fn open_of(&mut self, list: &Arc<[RequestId]>) -> Vec<Ordinal> {
        let Self { bound, named, lists, .. } = self;
        let list = lists.entry(list.as_ptr()).or_insert_with(|| list.iter().copied().collect());
        if named.len() < list.len() {
            return named.iter().filter(|(_, name)| list.contains(name)).map(|(open, _)| *open).collect();
        }
        let mut open: Vec<Ordinal> = list.iter().filter_map(|name| bound[name.0 as usize]).collect();
        open.retain(|request| named.contains_key(request));
        open.sort_unstable();
        open
    }
}
