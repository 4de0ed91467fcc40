//! Which peers are asked for help with a copy.

/// Whether a peer that is asked for help comes. One that has a copy of its own to make meanwhile, as where both send each other
/// large messages at once, does not: then asking only divides the copy, and costs both a message. So each request in vain
/// doubles the number of copies for which the peer is not asked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Helpfulness {
    /// Requests in vain since the peer has helped.
    in_vain: u32,
    /// Copies for which the peer is not asked.
    pause: u32,
}

impl Helpfulness {
    /// The longest pause is `2^LONGEST - 1` copies: a peer that is idle again is soon found out.
    const LONGEST: u32 = 5;

    /// Whether to ask for help with the next copy.
    pub(super) fn asks(&mut self) -> bool {
        let asks = self.pause == 0;
        self.pause = self.pause.saturating_sub(1);
        asks
    }

    /// The peer was asked.
    pub(super) fn answered(&mut self, has_helped: bool) {
        self.in_vain = if has_helped { 0 } else { (self.in_vain + 1).min(Self::LONGEST) };
        self.pause = (1 << self.in_vain) - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_never_helps_is_asked_ever_more_seldom_and_one_that_has_helped_always() {
        let asked = |helps: bool, copies: u32| {
            let mut helpfulness = Helpfulness::default();
            let mut asks = || {
                let asks = helpfulness.asks();
                if asks {
                    helpfulness.answered(helps);
                }
                asks
            };
            (0..copies).filter(|_| asks()).collect::<Vec<_>>()
        };
        assert_eq!(asked(true, 5), [0, 1, 2, 3, 4]);
        assert_eq!(asked(false, 130), [0, 2, 6, 14, 30, 62, 94, 126]);
        let mut helpfulness = Helpfulness { in_vain: 5, pause: 0 };
        helpfulness.answered(true);
        assert!((0..3).all(|_| helpfulness.asks()), "it is forgiven");
    }
}
