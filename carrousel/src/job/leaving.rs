//! Leaving a job: together with all other ranks and, if the option `check_usage` asks for it, with all messages
//! received.

use crate::collectives::agree;
use crate::usage::{Joint, NotReceived, PackedLine, Unreceived};
use crate::{CallSite, Communicator, Error};
use carrousel_engine::{Endpoint, LeftBehind};
use carrousel_options::CheckUsage;
use carrousel_rank::{Context, mpi};
use carrousel_system::stderr;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A rank's question to another one: the call sites of the messages that it has not received, `count` of them with
/// `tag`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct Question {
    context: u32,
    tag: u32,
    /// 0 if it has received all messages of that rank.
    count: u32,
}

impl Communicator {
    /// Leaves the job, all of whose ranks are members.
    ///
    /// `Ok` has the error to report although the job has ended well: messages that were not received.
    pub(crate) fn leave(&self, site: CallSite) -> Result<Option<Error>, Error> {
        // The call may be on behalf of another site.
        self.shared.with(Endpoint::observe);
        let mode = self.shared.with(|endpoint| endpoint.check_usage());
        let mut left = None;
        if mode != CheckUsage::Off {
            self.shared.with(|endpoint| agree(endpoint, self.id(), Joint::Finalize, site))?;
            // All messages of this rank have arrived, so no peer misses any.
            self.shared.with(|endpoint| endpoint.drain(site));
            self.at(site).barrier()?;
            left = self.at(site).left_behind()?;
        }
        self.shared.with(|endpoint| endpoint.finalize(site))?;
        Ok(match left {
            Some(left) if mode == CheckUsage::Warn => {
                stderr::tell(format!("carrousel: warning: {left}"));
                None
            }
            left => left.map(|left| Error::NotReceived(Box::new(left))),
        })
    }

    /// The messages that this rank has not received. All ranks call it, behind a barrier.
    fn left_behind(&self) -> Result<Option<NotReceived>, Error> {
        let left = self.shared.with(|endpoint| endpoint.left_behind());
        let mut most = [0];
        self.allreduce(&[left.len() as u64], &mut most, u64::max)?;
        if most == [0] {
            return Ok(None);
        }
        // Each rank knows the call sites of its sends. So each sender is asked about one tag of its messages.
        let of = |from: u32| left.iter().find(|left| left.from.0 == from);
        let question = |from: u32| match of(from) {
            Some(LeftBehind { context, tag, count, .. }) => {
                Question { context: context.0.into(), tag: mpi::number(*tag), count: *count }
            }
            None => Question { context: 0, tag: 0, count: 0 },
        };
        let questions: Vec<Question> = (0..self.size()).map(question).collect();
        let mut asked = questions.clone();
        self.alltoall(&questions, &mut asked)?;
        let answer = |(to, question): (u32, &Question)| {
            let Question { context, tag, count } = *question;
            let context = Context(u16::try_from(context).ok()?);
            self.shared
                .with(|endpoint| endpoint.sent_at(to, context, mpi::tag(tag), count))
                .map(PackedLine::from)
        };
        let answers: Vec<PackedLine> =
            (0..).zip(&asked).map(|asked| answer(asked).unwrap_or(PackedLine::NONE)).collect();
        let mut places = vec![PackedLine::NONE; answers.len()];
        self.alltoall(&answers, &mut places)?;
        let told = |(from, place): (u32, &PackedLine)| {
            let LeftBehind { tag, bytes, count, .. } = *of(from)?;
            Some(Unreceived { from, tag: mpi::number(tag), bytes, count, sent: place.line() })
        };
        let messages: Vec<Unreceived> = (0..).zip(&places).filter_map(told).collect();
        Ok((!messages.is_empty()).then(|| NotReceived { rank: self.rank(), messages }))
    }
}
