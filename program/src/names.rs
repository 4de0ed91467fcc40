//! Requests by number, and what names stand for: by the text of a program alone.
//!
//! Programs have no branches, so the text says which request each name stands for at each statement, and which requests
//! are open. What it does not say is whether a `test` succeeds. So a request stays open until a statement waits for it:
//! waiting for one that a test has released changes nothing.

use carrousel_scenario::{Op, RequestId};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// How many requests a process has started before this one.
pub type Ordinal = u32;

/// What names stand for at a statement.
#[derive(Default)]
pub(crate) struct Names {
    /// By name: the request that it stands for.
    bound: Vec<Option<Ordinal>>,
    /// Requests that were started and not waited for.
    open: BTreeSet<Ordinal>,
    /// Those of them that have a name.
    named: BTreeMap<Ordinal, RequestId>,
    /// The names of each list that some statement waits for: one of a `repeat` waits for the same list each time.
    lists: HashMap<*const RequestId, HashSet<RequestId>>,
    /// By request: the name that stands for its message once it is over.
    pub(crate) of_messages: Vec<Option<RequestId>>,
}

impl Names {
    pub(crate) fn new(names: usize) -> Self {
        Self { bound: vec![None; names], ..Self::default() }
    }

    /// How many requests were started.
    pub(crate) fn started(&self) -> Ordinal {
        self.of_messages.len() as Ordinal
    }

    /// A request begins that its own statement waits for. Afterwards, its name stands for its message, and for no
    /// request.
    pub(crate) fn start_blocking(&mut self, name: Option<RequestId>, receives: bool) {
        self.unbind(name);
        self.of_messages.push(name.filter(|_| receives));
    }

    /// A request begins that goes on when its statement has returned.
    pub(crate) fn start(&mut self, name: Option<RequestId>, receives: bool) {
        let request = self.started();
        self.start_blocking(name, receives);
        self.open.insert(request);
        if let Some(name) = name {
            self.bound[name.0 as usize] = Some(request);
            self.named.insert(request, name);
        }
    }

    /// A name stands for no request any more. If the one that it stood for was not waited for, no statement can ask for
    /// its message.
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

    /// The open ones of a list of names. A list that is longer than the list of open requests is not gone through in
    /// each round of a `repeat`.
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
