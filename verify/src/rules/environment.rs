//! The rules that no protocol can keep by itself: those of the drivers, the kernel and the network around it.

/// Rules of the environment, one function each; the register of the protocol that relies on a rule gives its purpose.
pub trait EnvironmentRules {
    /// The network, R1 of the mirror rules: messages of a flow arrive in the order in which they were sent.
    fn ordered_connection() -> bool {
        true
    }
    /// The driver of a rank: initial progress takes in all arrivals, not only the first.
    fn progress_takes_all() -> bool {
        true
    }
    /// The driver of registered memory: a message whose buffer cannot be registered is copied, and does not wait.
    fn refused_is_copied() -> bool {
        true
    }
    /// The kernel: it reports an unmapped page before the page's frame is used again.
    fn told_before_reuse() -> bool {
        true
    }
    /// The driver of a handshake: it ignores a peer that it has given up.
    fn given_up_stays() -> bool {
        true
    }
    /// The driver of credits: with nothing else to do, it posts all buffers again that were read.
    fn idle_posts_all() -> bool {
        true
    }
    /// The driver of two queue pairs: it gives back the credit of an early packet when its turn has come.
    fn credit_at_its_turn() -> bool {
        true
    }
    /// The driver of a window: the release of a lock arrives behind the data of its holder.
    fn release_behind_data() -> bool {
        true
    }
}

/// Every rule is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllEnvironmentRules {}
impl EnvironmentRules for AllEnvironmentRules {}
