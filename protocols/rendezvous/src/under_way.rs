//! Which rendezvous of a sending end are under way: what makes its calls legal, see [`SendSide`](crate::SendSide).

use carrousel_matching::Handle;
use core::hash::{Hash, Hasher};

/// How a rendezvous that is under way went out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// As an RTS.
    Offered,
    /// As a write.
    Written,
}

/// Asserts in debug builds that calls are legal; in others it knows nothing. The requests of the rank say the same, so
/// it never tells two states apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnderWay {
    #[cfg(debug_assertions)]
    messages: alloc::vec::Vec<(Handle, Sent)>,
}

impl UnderWay {
    /// A message goes out under a name that none under way has.
    #[inline(always)]
    pub(crate) fn check_free(&self, send: Handle) {
        let _ = send;
        #[cfg(debug_assertions)]
        assert_eq!(self.find(send), None, "{send} is under way already");
    }

    /// A rendezvous begins.
    #[inline(always)]
    pub(crate) fn begin(&mut self, send: Handle, sent: Sent) {
        let _ = (send, sent);
        #[cfg(debug_assertions)]
        self.messages.push((send, sent));
    }

    /// The offer of a message is answered.
    #[inline(always)]
    pub(crate) fn check_offered(&self, send: Handle) {
        let _ = send;
        #[cfg(debug_assertions)]
        assert_eq!(self.find(send), Some(Sent::Offered), "{send} is not offered");
    }

    /// A rendezvous ends.
    #[inline(always)]
    pub(crate) fn end(&mut self, send: Handle) {
        let _ = send;
        #[cfg(debug_assertions)]
        {
            assert!(self.find(send).is_some(), "{send} is not under way");
            self.messages.retain(|(message, _)| *message != send);
        }
    }

    #[cfg(debug_assertions)]
    fn find(&self, send: Handle) -> Option<Sent> {
        self.messages.iter().find(|(message, _)| *message == send).map(|(_, sent)| *sent)
    }
}

impl PartialEq for UnderWay {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for UnderWay {}

impl Hash for UnderWay {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
