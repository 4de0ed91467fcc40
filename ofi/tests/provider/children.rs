//! A host that forks: the child cannot use the provider, and its parent is unharmed.

use crate::host::{ANY, pair};

#[test]
fn a_child_that_calls_the_provider_ends_and_takes_nothing() {
    let (domain, one, two) = pair();
    let there = one.insert(&two.name());
    let mut got = [0; 8];
    assert_eq!((two.trecv(&mut got, ANY, (1, 0), 1), one.tsend(&[7; 8], there, 1, 2)), (0, 0));
    // SAFETY: the child takes no lock of another thread's but the allocator's, which the C library frees.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "there is room for a process");
    if child == 0 {
        // It would take what is on its way to its parent.
        two.wait(std::slice::from_ref(&one));
        one.tsend(&[8; 8], there, 1, 3);
        // SAFETY: nothing of the tests' harness is run or flushed.
        unsafe { libc::_exit(99) }
    }
    let mut status = 0;
    // SAFETY: `status` is a place for it.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status), "{status:x}");
    assert_eq!(libc::WEXITSTATUS(status), 1, "its first call ends it");
    assert_eq!(two.wait(std::slice::from_ref(&one)).context, 1);
    assert_eq!((one.wait(&[]).context, got), (2, [7; 8]));
    domain.close([one, two]);
}
