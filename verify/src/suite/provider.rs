//! The provider suite: what a libfabric provider asks of a rank.
//!
//! Hosts have two queues of messages, one with tags and one without, and in that with tags every receive ignores some bits
//! (fi_tagged(3)). They search for messages, claim what they have found, and receive or discard it later (`FI_PEEK`,
//! `FI_CLAIM`, `FI_DISCARD`), and they cancel receives of either queue while messages of both are on their way.

use super::families::{Kinds, cancels, claims, claims_of_two, one_way, two_senders};
use super::rendezvous::{MakeFamily, explore_families};
use super::{SuiteReport, SuiteSettings};

/// Both queues, and masks. Receives are announced, those whose mask ignores a bit, too.
const QUEUES: Kinds = Kinds { untagged: true, receive_lens: &[2], ..Kinds::MASKS };
/// The same, all messages by rendezvous.
const LARGE: Kinds = Kinds { send_lens: &[2], ..QUEUES };
/// Both queues, where programs are longer: one tag, and the receives of any.
const SHORT: Kinds = Kinds { tags: 1, masks: false, ..QUEUES };

fn families(full: bool) -> Vec<MakeFamily> {
    let mut families: Vec<MakeFamily> = vec![
        Box::new(|| one_way(2, 2, &QUEUES)),
        Box::new(|| one_way(2, 3, &SHORT)),
        Box::new(|| claims(2, 2, &LARGE)),
        Box::new(|| claims(2, 2, &SHORT)),
        Box::new(|| claims_of_two(2, &SHORT)),
        Box::new(|| cancels(2, 2, &QUEUES)),
        Box::new(|| two_senders(1, 1, 2, &QUEUES)),
    ];
    if full {
        families.push(Box::new(|| one_way(3, 3, &SHORT)));
        families.push(Box::new(|| claims(2, 2, &QUEUES)));
        families.push(Box::new(|| claims(2, 3, &SHORT)));
        families.push(Box::new(|| cancels(2, 3, &SHORT)));
        families.push(Box::new(|| one_way(2, 3, &LARGE)));
    }
    families
}

/// Explores every program of the suite under both rule sets.
pub fn provider(settings: &SuiteSettings<'_>) -> SuiteReport {
    explore_families("provider", families(settings.full), settings)
}
