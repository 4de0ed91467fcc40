//! The whole library over an adapter that is not real.

use super::{FakeAdapter, Newer};
use carrousel::{AnyNetwork, Communicator, in_one_thread_apart};
use carrousel_registration::{Policy, Thresholds};
use carrousel_transport_verbs::{Device, Settings, Verbs};

const TAG: u32 = 5;

/// Two ranks in this thread that reach each other through an adapter.
pub(crate) fn apart(settings: &Settings) -> Vec<Communicator> {
    let device = Device::open(&settings.choice).expect("there is such an adapter");
    let network = |me| Verbs::over(&device, me, 2, settings).map(AnyNetwork::from);
    in_one_thread_apart(2, network).expect("they can be set up")
}

/// Two ranks in this thread, which have exchanged a message.
pub(crate) struct RankPair(Vec<Communicator>);

impl RankPair {
    /// They lend to the adapter all that they send, or copy it. It pages on demand: whether the system lets memory be watched
    /// does not matter.
    pub(crate) fn new(adapter: FakeAdapter, lends: bool) -> Self {
        let adapter = adapter.with(Newer::Paging(u32::MAX));
        let mut settings = Settings::default();
        settings.choice.device = Some(adapter.name());
        let policy = Policy { thresholds: Thresholds::uniform(1), ..Policy::default() };
        settings.reuse = lends.then_some(policy);
        let pair = Self(apart(&settings));
        let mut came = [0];
        pair.send(&[7]);
        pair.0[1]
            .scope(|scope| {
                let mut receive = scope.irecv(&mut came, 0, TAG)?;
                // The first one goes when they are connected.
                while !receive.test() {
                    pair.0[0].iprobe(1, TAG)?;
                }
                Ok(())
            })
            .expect("it comes");
        assert_eq!(came, [7]);
        pair
    }

    /// Sends a message, and returns when it may be changed.
    #[inline(never)]
    pub(crate) fn send(&self, data: &[u8]) {
        self.0[0].scope(|scope| scope.isend(data, 1, TAG).map(|_| ())).expect("rank 1 is there");
    }

    /// Receives it.
    pub(crate) fn receive(&self, place: &mut [u8]) {
        self.0[1].recv(place, 0, TAG).expect("it has come");
    }
}
