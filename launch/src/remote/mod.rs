//! Ranks on other hosts. The launcher starts an agent there by ssh; the two exchange frames over its
//! standard input and output, and nothing else: no port is opened, no secret is needed, and when either
//! side dies, the other notices by the end of its input.

pub(crate) mod agent;
pub(crate) mod connection;
pub(crate) mod frame;
