//! Where ranks find each other: a directory that all nodes see, with a file for whatever a rank has to say.

use super::PATIENCE;
use std::env;
use std::fs;
use std::path::PathBuf;
use std::process;
use std::thread;
use std::time::{Duration, Instant};

/// The directory, when there are several nodes.
const PLACE: &str = "CARROUSEL_MEETING";

/// Which node this is, of how many, and where they meet.
#[derive(Clone, Debug)]
pub(super) struct Meeting {
    pub(super) node: u32,
    pub(super) nodes: u32,
    place: PathBuf,
}

fn number(name: &str) -> Option<u32> {
    env::var(name).ok()?.parse().ok()
}

impl Meeting {
    /// A meeting of its own for each name.
    pub(super) fn new(name: &str) -> Self {
        let (node, nodes, place) = match env::var_os(PLACE) {
            Some(place) => {
                let node = number("NODE_ID").expect("each node has a number");
                (node, number("NODE_COUNT").expect("there is a number of nodes"), PathBuf::from(place))
            }
            None => (0, 1, env::temp_dir().join(format!("carrousel-meeting-{}", process::id()))),
        };
        let place = place.join(name.replace([' ', '/'], "-"));
        fs::create_dir_all(&place).expect("it can be made");
        Self { node, nodes, place }
    }

    /// Whether a rank is one of this node.
    pub(super) fn is_here(&self, rank: u32) -> bool {
        rank % self.nodes == self.node
    }

    /// Says something, once.
    pub(super) fn say(&self, what: &str, rank: u32, text: &str) {
        let path = self.place.join(format!("{what}.{rank}"));
        let draft = self.place.join(format!(".{what}.{rank}"));
        fs::write(&draft, text).and_then(|()| fs::rename(&draft, &path)).expect("it can be written");
    }

    /// What a rank has said, if it has.
    pub(super) fn heard(&self, what: &str, rank: u32) -> Option<String> {
        fs::read_to_string(self.place.join(format!("{what}.{rank}"))).ok()
    }

    /// Waits until a rank has said it.
    pub(super) fn hear(&self, what: &str, rank: u32) -> String {
        let began = Instant::now();
        loop {
            if let Some(text) = self.heard(what, rank) {
                return text;
            }
            assert!(began.elapsed() < PATIENCE, "rank {rank} does not say `{what}`");
            thread::sleep(Duration::from_millis(5));
        }
    }
}
