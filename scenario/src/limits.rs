//! The limits of the language, and those of this implementation.
//!
//! Each has a message of its own. Those of the second group bound memory and time against hostile
//! files; no file that a person or a generator means to run comes near them.

/// Most ranks of a scenario.
pub const RANKS_MAX: u32 = 65_536;
/// Most statements over all ranks, after `repeat` is unrolled.
pub const STATEMENTS_MAX: u64 = 1_000_000;
/// Deepest nesting of `repeat`, and, apart from it, of parentheses and unary minus.
pub const NESTING_MAX: usize = 64;
/// Longest name, in bytes.
pub const NAME_BYTES_MAX: usize = 255;
/// Largest tag, 2^31-1.
pub const TAG_MAX: i64 = (1 << 31) - 1;

/// Largest file, in bytes, as it is written and in canonical layout. [`read`](crate::read) reads no
/// further. 4 MiB are some 170,000 statements written out one by one.
pub const FILE_BYTES_MAX: usize = 4 << 20;
/// Most memory that the tree of a file takes, in bytes; the text counts twice, because the caller has
/// a copy. That is for files that say much in few bytes, like `[0 0 0 ...`.
pub const TREE_MEMORY_MAX: u64 = 64_000_000;
/// Most memory that checking a file takes, in bytes: its tree, and tables of the names of one rank. What
/// a file without fault comes to, with `repeat` unrolled, is bounded by [`STATEMENTS_MAX`].
pub const MEMORY_MAX: u64 = 88_000_000;
/// Most operands of one expression.
pub const OPERANDS_MAX: usize = 1_024;
/// Most windows.
pub const WINDOWS_MAX: usize = 65_536;
/// Most items of one group, names behind one `wait`, or groups behind `nodes`.
pub const ITEMS_MAX: usize = 65_536;
/// Most work on expressions over all ranks, counted in operands, minus signs and parentheses; an item
/// of a group counts for [`ITEM_WORK`]. Rounds of a `repeat` are free: they are evaluated once.
pub const WORK_MAX: u64 = 16_000_000;
/// What one item of a group, or one name behind `wait`, adds to the work beside its operands, or its
/// length in pieces of [`NAME_PIECE_BYTES`].
pub const ITEM_WORK: u64 = 2;
/// A long name is more work to look up.
pub const NAME_PIECE_BYTES: usize = 16;
/// Most faults that are reported of one file.
pub const FAULTS_MAX: usize = 20;
