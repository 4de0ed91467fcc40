//! Names: one allocation for all uses of one.

use std::collections::HashSet;
use std::sync::Arc;

use super::cursor::{Cursor, Kind, LocatedProblem};
use crate::ast::Name;
use crate::limits::NAME_BYTES_MAX;
use crate::problem::Problem;

#[derive(Debug, Default)]
pub(crate) struct Names {
    seen: HashSet<Arc<str>>,
}

impl Names {
    /// Takes the name that stands next; `expected` is what it would name.
    pub(crate) fn name(&mut self, cursor: &mut Cursor<'_>, expected: &str) -> Result<Name, LocatedProblem> {
        let token = cursor.peek();
        let Kind::Word(word) = token.kind else {
            return Err(token.unexpected(expected, hint(token.kind)));
        };
        if word.len() > NAME_BYTES_MAX {
            return Err((token.at, Problem::LongName { bytes: word.len() }));
        }
        cursor.next();
        if let Some(text) = self.seen.get(word) {
            return Ok(Name { text: Arc::clone(text), at: token.at });
        }
        // The text, and its place in a table that may just have doubled.
        const TABLE_FACTOR: usize = 3;
        cursor.take_list::<u8>(size_of::<Name>() + word.len())?;
        cursor.take_list::<Arc<str>>(TABLE_FACTOR)?;
        let text: Arc<str> = word.into();
        self.seen.insert(Arc::clone(&text));
        Ok(Name { text, at: token.at })
    }
}

fn hint(kind: Kind<'_>) -> Option<String> {
    match kind {
        Kind::Mark(mark) if mark.is_alphabetic() || mark == '"' => {
            Some("names are ASCII letters, digits and `_`".to_owned())
        }
        _ => None,
    }
}
