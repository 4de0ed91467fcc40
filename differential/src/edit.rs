//! Changing programs so that they stay well-formed: names of requests are positions, which move with their statements.

use crate::program::{Program, Statement};

impl Program {
    /// Puts a statement before another one of a rank.
    pub(crate) fn insert(&mut self, rank: usize, at: usize, statement: Statement) {
        self.ranks[rank].insert(at, statement);
        self.renumber(rank, |old| Some(if usize::from(old) >= at { old + 1 } else { old }), at);
    }

    /// Takes a statement away. Nobody waits for its request any more.
    pub(crate) fn remove(&mut self, rank: usize, at: usize) -> Statement {
        let removed = self.ranks[rank].remove(at);
        let renumber = |old: u8| match usize::from(old).cmp(&at) {
            std::cmp::Ordering::Less => Some(old),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(old - 1),
        };
        self.renumber(rank, renumber, usize::MAX);
        removed
    }

    /// Changes the names of the requests that a rank waits for, except in a statement that is new.
    fn renumber(&mut self, rank: usize, renumber: impl Fn(u8) -> Option<u8>, except: usize) {
        for (at, statement) in self.ranks[rank].iter_mut().enumerate() {
            if let Statement::Wait(requests) = statement
                && at != except
            {
                *requests = requests.iter().filter_map(|old| renumber(*old)).collect();
            }
        }
    }

    /// Exchanges two neighbouring statements.
    pub(crate) fn exchange(&mut self, rank: usize, at: usize) {
        self.ranks[rank].swap(at, at + 1);
        let (one, other) = (at as u8, at as u8 + 1);
        let exchange = |old: u8| {
            Some(if old == one {
                other
            } else if old == other {
                one
            } else {
                old
            })
        };
        self.renumber(rank, exchange, usize::MAX);
    }

    /// Takes away each `wait` that names no earlier request: the language does not admit it.
    pub(crate) fn tidy(&mut self) {
        for rank in 0..self.ranks.len() {
            let starts: Vec<bool> = self.ranks[rank].iter().map(Statement::starts_request).collect();
            for (at, statement) in self.ranks[rank].iter_mut().enumerate() {
                if let Statement::Wait(requests) = statement {
                    requests.retain(|request| usize::from(*request) < at && starts[usize::from(*request)]);
                }
            }
            let empty =
                |statement: &Statement| matches!(statement, Statement::Wait(requests) if requests.is_empty());
            while let Some(at) = self.ranks[rank].iter().position(empty) {
                self.remove(rank, at);
            }
        }
    }
}
