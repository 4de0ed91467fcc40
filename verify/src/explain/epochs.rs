//! The epochs of windows in an execution: in which steps each is opened, activated, closed and complete.

use crate::state::Proc;
use carrousel_rank::epoch::EpochName;
use carrousel_rank::{Protocol, WindowIndex};

/// An epoch of a rank, and the steps in which it changed.
#[derive(Clone, Debug)]
pub(super) struct Epoch {
    /// Whose.
    pub(super) at: u16,
    /// In which window.
    pub(super) window: u16,
    /// Its kind, its number among the rank's epochs of the window, and its target if it has one.
    pub(super) name: EpochName,
    /// Its rank called what opens it.
    pub(super) opened: usize,
    /// It was deferred before.
    pub(super) activated: Option<usize>,
    /// Its rank called what closes it.
    pub(super) closed: Option<usize>,
    /// The library is done with it.
    pub(super) completed: Option<usize>,
}

/// Notes what step `this` has changed of the epochs of rank `at`, which is as `new` after it.
pub(super) fn follow<P: Protocol>(epochs: &mut Vec<Epoch>, this: usize, at: u16, new: &Proc<P>) {
    let windows = (0..).map_while(|window| Some((window, new.rank.window(WindowIndex(u32::from(window)))?)));
    for (window, library) in windows {
        for epoch in epochs.iter_mut().filter(|epoch| (epoch.at, epoch.window) == (at, window)) {
            if epoch.completed.is_none() && library.epochs().all(|view| view.name() != epoch.name) {
                epoch.completed = Some(this);
                // A call may close an epoch that has nothing left to wait for.
                epoch.closed = epoch.closed.or(Some(this));
            }
        }
        let mut views: Vec<_> = library.epochs().collect();
        views.sort_by_key(|view| view.name().number);
        for view in views {
            let name = view.name();
            let is_it = |epoch: &Epoch| (epoch.at, epoch.window, epoch.name) == (at, window, name);
            let known = epochs.iter().position(is_it).unwrap_or_else(|| {
                let [activated, closed, completed] = [None; 3];
                epochs.push(Epoch { at, window, name, opened: this, activated, closed, completed });
                epochs.len() - 1
            });
            let epoch = &mut epochs[known];
            epoch.activated = epoch.activated.or(view.is_active().then_some(this));
            epoch.closed = epoch.closed.or(view.is_closed().then_some(this));
        }
    }
}
