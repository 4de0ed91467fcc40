//! Why a call on the epochs of a window does not end.

use super::late::{self, Late, Mixed};

/// Why a call on the epochs of a window does not end.
pub(super) struct WaitReason {
    /// `for rank 1 to expose memory of window `w` to it (post)`.
    pub(super) text: String,
    /// The ranks that it waits for.
    pub(super) waits_for: Vec<u16>,
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
        let (text, [waits_for, hosts, holders]) = (String::new(), [const { Vec::new() }; 3]);
        Self { text, waits_for, late: Vec::new(), window, hosts, holders, is_queued: false, mixed: None }
    }

    /// One more thing that it waits for.
    pub(super) fn add(&mut self, text: &str, waits_for: impl IntoIterator<Item = u16>, late: Vec<Late>) {
        let and = if self.text.is_empty() { "" } else { ", and " };
        self.text.push_str(&format!("{and}{text}{}", late::in_brackets(&late)));
        self.waits_for.extend(waits_for);
        for Late { pattern, by } in late {
            late::add(&mut self.late, by.into_iter().map(|by| (pattern, by)));
        }
    }
}
