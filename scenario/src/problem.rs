//! Everything that can be wrong with a file, and the text of its message.
//!
//! A message reads "what is wrong, expected what". The help line behind it says what to do, where the message does
//! not. Words from the file are clipped before they get here.

use miette::Diagnostic;
use thiserror::Error;

use crate::limits::{
    BLOCKS_MAX, COLOR_MAX, FILE_BYTES_MAX, ITEMS_MAX, MEMORY_MAX, NAME_BYTES_MAX, NESTING_MAX, OPERANDS_MAX,
    RANKS_MAX, STATEMENTS_MAX, TAG_MAX, TREE_MEMORY_MAX, WINDOWS_MAX,
};

/// An error of a file.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum Problem {
    // The text.
    #[error("the file is not UTF-8: the byte {byte:#04x} cannot stand here")]
    #[diagnostic(code(scenario::not_utf8), help("save the file as UTF-8"))]
    NotUtf8 { byte: u8 },
    #[error("the file is too large, expected at most {max} bytes", max = FILE_BYTES_MAX)]
    #[diagnostic(code(scenario::file_too_large), help("write what recurs as `repeat N` ... `end`"))]
    FileTooLarge,
    #[error("the file has {bytes} bytes in canonical layout, expected at most {max}", max = FILE_BYTES_MAX)]
    #[diagnostic(
        code(scenario::layout_too_large),
        help("`carrousel fmt` indents what is in `repeat`; nest less, or write less")
    )]
    LayoutTooLarge { bytes: usize },
    #[error("up to here the file takes {max} MB of memory, expected less", max = TREE_MEMORY_MAX / 1_000_000)]
    #[diagnostic(code(scenario::too_much_text), help("write what recurs as `repeat N` ... `end`"))]
    TooMuchText,

    // Words and marks.
    #[error("found {found}, expected {expected}")]
    #[diagnostic(code(scenario::unexpected))]
    Unexpected {
        found: String,
        expected: String,
        #[help]
        help: Option<String>,
    },
    #[error("unknown statement `{word}`, expected a statement or a declaration")]
    #[diagnostic(code(scenario::unknown_statement))]
    UnknownStatement {
        word: String,
        #[help]
        help: Option<String>,
    },
    #[error("the title does not end, expected a `\"` on the same line")]
    #[diagnostic(code(scenario::open_title))]
    OpenTitle,
    #[error("unknown escape in a title, expected `\\\"` or `\\\\`")]
    #[diagnostic(code(scenario::unknown_escape))]
    UnknownEscape,
    #[error("a control character in a title, expected none but tabs")]
    #[diagnostic(code(scenario::control_in_title))]
    ControlInTitle,
    #[error("a name of {bytes} bytes, expected at most {max}", max = NAME_BYTES_MAX)]
    #[diagnostic(code(scenario::long_name))]
    LongName { bytes: usize },

    // Numbers.
    #[error("the integer {digits} is too large, expected at most 9223372036854775807")]
    #[diagnostic(code(scenario::integer_too_large))]
    IntegerTooLarge { digits: String },
    #[error("unknown unit `{unit}`, expected {expected}")]
    #[diagnostic(code(scenario::unknown_unit))]
    UnknownUnit {
        unit: String,
        expected: &'static str,
        #[help]
        help: Option<String>,
    },
    #[error("the unit `{unit}` cannot stand here, expected {expected}")]
    #[diagnostic(code(scenario::wrong_unit))]
    WrongUnit { unit: &'static str, expected: &'static str },
    #[error("a time without a unit, expected one of `ns`, `us`, `ms`, `s`")]
    #[diagnostic(code(scenario::time_without_unit), help("write `5us`, or `(me+1)*5us`"))]
    TimeWithoutUnit,
    #[error("times and plain numbers are mixed, expected a time like `5us` or `me*5us`")]
    #[diagnostic(code(scenario::mixed_units))]
    MixedUnits,
    #[error("nested more than {max} deep, expected fewer {what}", max = NESTING_MAX)]
    #[diagnostic(code(scenario::nesting))]
    Nesting { what: &'static str },
    #[error("an expression of more than {max} operands", max = OPERANDS_MAX)]
    #[diagnostic(code(scenario::too_many_operands))]
    TooManyOperands,
    #[error("a list of more than {max} items", max = ITEMS_MAX)]
    #[diagnostic(code(scenario::too_many_items))]
    TooManyItems,
    #[error("a blank inside of an item, expected none: blanks separate the items of a group")]
    #[diagnostic(code(scenario::blank_in_item), help("write `[me-1 me+1]`"))]
    BlankInItem,

    // The shape of the file.
    #[error("`{verb}` starts nothing that `{name}` could stand for, expected {expected}")]
    #[diagnostic(code(scenario::binds_nothing))]
    BindsNothing { verb: &'static str, name: String, expected: String },
    #[error("a request cannot be called `all`, expected another name")]
    #[diagnostic(code(scenario::request_named_all), help("`wait all` waits for every open request"))]
    RequestNamedAll,
    #[error("`{word}` is not a statement of a rank, expected no label before it")]
    #[diagnostic(code(scenario::label_without_statement))]
    LabelWithoutStatement { word: &'static str },
    #[error("`{word}` outside of a block, expected a `rank` line before it")]
    #[diagnostic(
        code(scenario::outside_block),
        help("`rank 0`, `rank 0..3` or `rank *` says whose statements follow")
    )]
    OutsideBlock { word: &'static str },
    #[error("`{word}` inside of the `repeat` of line {line}, expected its `end` first")]
    #[diagnostic(code(scenario::inside_repeat))]
    InsideRepeat { word: &'static str, line: u32 },
    #[error("`end` without a `repeat`, expected a statement")]
    #[diagnostic(code(scenario::end_without_repeat))]
    EndWithoutRepeat,
    #[error("this `repeat` has no `end`, expected one before the file ends")]
    #[diagnostic(code(scenario::open_repeat))]
    OpenRepeat,

    // Declarations.
    #[error("no `ranks` line, expected one, like `ranks 2`")]
    #[diagnostic(code(scenario::no_ranks))]
    NoRanks,
    #[error("{what} again, expected it once: line {line} has it already")]
    #[diagnostic(code(scenario::twice))]
    Twice { what: String, line: u32 },
    #[error("{value} ranks, expected 1 to {max}", max = RANKS_MAX)]
    #[diagnostic(code(scenario::rank_count))]
    RankCount { value: i64 },
    #[error("`me` has no value here, expected an expression that is the same on every rank")]
    #[diagnostic(
        code(scenario::me_outside_program),
        help("`me` is a rank's own number; it stands in statements")
    )]
    MeOutsideProgram,
    #[error("`size` has no value here, expected a number: it is what `ranks` defines")]
    #[diagnostic(code(scenario::size_in_ranks))]
    SizeInRanks,
    #[error("rank {rank} is named twice, expected every rank on one node")]
    #[diagnostic(code(scenario::rank_on_two_nodes))]
    RankOnTwoNodes { rank: u32 },
    #[error("the range {first}..{last} is empty, expected the smaller rank first")]
    #[diagnostic(code(scenario::empty_range))]
    EmptyRange { first: u32, last: u32 },
    #[error("more than {max} windows", max = WINDOWS_MAX)]
    #[diagnostic(code(scenario::too_many_windows))]
    TooManyWindows,
    #[error("unknown option `{name}`, expected {expected}")]
    #[diagnostic(code(scenario::unknown_option))]
    UnknownOption {
        name: String,
        expected: String,
        #[help]
        help: Option<String>,
    },
    #[error("`{value}` is no value of `{name}`, expected {expected}")]
    #[diagnostic(code(scenario::option_value))]
    OptionValue {
        name: String,
        value: String,
        expected: String,
        #[help]
        help: Option<String>,
    },
    #[error("unknown check `{name}`, expected one of the nine checks")]
    #[diagnostic(code(scenario::unknown_check))]
    UnknownCheck {
        name: String,
        #[help]
        help: Option<String>,
    },

    // Values.
    #[error("the expression overflows, expected a value of 64 bits, signed")]
    #[diagnostic(code(scenario::overflow))]
    Overflow,
    #[error("the expression divides by zero, expected another divisor")]
    #[diagnostic(code(scenario::zero_divisor))]
    ZeroDivisor,
    #[error("rank {value} does not exist, expected {expected}")]
    #[diagnostic(code(scenario::no_such_rank))]
    NoSuchRank {
        value: i64,
        expected: String,
        #[help]
        help: Option<String>,
    },
    #[error("rank {value} does not exist in `{name}`, expected {expected}")]
    #[diagnostic(
        code(scenario::no_such_rank_in),
        help("behind `on`, ranks are those of the communicator, from 0; `size(NAME)` is their number")
    )]
    NoSuchRankIn { value: i64, name: String, expected: String },
    #[error("the color {value} is out of range, expected at most {max}", max = COLOR_MAX)]
    #[diagnostic(code(scenario::color_range), help("a rank with a negative color gets no communicator"))]
    ColorRange { value: i64 },
    #[error("the key {value} is out of range, expected a value of 32 bits, signed")]
    #[diagnostic(code(scenario::key_range))]
    KeyRange { value: i64 },
    #[error("the tag {value} is out of range, expected 0 to {max}", max = TAG_MAX)]
    #[diagnostic(code(scenario::tag_range))]
    TagRange { value: i64 },
    #[error("{what} of {value}, expected 0 or more")]
    #[diagnostic(code(scenario::negative))]
    Negative { what: &'static str, value: i64 },

    // Programs.
    #[error(
        "unknown communicator `{name}`, expected one that a line before declares: `comm {name} = split color K`"
    )]
    #[diagnostic(code(scenario::unknown_communicator))]
    UnknownCommunicator {
        name: String,
        #[help]
        help: Option<String>,
    },
    #[error("rank {rank} is not in `{name}`, expected a member")]
    #[diagnostic(
        code(scenario::not_a_member),
        help("write statements on a communicator in blocks of its members")
    )]
    NotAMember { rank: u32, name: String },
    #[error("`{local}(...)` has no value here, expected an expression that is the same on every rank")]
    #[diagnostic(
        code(scenario::communicator_outside_program),
        help("it may stand in statements, behind `repeat`, and in `comm`")
    )]
    CommunicatorOutsideProgram { local: &'static str },
    #[error("unknown window `{name}`, expected {expected}")]
    #[diagnostic(code(scenario::unknown_window))]
    UnknownWindow {
        name: String,
        expected: String,
        #[help]
        help: Option<String>,
    },
    #[error("unknown request `{name}`, expected a name that an earlier statement of the rank binds")]
    #[diagnostic(code(scenario::unknown_request))]
    UnknownRequest {
        name: String,
        #[help]
        help: Option<String>,
    },
    #[error("`{name}` is neither a receive nor a probe, expected one: only these have a message")]
    #[diagnostic(code(scenario::no_message))]
    NoMessage { name: String },
    #[error("`{name}` may not be complete here{}, expected a `wait {name}` before", if *again { " in a later round" } else { "" })]
    #[diagnostic(
        code(scenario::not_complete),
        help("whose message a receive has got is known once it is complete; a `test` may fail")
    )]
    NotComplete { name: String, again: bool },
    #[error("`{field}(...)` is known only when the program runs, expected a number that is known before")]
    #[diagnostic(
        code(scenario::known_too_late),
        help("it may stand behind sends, receives, probes and `compute`")
    )]
    KnownTooLate { field: &'static str },
    #[error("the label `{name}` again, expected it once in a rank: line {line} has it already")]
    #[diagnostic(code(scenario::label_twice))]
    LabelTwice { name: String, line: u32 },
    #[error(
        "bytes {first} to {last} are outside of the window `{window}`, expected an end at {size} or \
         before"
    )]
    #[diagnostic(code(scenario::outside_window))]
    OutsideWindow { window: String, first: u64, last: u64, size: u64 },
    #[error("`count` and `stride` stand together, expected both or none")]
    #[diagnostic(
        code(scenario::half_a_stride),
        help("`size 8 count 4 stride 64` are 4 blocks of 8 bytes, which begin 64 bytes apart")
    )]
    HalfAStride,
    #[error("a stride of {stride} bytes, expected at least {size}: blocks must not overlap")]
    #[diagnostic(code(scenario::stride_below_size))]
    StrideBelowSize { stride: u64, size: u64 },
    #[error("{count} blocks, expected at most {max}", max = BLOCKS_MAX)]
    #[diagnostic(code(scenario::too_many_blocks))]
    TooManyBlocks { count: u64 },
    #[error("{what} of {value} bytes, expected a multiple of 8: atomics work on 8-byte elements")]
    #[diagnostic(code(scenario::unaligned))]
    Unaligned { what: &'static str, value: u64 },
    #[error(
        "{count} statements over all ranks with `repeat` unrolled, expected at most {max}",
        max = STATEMENTS_MAX
    )]
    #[diagnostic(code(scenario::too_many_statements))]
    TooManyStatements { count: Many },
    #[error("the expressions of this file are too long for its number of ranks")]
    #[diagnostic(
        code(scenario::too_much_work),
        help("shorten groups and expressions that use `me`, or declare fewer ranks")
    )]
    TooMuchWork,
    #[error(
        "up to here checking the file takes {max} MB of memory, expected less",
        max = MEMORY_MAX / 1_000_000
    )]
    #[diagnostic(code(scenario::too_much_memory), help("write fewer names"))]
    TooMuchMemory,
    #[error("the tree of this line is not one that the parser makes")]
    #[diagnostic(code(scenario::malformed_tree))]
    MalformedTree,
}

impl Problem {
    /// Whether the file exceeds a limit that all further lines would exceed, too.
    pub(crate) fn ends_reading(&self) -> bool {
        matches!(self, Problem::TooMuchText | Problem::TooMuchMemory | Problem::TooMuchWork)
    }
}

/// A count that may have saturated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Many(pub u64);

impl std::fmt::Display for Many {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            u64::MAX => f.write_str("more than 10^19"),
            count => write!(f, "{count}"),
        }
    }
}

/// `text`, shortened if it is too long for a person to read.
pub(crate) fn clip(text: &str) -> String {
    const CHARACTERS_MAX: usize = 40;
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut short: String = text.chars().take(CHARACTERS_MAX).map(clean).collect();
    if text.len() > short.len() && text.chars().nth(CHARACTERS_MAX).is_some() {
        short.push('…');
    }
    short
}

/// "did you mean ...?", when one of `candidates` is near to `word`.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // Longer words are names that a person would not have mistyped; comparing them costs time.
    const BYTES_MAX: usize = 64;
    const CANDIDATES_MAX: usize = 1_000;
    if word.len() > BYTES_MAX {
        return None;
    }
    let lower = word.to_ascii_lowercase();
    // A short word is near to everything.
    let allowed = match word.len() {
        0 | 1 => return None,
        len => len.div_ceil(3).min(3),
    };
    candidates
        .into_iter()
        .take(CANDIDATES_MAX)
        .filter(|candidate| candidate.len() <= BYTES_MAX)
        .map(|candidate| {
            let distance = strsim::osa_distance(&lower, &candidate.to_ascii_lowercase());
            (distance, candidate)
        })
        .filter(|&(distance, candidate)| distance <= allowed && candidate != word)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}
