//! Atomic operations on memory (fi_atomic(3)): carried out by its owner, one after the other.

use super::rma_packets::{Kind, PAYLOAD_BYTES};
use crate::bindings as b;
use crate::fi::Errno;

/// What an atomic returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicKind {
    /// Nothing.
    Base,
    /// What was there before.
    Fetch,
    /// The same; it changes the memory if a comparison says so.
    Compare,
}

impl AtomicKind {
    pub(super) fn packet(self) -> Kind {
        match self {
            Self::Base => Kind::Atomic,
            Self::Fetch => Kind::Fetch,
            Self::Compare => Kind::Compare,
        }
    }

    pub(super) fn of(kind: Kind) -> Option<Self> {
        [Self::Base, Self::Fetch, Self::Compare].into_iter().find(|atomic| atomic.packet() == kind)
    }

    /// Whether an operation changes nothing.
    pub(crate) fn only_reads(self, op: u8) -> bool {
        self == Self::Fetch && u32::from(op) == b::FI_ATOMIC_READ
    }
}

/// The bytes of an element; `None` for a type without atomics.
pub(crate) fn datatype_size(datatype: b::fi_datatype) -> Option<usize> {
    Some(match datatype {
        b::FI_INT8 | b::FI_UINT8 => 1,
        b::FI_INT16 | b::FI_UINT16 => 2,
        b::FI_INT32 | b::FI_UINT32 | b::FI_FLOAT => 4,
        b::FI_INT64 | b::FI_UINT64 | b::FI_DOUBLE => 8,
        _ => return None,
    })
}

/// The most elements of an operation, if there is one of this kind on this type.
pub(crate) fn atomic_count(kind: AtomicKind, datatype: b::fi_datatype, op: b::fi_op) -> Result<usize, Errno> {
    let size = datatype_size(datatype).ok_or(Errno::NOT_OPERATION)?;
    // Tried on one element of zeros: the table of what exists is the code that carries it out.
    let (mut memory, operands) = ([0; 8], [0; 16]);
    let operand_bytes = if kind == AtomicKind::Compare { 2 * size } else { size };
    let op = u8::try_from(op).map_err(|_| Errno::NOT_OPERATION)?;
    let operands = if kind.only_reads(op) { &[] } else { &operands[..operand_bytes] };
    apply(kind, datatype as u8, op, &mut memory[..size], operands).map_err(|_| Errno::NOT_OPERATION)?;
    Ok(PAYLOAD_BYTES / operand_bytes)
}

/// A number that atomics work on.
trait Number: Copy + PartialOrd + Default {
    const BYTES: usize;
    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    fn truth(truth: bool) -> Self;
    /// An operation on bits, if the type has them.
    fn bits(self, other: Self, op: fn(u64, u64) -> u64) -> Option<Self>;
    /// The bits of `other` that the mask has, and those of `self` that it has not.
    fn masked(self, other: Self, mask: Self) -> Option<Self>;
}

macro_rules! integer {
    ($($type:ty),*) => { $(impl Number for $type {
        const BYTES: usize = size_of::<Self>();
        fn read(bytes: &[u8]) -> Self {
            let mut own = [0; size_of::<Self>()];
            own.copy_from_slice(bytes);
            Self::from_ne_bytes(own)
        }
        fn write(self, bytes: &mut [u8]) {
            bytes.copy_from_slice(&self.to_ne_bytes());
        }
        fn add(self, other: Self) -> Self {
            self.wrapping_add(other)
        }
        fn subtract(self, other: Self) -> Self {
            self.wrapping_sub(other)
        }
        fn multiply(self, other: Self) -> Self {
            self.wrapping_mul(other)
        }
        fn truth(truth: bool) -> Self {
            Self::from(truth)
        }
        fn bits(self, other: Self, op: fn(u64, u64) -> u64) -> Option<Self> {
            Some(op(self as u64, other as u64) as Self)
        }
        fn masked(self, other: Self, mask: Self) -> Option<Self> {
            Some(other & mask | self & !mask)
        }
    })* };
}
integer!(i8, u8, i16, u16, i32, u32, i64, u64);

macro_rules! float {
    ($($type:ty),*) => { $(impl Number for $type {
        const BYTES: usize = size_of::<Self>();
        fn read(bytes: &[u8]) -> Self {
            let mut own = [0; size_of::<Self>()];
            own.copy_from_slice(bytes);
            Self::from_ne_bytes(own)
        }
        fn write(self, bytes: &mut [u8]) {
            bytes.copy_from_slice(&self.to_ne_bytes());
        }
        fn add(self, other: Self) -> Self {
            self + other
        }
        fn subtract(self, other: Self) -> Self {
            self - other
        }
        fn multiply(self, other: Self) -> Self {
            self * other
        }
        fn truth(truth: bool) -> Self {
            if truth { 1.0 } else { 0.0 }
        }
        fn bits(self, _: Self, _: fn(u64, u64) -> u64) -> Option<Self> {
            None
        }
        fn masked(self, _: Self, _: Self) -> Option<Self> {
            None
        }
    })* };
}
float!(f32, f64);

/// Applies an operation to each element of the memory. Returns what was there, of a kind that returns that.
///
/// # Errors
/// When there is no such operation, or the operands do not fit: then nothing has changed.
pub(super) fn apply(
    kind: AtomicKind,
    datatype: u8,
    op: u8,
    memory: &mut [u8],
    operands: &[u8],
) -> Result<Vec<u8>, Errno> {
    let (datatype, op) = (b::fi_datatype::from(datatype), b::fi_op::from(op));
    match datatype {
        b::FI_INT8 => apply_to::<i8>(kind, op, memory, operands),
        b::FI_UINT8 => apply_to::<u8>(kind, op, memory, operands),
        b::FI_INT16 => apply_to::<i16>(kind, op, memory, operands),
        b::FI_UINT16 => apply_to::<u16>(kind, op, memory, operands),
        b::FI_INT32 => apply_to::<i32>(kind, op, memory, operands),
        b::FI_UINT32 => apply_to::<u32>(kind, op, memory, operands),
        b::FI_INT64 => apply_to::<i64>(kind, op, memory, operands),
        b::FI_UINT64 => apply_to::<u64>(kind, op, memory, operands),
        b::FI_FLOAT => apply_to::<f32>(kind, op, memory, operands),
        b::FI_DOUBLE => apply_to::<f64>(kind, op, memory, operands),
        _ => Err(Errno::NOT_OPERATION),
    }
}

fn apply_to<T: Number>(
    kind: AtomicKind,
    op: b::fi_op,
    memory: &mut [u8],
    operands: &[u8],
) -> Result<Vec<u8>, Errno> {
    let before = if kind == AtomicKind::Base { Vec::new() } else { memory.to_vec() };
    let reads = kind == AtomicKind::Fetch && op == b::FI_ATOMIC_READ;
    let expected = match kind {
        _ if reads => 0,
        AtomicKind::Compare => 2 * memory.len(),
        AtomicKind::Base | AtomicKind::Fetch => memory.len(),
    };
    if operands.len() != expected {
        return Err(Errno::INVALID);
    }
    if reads {
        return Ok(before);
    }
    let (operands, compared) = operands.split_at(memory.len());
    let elements = memory.chunks_exact_mut(T::BYTES).zip(operands.chunks_exact(T::BYTES));
    // The first element says whether there is such an operation: then there is for all.
    for (at, (place, operand)) in elements.enumerate() {
        let (old, operand) = (T::read(place), T::read(operand));
        let new = if kind == AtomicKind::Compare {
            let compared = T::read(&compared[at * T::BYTES..][..T::BYTES]);
            compare(op, old, operand, compared)
        } else {
            combine(op, old, operand)
        };
        new.ok_or(Errno::NOT_OPERATION)?.write(place);
    }
    Ok(before)
}

fn combine<T: Number>(op: b::fi_op, old: T, operand: T) -> Option<T> {
    let zero = T::default();
    let (left, right) = (old != zero, operand != zero);
    Some(match op {
        b::FI_MIN => {
            if operand < old {
                operand
            } else {
                old
            }
        }
        b::FI_MAX => {
            if operand > old {
                operand
            } else {
                old
            }
        }
        b::FI_SUM => old.add(operand),
        b::FI_DIFF => old.subtract(operand),
        b::FI_PROD => old.multiply(operand),
        b::FI_LOR => T::truth(left || right),
        b::FI_LAND => T::truth(left && right),
        b::FI_LXOR => T::truth(left != right),
        b::FI_BOR => return old.bits(operand, |a, b| a | b),
        b::FI_BAND => return old.bits(operand, |a, b| a & b),
        b::FI_BXOR => return old.bits(operand, |a, b| a ^ b),
        b::FI_ATOMIC_WRITE => operand,
        _ => return None,
    })
}

/// fi_atomic(3): the operand is written if the compared value, on the left, has the relation to what is there.
fn compare<T: Number>(op: b::fi_op, old: T, operand: T, compared: T) -> Option<T> {
    let swaps = match op {
        b::FI_CSWAP => compared == old,
        b::FI_CSWAP_NE => compared != old,
        b::FI_CSWAP_LE => compared <= old,
        b::FI_CSWAP_LT => compared < old,
        b::FI_CSWAP_GE => compared >= old,
        b::FI_CSWAP_GT => compared > old,
        b::FI_MSWAP => return old.masked(operand, compared),
        _ => return None,
    };
    Some(if swaps { operand } else { old })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an operation makes of a number, and what it returns.
    fn one<T: Number + std::fmt::Debug>(
        kind: AtomicKind,
        datatype: b::fi_datatype,
        op: b::fi_op,
        (old, operand, compared): (T, T, Option<T>),
    ) -> Result<(T, Vec<u8>), Errno> {
        let (mut memory, mut operands) = (vec![0; T::BYTES], vec![0; T::BYTES]);
        old.write(&mut memory);
        operand.write(&mut operands);
        if let Some(compared) = compared {
            let mut bytes = vec![0; T::BYTES];
            compared.write(&mut bytes);
            operands.extend(bytes);
        }
        let before = apply(kind, datatype as u8, op as u8, &mut memory, &operands)?;
        Ok((T::read(&memory), before))
    }

    #[test]
    fn every_operation_makes_what_the_page_says() {
        for (op, expected) in [
            (b::FI_MIN, -6),
            (b::FI_MAX, 5),
            (b::FI_SUM, -1),
            (b::FI_DIFF, -11),
            (b::FI_PROD, -30),
            (b::FI_LOR, 1),
            (b::FI_LAND, 1),
            (b::FI_LXOR, 0),
            (b::FI_BOR, -6 | 5),
            (b::FI_BAND, -6 & 5),
            (b::FI_BXOR, -6 ^ 5),
            (b::FI_ATOMIC_WRITE, 5),
        ] {
            let made = one(AtomicKind::Base, b::FI_INT16, op, (-6i16, 5, None));
            assert_eq!(made, Ok((expected, Vec::new())), "{op}");
            let made = one(AtomicKind::Fetch, b::FI_INT16, op, (-6i16, 5, None));
            assert_eq!(made, Ok((expected, (-6i16).to_ne_bytes().to_vec())), "{op}");
        }
        let wraps = one(AtomicKind::Base, b::FI_UINT8, b::FI_SUM, (255u8, 2, None));
        assert_eq!(wraps, Ok((1, Vec::new())));
        let sum = one(AtomicKind::Base, b::FI_DOUBLE, b::FI_SUM, (0.5f64, 0.25, None));
        assert_eq!(sum, Ok((0.75, Vec::new())));
    }

    #[test]
    fn a_comparison_has_the_compared_value_on_the_left() {
        // Whether 9 is written over 5, if that is compared with 4, 5 and 6.
        for (op, swaps) in [
            (b::FI_CSWAP, [false, true, false]),
            (b::FI_CSWAP_NE, [true, false, true]),
            (b::FI_CSWAP_LE, [true, true, false]),
            (b::FI_CSWAP_LT, [true, false, false]),
            (b::FI_CSWAP_GE, [false, true, true]),
            (b::FI_CSWAP_GT, [false, false, true]),
        ] {
            for (compared, swaps) in [4u32, 5, 6].into_iter().zip(swaps) {
                let made = one(AtomicKind::Compare, b::FI_UINT32, op, (5, 9, Some(compared)));
                let expected = if swaps { 9 } else { 5 };
                assert_eq!(made, Ok((expected, 5u32.to_ne_bytes().to_vec())), "{op}, {compared}");
            }
        }
        let masked = one(AtomicKind::Compare, b::FI_UINT8, b::FI_MSWAP, (0b1100u8, 0b1010, Some(0b0110)));
        assert_eq!(masked, Ok((0b1010, vec![0b1100])));
    }

    #[test]
    fn operands_that_do_not_fit_change_nothing() {
        let mut memory = [7; 8];
        for (kind, op, operands) in [
            (AtomicKind::Base, b::FI_SUM, 7),
            (AtomicKind::Base, b::FI_SUM, 16),
            (AtomicKind::Compare, b::FI_CSWAP, 8),
            (AtomicKind::Fetch, b::FI_ATOMIC_READ, 8),
            (AtomicKind::Base, b::FI_CSWAP, 8),
            (AtomicKind::Compare, b::FI_SUM, 16),
        ] {
            let made = apply(kind, b::FI_INT64 as u8, op as u8, &mut memory, &vec![1; operands]);
            assert!(made.is_err() && memory == [7; 8], "{kind:?} {op}");
        }
    }
}
