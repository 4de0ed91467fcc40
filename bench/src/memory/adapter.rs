//! The adapters of this machine: none in a build without the feature `verbs`.

use super::MemoryError;
use carrousel::{Communicator, Error};
use carrousel_registration::Policy;
use carrousel_transport_verbs::{self as verbs, Choice};

/// An adapter with which memory can be registered.
#[derive(Debug)]
pub struct Adapter {
    #[cfg(feature = "verbs")]
    device: std::sync::Arc<verbs::Device>,
    /// No value can be made.
    #[cfg(not(feature = "verbs"))]
    never: std::convert::Infallible,
}

impl Adapter {
    /// The one that the transport would take.
    ///
    /// # Errors
    /// When no adapter can be used.
    pub fn open(choice: &Choice) -> Result<Self, MemoryError> {
        #[cfg(feature = "verbs")]
        {
            verbs::Device::open(choice).map(|device| Self { device }).map_err(MemoryError::no_adapter)
        }
        #[cfg(not(feature = "verbs"))]
        {
            let _ = choice;
            Err(MemoryError::no_adapter(verbs::NOT_BUILT))
        }
    }

    /// All that can be used, or the one that is chosen by its name.
    ///
    /// # Errors
    /// When there is no adapter.
    pub fn all(choice: &Choice) -> Result<Vec<Self>, MemoryError> {
        if choice.device.is_some() {
            return Self::open(choice).map(|one| vec![one]);
        }
        let named = |name| Self::open(&Choice { device: Some(name), ..choice.clone() });
        let (open, failed): (Vec<_>, Vec<_>) = names()?.into_iter().map(named).partition(Result::is_ok);
        match failed.into_iter().next() {
            Some(Err(why)) if open.is_empty() => Err(why),
            _ => Ok(open.into_iter().flatten().collect()),
        }
    }

    /// As `ibv_devices` names it.
    pub fn name(&self) -> &str {
        #[cfg(feature = "verbs")]
        {
            self.device.name()
        }
        #[cfg(not(feature = "verbs"))]
        match self.never {}
    }

    /// Registers memory, and ends that when `begun` returns. Returns what `begun` does.
    pub(super) fn register<T>(&self, memory: &mut [u8], begun: impl FnOnce() -> T) -> Result<T, MemoryError> {
        #[cfg(feature = "verbs")]
        {
            let bytes = memory.len();
            let refused = |why: verbs::VerbsError| MemoryError::Refused {
                adapter: self.name().to_owned(),
                bytes,
                why: why.to_string(),
            };
            let trial = verbs::Trial::new(&self.device, memory).map_err(refused)?;
            let value = begun();
            trial.end();
            Ok(value)
        }
        #[cfg(not(feature = "verbs"))]
        {
            let _ = (memory, begun);
            match self.never {}
        }
    }

    /// Two ranks that reach each other through the adapter, with eager messages of at most `bytes_max` bytes.
    pub(super) fn ranks(&self, bytes_max: usize, reuse: Option<Policy>) -> Result<Vec<Communicator>, Error> {
        #[cfg(feature = "verbs")]
        {
            let mut settings = verbs::Settings::default();
            settings.eager = bytes_max as u64;
            settings.reuse = reuse;
            carrousel::in_one_thread_apart(2, |me| {
                verbs::Verbs::over(&self.device, me, 2, &settings).map(carrousel::AnyNetwork::from)
            })
        }
        #[cfg(not(feature = "verbs"))]
        {
            let _ = (bytes_max, reuse);
            match self.never {}
        }
    }
}

/// The adapters of this machine.
fn names() -> Result<Vec<String>, MemoryError> {
    #[cfg(feature = "verbs")]
    {
        verbs::Device::names().map_err(MemoryError::no_adapter)
    }
    #[cfg(not(feature = "verbs"))]
    {
        Err(MemoryError::no_adapter(verbs::NOT_BUILT))
    }
}
