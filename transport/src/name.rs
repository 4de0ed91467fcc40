//! How peers that are not known ahead are told from each other.

use crate::RankId;
use alloc::boxed::Box;

/// The rank of the peer that introduces itself by this text; `None` if the text is that of no peer.
pub type Name = Box<dyn FnMut(&[u8]) -> Option<RankId> + Send>;
