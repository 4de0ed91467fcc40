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

/// Largest file, in bytes.
pub const FILE_BYTES_MAX: usize = 64 << 20;
/// Most lines that say something (not blank, not only a comment).
pub const LINES_MAX: usize = 1 << 20;
/// Most operands of one expression.
pub const OPERANDS_MAX: usize = 1_024;
/// Most windows.
pub const WINDOWS_MAX: usize = 65_536;
/// Most items of one group, names behind one `wait`, or groups behind `nodes`.
pub const ITEMS_MAX: usize = 65_536;
/// Most work on expressions over all ranks, counted in operands; an item of a group counts for
/// [`ITEM_WORK`]. Rounds of a `repeat` are free: they are evaluated once.
pub const WORK_MAX: u64 = 32_000_000;
/// What one item of a group, or one name behind `wait`, adds to the work beside its operands.
pub const ITEM_WORK: u64 = 4;
/// Most faults that are reported of one file.
pub const FAULTS_MAX: usize = 20;
