//! The transports of an endpoint. Their crates are named here and nowhere else in this crate.
//!
//! A further network is an implementation of [`Network`](carrousel_transport::Network), and a variant of [`AnyNetwork`] and
//! of the other types of `network`.

// An enum without variants takes nothing that it is given.
#[cfg_attr(
    not(feature = "verbs"),
    allow(
        dead_code,
        unused_imports,
        unused_variables,
        reason = "a build without a network has no value of these types"
    )
)]
mod network;
mod settings;

pub(crate) use self::network::{AnyMemoryDomain, AnyNetworkOut, AnyRegistration, NetworkHandler};
pub use self::network::{AnyNetwork, Introduced, describe_verbs};
pub use self::settings::verbs_choice;
pub(crate) use self::settings::{NetworkSettings, network_settings};
pub(crate) use carrousel_transport_shm as shm;
