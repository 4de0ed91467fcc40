//! A clock that can be stopped. What an endpoint does once a period is not of a message: on a machine with much else to do,
//! where 1,000 reads take several periods, it would be counted with them.

use std::sync::OnceLock;

/// Where the clock stands, once it does.
static STOPPED: OnceLock<libc::timespec> = OnceLock::new();

/// Stops the clock of intervals, by which endpoints know when a period has passed.
pub(crate) fn stop() {
    STOPPED.get_or_init(|| {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        clock_gettime(libc::CLOCK_MONOTONIC, &mut now);
        now
    });
}

/// Takes the place of the C library's function of this name in the program: the standard library calls this one.
// SAFETY: it has the C library's signature, and does what that does but for the time.
#[unsafe(no_mangle)]
extern "C" fn clock_gettime(clock: libc::clockid_t, time: &mut libc::timespec) -> libc::c_int {
    match STOPPED.get() {
        Some(stopped) if clock == libc::CLOCK_MONOTONIC => {
            *time = *stopped;
            0
        }
        // SAFETY: the kernel's call of this name has the same arguments.
        _ => unsafe {
            libc::syscall(libc::SYS_clock_gettime, clock, std::ptr::from_mut(time)) as libc::c_int
        },
    }
}
