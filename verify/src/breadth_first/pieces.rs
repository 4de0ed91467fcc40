//! A list in pieces of memory, each of which is given back as soon as all its values are taken.

/// Values of a piece.
const PIECE: usize = 64;

/// Values by position.
pub(super) struct Pieces<T> {
    pieces: Vec<Piece<T>>,
    len: usize,
}

struct Piece<T> {
    values: Vec<Option<T>>,
    /// Values that have not been taken.
    left: usize,
}

impl<T> Default for Pieces<T> {
    fn default() -> Self {
        Self { pieces: Vec::new(), len: 0 }
    }
}

impl<T> Pieces<T> {
    /// All values that have been pushed, those taken since included.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, value: T) {
        if self.len.is_multiple_of(PIECE) {
            // A short list stays short.
            let values = if self.len == 0 { Vec::new() } else { Vec::with_capacity(PIECE) };
            self.pieces.push(Piece { values, left: 0 });
        }
        if let Some(piece) = self.pieces.last_mut() {
            piece.values.push(Some(value));
            piece.left += 1;
            self.len += 1;
        }
    }

    /// A value that has not been taken.
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.pieces.get_mut(at / PIECE)?.values.get_mut(at % PIECE)?.as_mut()
    }

    /// Takes a value out, once no more are pushed.
    pub(super) fn take(&mut self, at: usize) -> Option<T> {
        let piece = self.pieces.get_mut(at / PIECE)?;
        let value = piece.values.get_mut(at % PIECE)?.take()?;
        piece.left -= 1;
        if piece.left == 0 {
            piece.values = Vec::new();
        }
        Some(value)
    }

    /// The values that have not been taken, with their positions.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let values = self.pieces.iter().enumerate().flat_map(|(number, piece)| {
            piece.values.iter().enumerate().map(move |(at, value)| (number * PIECE + at, value))
        });
        values.filter_map(|(at, value)| Some((at, value.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_positions_until_they_are_taken() {
        let mut pieces = Pieces::default();
        (0..3 * PIECE + 1).for_each(|value| pieces.push(value));
        assert_eq!(pieces.len(), 3 * PIECE + 1);
        for value in (0..pieces.len()).rev().step_by(2) {
            assert_eq!((pieces.take(value), pieces.take(value)), (Some(value), None));
        }
        let left: Vec<(usize, usize)> = pieces.iter().map(|(at, value)| (at, *value)).collect();
        assert_eq!(left, (1..3 * PIECE).step_by(2).map(|at| (at, at)).collect::<Vec<_>>());
        let there = [1, 2, 9 * PIECE].map(|at| pieces.get_mut(at).is_some());
        assert_eq!(there, [true, false, false]);
    }

    #[test]
    fn a_piece_whose_values_are_taken_holds_no_memory() {
        let mut pieces = Pieces::default();
        (0..2 * PIECE).for_each(|value| pieces.push(value));
        (0..PIECE).for_each(|value| _ = pieces.take(value));
        let capacities: Vec<usize> = pieces.pieces.iter().map(|piece| piece.values.capacity()).collect();
        assert_eq!(capacities, [0, PIECE]);
    }
}
