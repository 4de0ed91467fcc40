//! Messages between two ranks.

pub(crate) mod announce;
mod claims;
pub(crate) mod entries;
pub(crate) mod flows;
mod packets;
mod places;
pub(crate) mod requests;
pub(crate) mod state;
