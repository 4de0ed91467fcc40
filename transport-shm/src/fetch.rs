//! Prefetching a cache line before it is needed.

use crate::sync::AtomicU64;

/// Prefetches the line of `word` for writing. Changes nothing but how long a store takes.
#[inline(always)]
#[cfg_attr(
    not(all(target_arch = "x86_64", not(miri), not(loom))),
    expect(unused_variables, reason = "no such hint")
)]
pub(crate) fn to_write(word: &AtomicU64) {
    #[cfg(all(target_arch = "x86_64", not(miri), not(loom)))]
    #[allow(unsafe_code, reason = "a hint to the processor is an intrinsic")]
    // SAFETY: a hint, which neither reads nor writes memory as far as a program can tell, and raises no fault.
    // All processors of 64 bits decode it (Intel SDM 2B, AMD APM 3: PREFETCHW); those that do not know it do
    // nothing. The compiler's own prefetch for writing becomes one for reading unless it is told of the processor.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) std::ptr::from_ref(word), options(nostack, preserves_flags, readonly));
    }
}
