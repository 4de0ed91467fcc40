//! Joining a job, leaving it, and jobs whose ranks are threads.

mod leaving;
mod session;
mod threads;

pub use self::session::{Job, init, init_with};
pub use self::threads::threads;
#[doc(hidden)]
pub use self::threads::{in_one_thread, in_one_thread_apart, in_one_thread_over};
