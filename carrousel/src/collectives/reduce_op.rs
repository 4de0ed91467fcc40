//! Operations of reductions, on elements and on bytes.

use crate::Element;
use carrousel_engine::ReduceOp;

/// The operation on bytes that `combine` is on elements. Scratch is aligned for bytes only.
#[doc(hidden)]
pub fn on_bytes<T: Element>(combine: impl Fn(T, T) -> T + Send + Sync + 'static) -> ReduceOp {
    ReduceOp::new(move |into: &mut [u8], from: &[u8]| {
        let size = size_of::<T>().max(1);
        for (into, from) in into.chunks_exact_mut(size).zip(from.chunks_exact(size)) {
            // Both have the size of an element, so both are one.
            if let (Ok(left), Ok(right)) = (T::read_from_bytes(into), T::read_from_bytes(from)) {
                into.copy_from_slice(combine(left, right).as_bytes());
            }
        }
    })
}
