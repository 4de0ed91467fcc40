//! The bounds of an exploration.

/// The size of a page, in bytes: that of a size class, so that a message of each number of pages has its own.
pub(super) const PAGE: u64 = 1 << 10;

/// The way in which a message is to be transferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransferKind {
    /// A small one, which may be copied.
    Small,
    /// A rendezvous.
    Large,
}

/// The bounds of an exploration, within which it is exhaustive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBounds {
    /// Pages of the application.
    pub pages: u8,
    /// Pages of its longest message. Every range of up to so many pages is a buffer.
    pub longest: u8,
    /// How messages travel.
    pub kinds: &'static [TransferKind],
    /// Send calls at a time.
    pub threads: u8,
    /// Messages.
    pub sends: u8,
    /// Pages that are unmapped; each can be mapped again.
    pub unmaps: u8,
    /// Pages that get another frame.
    pub moves: u8,
    /// Pages that are written to.
    pub writes: u8,
    /// Registrations at a time.
    pub entries: u32,
    /// Pages that are registered at a time.
    pub registered_pages: u64,
    /// The use at which a small buffer is registered, from 1.
    pub uses: u32,
    /// The table of uses has one chain, and so stops growing early.
    pub one_chain: bool,
    /// Registrations can fail.
    pub fails: bool,
}

impl MemoryBounds {
    /// Two pages, one message at a time, each buffer registered at its first use.
    pub const SMALL: Self = Self {
        pages: 2,
        longest: 2,
        kinds: &[TransferKind::Small],
        threads: 1,
        sends: 3,
        unmaps: 1,
        moves: 0,
        writes: 1,
        entries: 2,
        registered_pages: 4,
        uses: 1,
        one_chain: false,
        fails: false,
    };

    /// As in a table.
    pub fn name(&self) -> String {
        let Self { pages, sends, unmaps, moves, writes, entries, .. } = self;
        let kinds = match self.kinds {
            [TransferKind::Small] => "small",
            [TransferKind::Large] => "large",
            _ => "small and large",
        };
        let mut name = format!(
            "{sends} sends, {kinds}, {pages} pages, {unmaps} unmapped, {moves} moved, {writes} written, \
             {entries} registrations"
        );
        if self.uses > 1 {
            name += &format!(", at use {}", self.uses);
        }
        if self.threads > 1 {
            name += &format!(", {} threads", self.threads);
        }
        if self.one_chain {
            name += ", one chain";
        }
        if self.fails {
            name += ", failures";
        }
        name
    }
}
