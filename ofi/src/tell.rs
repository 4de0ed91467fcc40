//! Why something fails, in words on standard error: libfabric's errors have no room for that.

use carrousel_engine::Error;
use carrousel_system::stderr;
use std::sync::{Mutex, PoisonError};

/// What the user was told last.
static TOLD: Mutex<String> = Mutex::new(String::new());

/// Tells the user something, unless it is what he was told last: hosts make a call that fails again and again.
#[cold]
pub(crate) fn tell(text: String) {
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if *told != text {
        stderr::tell(format!("carrousel: {text}"));
        *told = text;
    }
}

/// Tells a user who wants libfabric's log.
#[cold]
pub(crate) fn log(text: impl FnOnce() -> String) {
    if is_log_wanted(std::env::var("FI_LOG_LEVEL").ok().as_deref()) {
        tell(text());
    }
}

/// Whether this value of `FI_LOG_LEVEL` (fabric(7)) asks for more than warnings.
fn is_log_wanted(level: Option<&str>) -> bool {
    level.is_some_and(|level| ["info", "debug"].iter().any(|wanted| level.eq_ignore_ascii_case(wanted)))
}

/// Tells the user why a peer is lost, if it is. Ranks are of one endpoint alone, so the peer has no name.
#[cold]
pub(crate) fn tell_loss(error: &Error) {
    if let Some(text) = text(error) {
        tell(text);
    }
}

fn text(error: &Error) -> Option<String> {
    match error {
        Error::Unreachable { why, .. } => Some(format!("a peer on another node cannot be reached: {why}")),
        Error::Connect { why, .. } => Some(format!("a peer cannot be connected: {why}")),
        Error::Memory(why) => Some(why.clone()),
        Error::PeerLost { why: Some(why), .. } => Some(format!("a peer is lost: {why}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_for_those_who_ask() {
        let wanted = [Some("info"), Some("DEBUG"), Some("warn"), Some(""), None].map(is_log_wanted);
        assert_eq!(wanted, [true, true, false, false, false]);
    }

    #[test]
    fn why_a_peer_is_lost_is_told_and_nothing_else() {
        let why = || "its node is down".to_owned();
        let lost = Error::PeerLost { rank: 7, why: Some(why()) };
        assert_eq!(text(&lost).as_deref(), Some("a peer is lost: its node is down"));
        let unreachable = Error::Unreachable { rank: 7, why: why() };
        let expected = "a peer on another node cannot be reached: its node is down";
        assert_eq!(text(&unreachable).as_deref(), Some(expected));
        assert_eq!(text(&Error::PeerLost { rank: 7, why: None }), None);
        assert_eq!(text(&Error::Memory(why())).as_deref(), Some("its node is down"));
        assert_eq!(text(&Error::Truncated { sent: 2, room: 1, call: None }), None);
        tell_loss(&lost);
        tell_loss(&unreachable);
        assert_eq!(*TOLD.lock().unwrap_or_else(PoisonError::into_inner), expected);
    }
}
