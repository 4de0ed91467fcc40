//! Why a call on the epochs of a window does not end.

use super::late::{self, Late, Mixed};
use super::wording::ranks;

/// Why a call on the epochs of a window does not end.
pub(super) struct WaitReason {
    /// `for rank 1 to expose memory of window `w` to it (post)`.
    pub(super) text: String,
    /// The ranks that it waits for.
    pub(super) waits_for: Vec<u16>,
    /// Those of them that have no statement left that ends the wait.
    pub(super) never: Vec<u16>,
    /// The late ones among them.
    pub(super) late: Vec<Late>,
    /// The window.
    pub(super) window: u16,
    /// The ranks whose lock it waits for.
    pub(super) hosts: Vec<u16>,
    /// Ranks that hold one of these locks, beside those that it waits for.
    pub(super) holders: Vec<u16>,
    /// It waits for a lock behind an exclusive request, and the lock is held as shared.
    pub(super) is_queued: bool,
    /// A grant went to an epoch of another kind.
    pub(super) mixed: Option<Mixed>,
}

impl WaitReason {
    pub(super) fn new(window: u16) -> Self {
        let (text, [waits_for, never, hosts, holders]) = (String::new(), [const { Vec::new() }; 4]);
        Self {
            text,
            waits_for,
            never,
            late: Vec::new(),
            window,
            hosts,
            holders,
            is_queued: false,
            mixed: None,
        }
    }

    /// One more thing that it waits for.
    pub(super) fn add(&mut self, text: &str, waits_for: impl IntoIterator<Item = u16>, late: Vec<Late>) {
        let and = if self.text.is_empty() { "" } else { ", and " };
        self.text.push_str(&format!("{and}{text}{}", late::in_brackets(&late)));
        self.waits_for.extend(waits_for);
        for Late { pattern, by, is_never } in late {
            late::add(&mut self.late, by.into_iter().map(|by| (pattern, by, is_never)));
        }
    }
}

/// `, which ranks 0 and 1 hold, and rank 1 never unlocks`: the holders of a lock, and those that keep it.
pub(super) fn held(never: &[u16], holders: &[u16]) -> String {
    let verb =
        |ranks: &[u16], one: &'static str, more: &'static str| if ranks.len() == 1 { one } else { more };
    let kept = verb(never, "never unlocks it", "never unlock it");
    match (holders, never) {
        ([], _) => String::new(),
        (some, []) => format!(", which {} {}", ranks(some), verb(some, "holds", "hold")),
        (some, never) if some == never => {
            format!(", which {} {} and {kept}", ranks(some), verb(some, "holds", "hold"))
        }
        (some, never) => {
            format!(", which {} {}, and {} {kept}", ranks(some), verb(some, "holds", "hold"), ranks(never))
        }
    }
}
