//! Peers that are not known ahead: each takes a free ring, and says in its first frame who it is.

use super::frames::INTRODUCTION;
use crate::{Consumer, Ring};
use carrousel_transport::{Name, RankId};
use std::fmt;

/// The first ring of a peer, its memory, and its place in this process's segment.
pub(super) type FirstRing = (Consumer<Ring>, Ring, usize);

/// The rings of peers that have not said who they are, and who is known by which text.
pub(super) struct Introductions {
    name: Name,
    awaited: Vec<FirstRing>,
}

impl Introductions {
    pub(super) fn new(name: Name) -> Self {
        Self { name, awaited: Vec::new() }
    }

    /// The ring of a peer that will introduce itself.
    pub(super) fn await_one(&mut self, ring: FirstRing) {
        self.awaited.push(ring);
    }

    /// Whether a peer has taken a ring, and has not said who it is.
    pub(super) fn are_awaited(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// The rings whose peers have introduced themselves since, and are known. A peer is seen as soon as it has taken its
    /// ring, which is before it has said anything: that one is looked at again. One that says something else is forgotten.
    pub(super) fn made(&mut self) -> Vec<(FirstRing, RankId)> {
        let mut made = Vec::new();
        for (mut ring, memory, place) in std::mem::take(&mut self.awaited) {
            let said = ring.take(|frame| {
                let mut text = vec![0; frame.len()];
                frame.copy_to(0, &mut text);
                (frame.tag() == INTRODUCTION).then_some(text)
            });
            match said {
                Ok(None) => self.awaited.push((ring, memory, place)),
                Ok(Some(text)) => {
                    let rank = text.and_then(|text| (self.name)(&text));
                    made.extend(rank.map(|rank| ((ring, memory, place), rank)));
                }
                Err(_) => {}
            }
        }
        made
    }
}

impl fmt::Debug for Introductions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Introductions").field("awaited", &self.awaited.len()).finish_non_exhaustive()
    }
}
