//! What an atomic operation does to the elements of its target.

use std::fmt;

/// How operand and target are combined (MPI-4.1 12.3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are those of MPI")]
pub enum Combine {
    #[default]
    Sum,
    Product,
    Min,
    Max,
    And,
    Or,
    Xor,
    Replace,
    NoOp,
}

impl Combine {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Sum,
        Self::Product,
        Self::Min,
        Self::Max,
        Self::And,
        Self::Or,
        Self::Xor,
        Self::Replace,
        Self::NoOp,
    ];

    /// The word for it in a file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Product => "product",
            Self::Min => "min",
            Self::Max => "max",
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
            Self::Replace => "replace",
            Self::NoOp => "no_op",
        }
    }
}

impl fmt::Display for Combine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
