//! The limits of the language, and those of this implementation.
//!
//! Each has an error message of its own. Those of the second group bound memory and time against hostile files; a
//! file that somebody means to run does not come near them.

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
/// Largest color of a split, 2^31-1.
pub const COLOR_MAX: i64 = (1 << 31) - 1;

/// Largest file, in bytes, both as it is written and in canonical layout. [`read`](crate::read) reads no further. 4
/// MiB are about 170,000 statements without `repeat`.
pub const FILE_BYTES_MAX: usize = 4 << 20;
/// Most memory that the tree of a file takes, in bytes. The text counts twice, because the caller has a copy. The
/// limit is for files whose tree is much larger than their text, like `[0 0 0 ...`.
pub const TREE_MEMORY_MAX: u64 = 64_000_000;
/// Most memory that checking a file takes, in bytes: its tree, and tables of the names of one rank. The programs of a
/// right file, with `repeat` unrolled, are bounded by [`STATEMENTS_MAX`].
pub const MEMORY_MAX: u64 = 88_000_000;
/// Most operands of one expression.
pub const OPERANDS_MAX: usize = 1_024;
/// Most blocks of one access with a stride.
pub const BLOCKS_MAX: u32 = 65_536;
/// Most windows.
pub const WINDOWS_MAX: usize = 65_536;
/// Most items of one group, names behind one `wait`, or groups behind `nodes`.
pub const ITEMS_MAX: usize = 65_536;
/// Most work on expressions over all ranks, counted in operands, minus signs and parentheses; an item
/// of a group counts for [`ITEM_WORK`]. Rounds of a `repeat` are free: they are evaluated once.
pub const WORK_MAX: u64 = 16_000_000;
/// The work of one item of a group, or of one name behind `wait`, in addition to its operands, or its length in pieces of
/// [`NAME_PIECE_BYTES`].
pub const ITEM_WORK: u64 = 2;
/// Looking up a long name is more work: each piece of this many bytes counts.
pub const NAME_PIECE_BYTES: usize = 16;
/// Most faults that are reported of one file.
pub const FAULTS_MAX: usize = 20;
