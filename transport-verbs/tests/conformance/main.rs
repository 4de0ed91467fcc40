//! The plans of the conformance suite over real devices, on one node or several: each rank is a thread of the process of
//! its node. Needs a device that is up: `cargo xtask guest` has one.
#![cfg(feature = "verbs")]

mod ends;
mod meeting;
mod plans;
mod reuse;
mod stale;

use carrousel_transport_verbs::Settings;
use std::time::Duration;

/// Longer than any plan takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The ways in which a transport can be made, by name: one that hardly ever has to wait, and one that waits for
/// everything all the time.
fn modes() -> [(&'static str, Settings); 2] {
    let roomy = Settings::default();
    let mut narrow = Settings::default();
    narrow.eager = 1 << 10;
    narrow.window = 2;
    narrow.receives = 4;
    narrow.depth = 4;
    narrow.inline = 0;
    [("verbs", roomy), ("verbs, no room", narrow)]
}
