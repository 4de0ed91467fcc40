//! The bounds of an exploration, and the programs within them.

use carrousel_rank::{Tag, TagSelector, cost, mpi};

/// Messages up to this size are eager; each has 1 or 2 bytes.
pub(super) const EAGER: u64 = 1;

/// The programs that are explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressBounds {
    /// Messages that are sent.
    pub sends: usize,
    /// Receives.
    pub receives: usize,
    /// Tags; receives of any tag as well if there are several.
    pub tags: u32,
    /// Eager messages that the receiver has room for; any number if none.
    pub window: Option<u64>,
}

impl ProgressBounds {
    /// As in a table.
    pub fn name(&self) -> String {
        let Self { sends, receives, tags, window } = self;
        let tags = if *tags == 1 { "one tag".to_owned() } else { format!("{tags} tags and any") };
        let window = window.map_or(String::new(), |window| format!(", room for {window}"));
        format!("{sends} x {receives}, {tags}, eager and rendezvous{window}")
    }

    /// The option `eager_window` of the ranks.
    pub(super) fn eager_window(&self) -> u64 {
        self.window.map_or(u64::MAX, |messages| messages * cost(EAGER))
    }

    /// All programs of these numbers of calls.
    pub(super) fn programs(&self) -> Vec<PairProgram> {
        let lens = [EAGER, EAGER + 1];
        let sends: Vec<SendCall> =
            (0..self.tags).flat_map(|tag| lens.map(|len| SendCall { tag: mpi::tag(tag), len })).collect();
        let named = (0..self.tags).map(|tag| mpi::selector(Some(tag)));
        let any = (self.tags > 1).then_some(mpi::ANY_TAG);
        let receives: Vec<ReceiveCall> =
            named.chain(any).flat_map(|tag| lens.map(|len| ReceiveCall { tag, len })).collect();
        let all = lists(&sends, self.sends);
        let pairs = all.iter().flat_map(|sends| {
            lists(&receives, self.receives)
                .into_iter()
                .map(move |receives| PairProgram::new(sends.clone(), receives))
        });
        pairs.collect()
    }
}

/// All lists of `length` elements of `kinds`.
fn lists<T: Clone>(kinds: &[T], length: usize) -> Vec<Vec<T>> {
    let longer = |lists: Vec<Vec<T>>| {
        let with =
            |list: Vec<T>| kinds.iter().map(move |kind| [&list[..], std::slice::from_ref(kind)].concat());
        lists.into_iter().flat_map(with).collect()
    };
    (0..length).fold(vec![Vec::new()], |lists, _| longer(lists))
}

/// A message that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SendCall {
    pub(super) tag: Tag,
    pub(super) len: u64,
}

/// A receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReceiveCall {
    pub(super) tag: TagSelector,
    pub(super) len: u64,
}

/// The calls of the two ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PairProgram {
    pub(super) sends: Vec<SendCall>,
    pub(super) receives: Vec<ReceiveCall>,
    /// By receive: its message. With one sender, it depends only on the order of calls at each end.
    partners: Vec<Option<usize>>,
}

impl PairProgram {
    fn new(sends: Vec<SendCall>, receives: Vec<ReceiveCall>) -> Self {
        let mut free: Vec<usize> = (0..sends.len()).collect();
        let partner = |receive: &ReceiveCall| {
            let at = free.iter().position(|send| receive.tag.matches(sends[*send].tag))?;
            Some(free.remove(at))
        };
        let partners = receives.iter().map(partner).collect();
        Self { sends, receives, partners }
    }

    /// Whether the two make a rendezvous, whose data can move while the ranks compute.
    pub(super) fn is_rendezvous(&self, send: usize, receive: usize) -> bool {
        self.sends[send].len > EAGER && self.receives[receive].len > EAGER
    }

    /// The receive of a message.
    pub(super) fn receive_of(&self, send: usize) -> Option<usize> {
        self.partners.iter().position(|partner| *partner == Some(send))
    }

    /// The message of a receive.
    pub(super) fn send_of(&self, receive: usize) -> Option<usize> {
        self.partners[receive]
    }
}
