//! How it ends: with goodbyes, or without one.
#![cfg(feature = "verbs")]

mod fake;

use carrousel_transport_verbs::Settings;
use fake::{Adapter, End, drive, meet};

#[test]
fn who_has_heard_goodbye_need_not_be_heard() {
    let mut by_two = Settings::default();
    by_two.control_service_level = by_two.service_level + 1;
    for settings in [Settings::default(), by_two] {
        let mut one = End::new(Adapter(0), 0, 2, settings.clone());
        let mut other = End::new(Adapter(1), 1, 2, settings);
        meet(&mut one, &mut other, 0, 1);
        drive(&mut [&mut one, &mut other], |ends| ends.iter_mut().all(|end| !end.verbs.is_busy()));
        // As by a peer that has no receive buffer left, and posts none.
        Adapter(0).stall(true);
        one.verbs.finish();
        for _ in 0..10 {
            one.poll();
            assert!(one.verbs.is_busy(), "the other one may need it");
        }
        other.verbs.finish();
        drive(&mut [&mut one, &mut other], |ends| ends.iter_mut().all(|end| !end.verbs.is_busy()));
        assert_eq!(one.heard.lost, []);
        Adapter(0).stall(false);
    }
}
