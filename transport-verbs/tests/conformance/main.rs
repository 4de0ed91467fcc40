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
/// everything all the time; both also with a second queue pair for each connection.
fn modes() -> [(&'static str, Settings); 4] {
    let roomy = Settings::default();
    let mut narrow = Settings::default();
    narrow.eager = 1 << 10;
    narrow.window = 2;
    narrow.receives = 4;
    narrow.depth = 4;
    narrow.inline = 0;
    let by_two = |mut settings: Settings| {
        settings.control_service_level = settings.service_level + 1;
        settings
    };
    let second =
        [("verbs, two ways", by_two(roomy.clone())), ("verbs, two ways, no room", by_two(narrow.clone()))];
    let [two, two_narrow] = second;
    [("verbs", roomy), ("verbs, no room", narrow), two, two_narrow]
}
