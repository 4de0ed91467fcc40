//! What a call on a window answers, of a rank's and of one alone.

/// What a call on a window has left to wait for.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_called {
    /// Nothing.
    Done = 0,
    /// The request, which may be complete already.
    Request = 1,
    /// `carrousel_rank_is_flushed`, with the target of the call.
    Flush = 2,
}
