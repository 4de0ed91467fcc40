//! The peers of an endpoint that are not known ahead.

/// The peers of an open endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenPeers<'a> {
    /// What all of their addresses begin with.
    pub job: &'a str,
    /// How many there are at most, this process included.
    pub most: u32,
    /// Whether those of this node are reached by the network, too, as all others are. All peers need the same.
    pub apart: bool,
}
