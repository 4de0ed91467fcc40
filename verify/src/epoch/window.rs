//! A window under rules that only its maker knows: the rest of the model is compiled once, and not for every rule.

use carrousel_epoch::{
    Call, Counts, EpochEventError, EpochKind, EpochRules, EpochUsageError, EpochView, Event, Failure,
    FlushPoint, GrantWord, Output, RankId, Returned, Window,
};
use carrousel_lock::{AllLockRules, LockManager};
use std::any::Any;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};

/// [`Window`], for any rules.
trait DynWindow: Any + Debug {
    fn call(&mut self, call: Call<'static>, out: &mut Vec<Output>) -> Result<Returned, EpochUsageError>;
    fn event(&mut self, event: Event, out: &mut Vec<Output>) -> Result<(), EpochEventError>;
    fn is_flushed(&self, point: FlushPoint) -> Result<bool, Failure>;
    fn counts(&self, peer: RankId, word: GrantWord) -> Option<Counts>;
    fn epochs(&self) -> Vec<EpochView<'_>>;
    fn deferred(&self) -> usize;
    fn held_back(&self) -> usize;
    fn lock(&self) -> &LockManager<AllLockRules>;
    fn counts_locks_apart(&self) -> bool;
    fn boxed(&self) -> Box<dyn DynWindow>;
    fn hash_into(&self, hasher: &mut dyn Hasher);
    fn equals(&self, other: &dyn Any) -> bool;
}

impl<R: EpochRules> DynWindow for Window<R> {
    fn call(&mut self, call: Call<'static>, out: &mut Vec<Output>) -> Result<Returned, EpochUsageError> {
        Self::call(self, call, out)
    }

    fn event(&mut self, event: Event, out: &mut Vec<Output>) -> Result<(), EpochEventError> {
        Self::event(self, event, out)
    }

    fn is_flushed(&self, point: FlushPoint) -> Result<bool, Failure> {
        Self::is_flushed(self, point)
    }

    fn counts(&self, peer: RankId, word: GrantWord) -> Option<Counts> {
        Self::counts(self, peer, word)
    }

    fn epochs(&self) -> Vec<EpochView<'_>> {
        Self::epochs(self).collect()
    }

    fn deferred(&self) -> usize {
        Self::deferred(self)
    }

    fn held_back(&self) -> usize {
        Self::held_back(self).count()
    }

    fn lock(&self) -> &LockManager<AllLockRules> {
        Self::lock(self)
    }

    fn counts_locks_apart(&self) -> bool {
        R::locks_count_apart()
    }

    fn boxed(&self) -> Box<dyn DynWindow> {
        Box::new(self.clone())
    }

    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }

    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<Self>().is_some_and(|other| self == other)
    }
}

/// A window of a state.
#[derive(Debug)]
pub(super) struct ModelWindow(Box<dyn DynWindow>);

impl ModelWindow {
    pub(super) fn new<R: EpochRules>(window: Window<R>) -> Self {
        Self(Box::new(window))
    }

    pub(super) fn call(
        &mut self,
        call: Call<'static>,
        out: &mut Vec<Output>,
    ) -> Result<Returned, EpochUsageError> {
        self.0.call(call, out)
    }

    pub(super) fn event(&mut self, event: Event, out: &mut Vec<Output>) -> Result<(), EpochEventError> {
        self.0.event(event, out)
    }

    pub(super) fn is_flushed(&self, point: FlushPoint) -> Result<bool, Failure> {
        self.0.is_flushed(point)
    }

    pub(super) fn counts(&self, peer: RankId, word: GrantWord) -> Option<Counts> {
        self.0.counts(peer, word)
    }

    pub(super) fn epochs(&self) -> impl Iterator<Item = EpochView<'_>> {
        self.0.epochs().into_iter()
    }

    pub(super) fn deferred(&self) -> usize {
        self.0.deferred()
    }

    /// How many lock requests an exposure holds back.
    pub(super) fn held_back(&self) -> usize {
        self.0.held_back()
    }

    pub(super) fn lock(&self) -> &LockManager<AllLockRules> {
        self.0.lock()
    }

    /// The word that grants the accesses of a kind of epoch.
    pub(super) fn word(&self, kind: EpochKind) -> GrantWord {
        if kind.locks() && self.0.counts_locks_apart() { GrantWord::Locks } else { GrantWord::Exposures }
    }
}

impl Clone for ModelWindow {
    fn clone(&self) -> Self {
        Self(self.0.boxed())
    }
}

impl PartialEq for ModelWindow {
    fn eq(&self, other: &Self) -> bool {
        let other: &dyn Any = &*other.0;
        self.0.equals(other)
    }
}

impl Eq for ModelWindow {}

impl Hash for ModelWindow {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.hash_into(hasher);
    }
}
