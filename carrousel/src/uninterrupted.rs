//! Calls that no unwinding may leave.

/// Aborts the process if it is dropped by a panic within the library, while a request has a buffer of the caller's stack:
/// the unwinding would free the buffer, and a message would be written to memory of somebody else.
struct Abort;

impl Drop for Abort {
    fn drop(&mut self) {
        eprintln!("carrousel: a panic while a message is on its way: its buffer cannot be kept");
        std::process::abort();
    }
}

/// Calls the library, which has a buffer of the caller until it returns.
#[inline]
pub(crate) fn uninterrupted<T>(call: impl FnOnce() -> T) -> T {
    let abort = Abort;
    let value = call();
    std::mem::forget(abort);
    value
}
