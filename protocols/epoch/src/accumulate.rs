//! What atomic operations do to the bytes of their target.
//!
//! One element after the other, so that whoever carries an operation out (a processor of the target's node) needs no more
//! than the bytes, the type and the operation. Integers wrap, as MPI's do.

/// The type of the elements of an atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are those of the types")]
pub enum ElementType {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

/// The operation that combines operand and target (MPI-4.1 12.3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccumulateOp {
    /// Their sum.
    Sum,
    /// Their product.
    Product,
    /// The lesser one.
    Min,
    /// The greater one.
    Max,
    /// Bit by bit, of integers: both.
    And,
    /// Bit by bit, of integers: either.
    Or,
    /// Bit by bit, of integers: one of them only.
    Xor,
    /// The operand.
    Replace,
    /// The target: nothing changes.
    NoOp,
}

/// Why an atomic operation cannot be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum OperationError {
    /// `MPI_ERR_OP`: floating-point numbers have no bits.
    #[error("{op:?} combines bits, and {element:?} is no integer")]
    NoInteger {
        /// The operation.
        op: AccumulateOp,
        /// The type.
        element: ElementType,
    },
    /// `MPI_ERR_COUNT`: operand and target differ in length, or are no whole elements.
    #[error("an operand of {operand} bytes does not fit a target of {target} bytes of {element:?}")]
    Length {
        /// Bytes of the operand.
        operand: usize,
        /// Bytes of the target.
        target: usize,
        /// The type.
        element: ElementType,
    },
}

impl ElementType {
    /// All types.
    pub const ALL: [Self; 10] = [
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F32,
        Self::F64,
    ];

    /// Bytes of an element.
    pub const fn len(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// False: every element has bytes.
    pub const fn is_empty(self) -> bool {
        false
    }
}

impl AccumulateOp {
    /// All operations.
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

    /// Whether it is defined for elements of this type.
    ///
    /// # Errors
    /// If it is not.
    pub const fn check(self, element: ElementType) -> Result<(), OperationError> {
        match (self, element) {
            (Self::And | Self::Or | Self::Xor, ElementType::F32 | ElementType::F64) => {
                Err(OperationError::NoInteger { op: self, element })
            }
            _ => Ok(()),
        }
    }

    /// Combines `operand` into `target`, element by element, in the byte order of this machine.
    ///
    /// # Errors
    /// If that is not defined; nothing has changed then.
    pub fn apply(
        self,
        element: ElementType,
        target: &mut [u8],
        operand: &[u8],
    ) -> Result<(), OperationError> {
        self.check(element)?;
        if target.len() != operand.len() || !target.len().is_multiple_of(element.len()) {
            let (operand, target) = (operand.len(), target.len());
            return Err(OperationError::Length { operand, target, element });
        }
        match element {
            ElementType::I8 => {
                each(target, operand, i8::from_ne_bytes, i8::to_ne_bytes, |a, b| self.integer(a, b))
            }
            ElementType::I16 => {
                each(target, operand, i16::from_ne_bytes, i16::to_ne_bytes, |a, b| self.integer(a, b))
            }
            ElementType::I32 => {
                each(target, operand, i32::from_ne_bytes, i32::to_ne_bytes, |a, b| self.integer(a, b))
            }
            ElementType::I64 => {
                each(target, operand, i64::from_ne_bytes, i64::to_ne_bytes, |a, b| self.integer(a, b))
            }
            ElementType::U8 => {
                each(target, operand, u8::from_ne_bytes, u8::to_ne_bytes, |a, b| self.integer(a, b))
            }
            ElementType::U16 => {
                each(target, operand, u16::from_ne_bytes, u16::to_ne_bytes, |a, b| self.integer(a, b))
            }
            ElementType::U32 => {
                each(target, operand, u32::from_ne_bytes, u32::to_ne_bytes, |a, b| self.integer(a, b))
            }
            ElementType::U64 => {
                each(target, operand, u64::from_ne_bytes, u64::to_ne_bytes, |a, b| self.integer(a, b))
            }
            ElementType::F32 => {
                each(target, operand, f32::from_ne_bytes, f32::to_ne_bytes, |a, b| self.float(a, b))
            }
            ElementType::F64 => {
                each(target, operand, f64::from_ne_bytes, f64::to_ne_bytes, |a, b| self.float(a, b))
            }
        }
        Ok(())
    }

    fn integer<T: Integer>(self, target: T, operand: T) -> T {
        match self {
            Self::Sum => target.plus(operand),
            Self::Product => target.times(operand),
            Self::Min => target.min(operand),
            Self::Max => target.max(operand),
            Self::And => target & operand,
            Self::Or => target | operand,
            Self::Xor => target ^ operand,
            Self::Replace => operand,
            Self::NoOp => target,
        }
    }

    /// Operations on bits were refused.
    fn float<T: Float>(self, target: T, operand: T) -> T {
        match self {
            Self::Sum => target + operand,
            Self::Product => target * operand,
            Self::Min => target.least(operand),
            Self::Max => target.greatest(operand),
            Self::Replace => operand,
            Self::And | Self::Or | Self::Xor | Self::NoOp => target,
        }
    }
}

fn each<T, const N: usize>(
    target: &mut [u8],
    operand: &[u8],
    read: impl Fn([u8; N]) -> T,
    write: impl Fn(T) -> [u8; N],
    combine: impl Fn(T, T) -> T,
) {
    let (targets, _) = target.as_chunks_mut::<N>();
    let (operands, _) = operand.as_chunks::<N>();
    for (target, operand) in targets.iter_mut().zip(operands) {
        *target = write(combine(read(*target), read(*operand)));
    }
}

trait Integer:
    Copy
    + Ord
    + core::ops::BitAnd<Output = Self>
    + core::ops::BitOr<Output = Self>
    + core::ops::BitXor<Output = Self>
{
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

trait Float: Copy + core::ops::Add<Output = Self> + core::ops::Mul<Output = Self> {
    fn least(self, other: Self) -> Self;
    fn greatest(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl Integer for $integer {
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! floats {
    ($($float:ty)*) => {$(
        impl Float for $float {
            fn least(self, other: Self) -> Self {
                self.min(other)
            }
            fn greatest(self, other: Self) -> Self {
                self.max(other)
            }
        }
    )*};
}
floats!(f32 f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_combines_integers() {
        let results = AccumulateOp::ALL.map(|op| {
            let mut target = (12_i16).to_ne_bytes();
            op.apply(ElementType::I16, &mut target, &(-10_i16).to_ne_bytes())
                .map(|()| i16::from_ne_bytes(target))
        });
        let expected = [2, -120, -10, 12, 12 & -10, 12 | -10, 12 ^ -10, -10, 12];
        assert_eq!(results, expected.map(Ok));
    }

    #[test]
    fn floats_have_no_bits() {
        for op in AccumulateOp::ALL {
            let mut target = (1.5_f64).to_ne_bytes();
            let applied = op.apply(ElementType::F64, &mut target, &(4.0_f64).to_ne_bytes());
            let result = applied.map(|()| f64::from_ne_bytes(target));
            let expected = match op {
                AccumulateOp::Sum => 5.5,
                AccumulateOp::Product => 6.0,
                AccumulateOp::Max | AccumulateOp::Replace => 4.0,
                AccumulateOp::Min | AccumulateOp::NoOp => 1.5,
                AccumulateOp::And | AccumulateOp::Or | AccumulateOp::Xor => {
                    let error = OperationError::NoInteger { op, element: ElementType::F64 };
                    assert_eq!(result, Err(error));
                    assert_eq!(f64::from_ne_bytes(target), 1.5, "it has not changed");
                    continue;
                }
            };
            assert_eq!(result, Ok(expected), "{op:?}");
        }
    }

    #[test]
    fn elements_are_combined_one_by_one_and_wrap() {
        let mut target = [250, 1, 7];
        assert_eq!(AccumulateOp::Sum.apply(ElementType::U8, &mut target, &[10, 2, 0]), Ok(()));
        assert_eq!(target, [4, 3, 7]);
        for element in ElementType::ALL {
            let bytes = element.len();
            let (mut target, operand) = ([0; 16], [0; 16]);
            let of = |len: usize| OperationError::Length { operand: len, target: 2 * bytes, element };
            let sum = |target: &mut [u8], operand: &[u8]| AccumulateOp::Sum.apply(element, target, operand);
            assert_eq!(sum(&mut target[..2 * bytes], &operand[..2 * bytes]), Ok(()));
            assert_eq!(sum(&mut target[..2 * bytes], &operand[..bytes]), Err(of(bytes)));
            let half = OperationError::Length { operand: bytes - 1, target: bytes - 1, element };
            let expected = if bytes == 1 { Ok(()) } else { Err(half) };
            assert_eq!(sum(&mut target[..bytes - 1], &operand[..bytes - 1]), expected);
        }
    }
}
