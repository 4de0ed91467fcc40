//! Statements as text: the canonical spelling of an [`Op`].

use std::fmt;

use crate::assertions::Assertions;
use crate::combine::Combine;
use crate::ids::{BufferId, CommunicatorId, RequestId, WindowId};
use crate::model::{Program, Scenario, Step};
use crate::op::Op;
use crate::units;

/// A statement as a person would write it; made by [`Op::written`] and
/// [`Step::written`](crate::Step::written).
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    op: &'a Op,
    bind: Option<RequestId>,
    on: CommunicatorId,
    names: Option<(&'a Scenario, &'a Program)>,
}

impl<'a> Written<'a> {
    pub(crate) fn new(
        op: &'a Op,
        (bind, on): (Option<RequestId>, CommunicatorId),
        names: Option<(&'a Scenario, &'a Program)>,
    ) -> Self {
        Written { op, bind, on, names }
    }

    /// The communicator, unless it is that of all ranks.
    fn communicator(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.names {
            _ if self.on == CommunicatorId::WORLD => Ok(()),
            Some((scenario, _)) => write!(f, " on {}", scenario.communicator(self.on).name),
            None => write!(f, " on c{}", self.on.0),
        }
    }

    fn window(&self, f: &mut fmt::Formatter<'_>, id: WindowId) -> fmt::Result {
        match self.names {
            Some((scenario, _)) => write!(f, " {}", scenario.windows[id.0 as usize].name),
            None => write!(f, " w{}", id.0),
        }
    }

    fn request(&self, f: &mut fmt::Formatter<'_>, id: RequestId) -> fmt::Result {
        match self.names {
            Some((_, program)) => f.write_str(&program.requests[id.0 as usize]),
            None => write!(f, "r{}", id.0),
        }
    }

    fn buffer(&self, f: &mut fmt::Formatter<'_>, id: BufferId) -> fmt::Result {
        match self.names {
            Some((_, program)) => write!(f, " buf {}", program.buffers[id.0 as usize].name),
            None => write!(f, " buf b{}", id.0),
        }
    }

    fn own_buffer(&self, f: &mut fmt::Formatter<'_>, id: Option<BufferId>) -> fmt::Result {
        id.map_or(Ok(()), |id| self.buffer(f, id))
    }

    fn at(f: &mut fmt::Formatter<'_>, displacement: u64) -> fmt::Result {
        if displacement == 0 {
            return Ok(());
        }
        write!(f, " at {}", units::size(displacement))
    }

    fn combine(f: &mut fmt::Formatter<'_>, combine: Combine) -> fmt::Result {
        if combine == Combine::default() { Ok(()) } else { write!(f, " op {combine}") }
    }

    fn assertions(f: &mut fmt::Formatter<'_>, assertions: Assertions) -> fmt::Result {
        if assertions.is_empty() { Ok(()) } else { write!(f, " assert {assertions}") }
    }

    fn group(f: &mut fmt::Formatter<'_>, word: &str, group: &[u32]) -> fmt::Result {
        write!(f, " {word} [")?;
        for (index, rank) in group.iter().enumerate() {
            let blank = if index == 0 { "" } else { " " };
            write!(f, "{blank}{rank}")?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(id) = self.bind {
            self.request(f, id)?;
            f.write_str(" = ")?;
        }
        f.write_str(self.op.name())?;
        let (op, deferred) = match self.op {
            Op::Deferred(deferred) => (deferred.outline(), Some(&**deferred)),
            op => (op, None),
        };
        // The content of a slot: its expression, if its value is known only when the program runs.
        let slot =
            |slot: usize, value: &dyn fmt::Display| match deferred.and_then(|deferred| deferred.tree(slot)) {
                Some(tree) => tree.to_string(),
                None => value.to_string(),
            };
        self.arguments(f, op, &slot)?;
        self.communicator(f)
    }
}

impl Written<'_> {
    /// What stands behind the keyword, without the communicator. `slot` writes the content of a slot.
    fn arguments(
        &self,
        f: &mut fmt::Formatter<'_>,
        op: &Op,
        slot: &dyn Fn(usize, &dyn fmt::Display) -> String,
    ) -> fmt::Result {
        match *op {
            // The outline of a deferred statement is not deferred itself.
            Op::Deferred(_) => Ok(()),
            Op::Compute { ns } => write!(f, " {}", slot(0, &units::time(ns))),
            Op::Send { to, tag, size, buf, .. } => {
                write!(f, " to {} tag {} size {}", slot(0, &to), slot(1, &tag), slot(2, &units::size(size)))?;
                self.own_buffer(f, buf)
            }
            Op::Recv { from, tag, size, buf, .. } => {
                write!(
                    f,
                    " from {} tag {} size {}",
                    slot(0, &from),
                    slot(1, &tag),
                    slot(2, &units::size(size))
                )?;
                self.own_buffer(f, buf)
            }
            Op::SendRecv { to, send_tag, send_size, from, recv_tag, recv_size } => {
                let (send_size, recv_size) = (units::size(send_size), units::size(recv_size));
                write!(f, " to {} tag {} size {}", slot(0, &to), slot(1, &send_tag), slot(2, &send_size))?;
                write!(f, " from {} tag {} size {}", slot(3, &from), slot(4, &recv_tag), slot(5, &recv_size))
            }
            Op::Probe { from, tag } => write!(f, " from {} tag {}", slot(0, &from), slot(1, &tag)),
            Op::Wait(ref requests) => requests.iter().try_for_each(|&id| {
                f.write_str(" ")?;
                self.request(f, id)
            }),
            Op::WaitAll => f.write_str(" all"),
            Op::Test(id) => {
                f.write_str(" ")?;
                self.request(f, id)
            }
            Op::Barrier { .. } => Ok(()),
            // A rank without a color gets no communicator.
            Op::Split { ref name, color, key, .. } => {
                write!(f, " {name} = split color {}", color.map_or(-1, i64::from))?;
                if key == 0 { Ok(()) } else { write!(f, " key {key}") }
            }
            Op::Bcast { root, size } | Op::Reduce { root, size } | Op::Gather { root, size } => {
                write!(f, " root {root} size {}", units::size(size))
            }
            Op::AllReduce { size } | Op::AllGather { size } | Op::AllToAll { size } => {
                write!(f, " size {}", units::size(size))
            }
            Op::ReadBuf(id) | Op::WriteBuf(id) => self.buffer(f, id),
            Op::Load { window, displacement, size } | Op::Store { window, displacement, size } => {
                self.window(f, window)?;
                write!(f, " at {} size {}", units::size(displacement), units::size(size))
            }
            Op::Put { window, target, size, displacement, count, stride, buf }
            | Op::Get { window, target, size, displacement, count, stride, buf }
            | Op::Accumulate { window, target, size, displacement, count, stride, buf, .. } => {
                self.window(f, window)?;
                let word = if matches!(self.op, Op::Get { .. }) { "from" } else { "to" };
                write!(f, " {word} {target} size {}", units::size(size))?;
                Self::at(f, displacement)?;
                if (count, stride) != (1, size) {
                    write!(f, " count {count} stride {}", units::size(stride))?;
                }
                self.own_buffer(f, buf)?;
                Self::combine(f, self.op.combine())
            }
            Op::FetchOp { window, target, displacement, .. }
            | Op::CompareSwap { window, target, displacement } => {
                self.window(f, window)?;
                write!(f, " at {target}")?;
                Self::at(f, displacement)?;
                Self::combine(f, self.op.combine())
            }
            Op::Complete { window, .. }
            | Op::WaitEpoch { window, .. }
            | Op::UnlockAll { window, .. }
            | Op::Flush { window, target: None, .. } => self.window(f, window),
            Op::Fence { window, assertions, .. } | Op::LockAll { window, assertions, .. } => {
                self.window(f, window)?;
                Self::assertions(f, assertions)
            }
            Op::Start { window, ref group, assertions, .. } => {
                self.window(f, window)?;
                Self::group(f, "to", group)?;
                Self::assertions(f, assertions)
            }
            Op::Post { window, ref group, assertions, .. } => {
                self.window(f, window)?;
                Self::group(f, "from", group)?;
                Self::assertions(f, assertions)
            }
            Op::Lock { window, target, exclusive, assertions, .. } => {
                self.window(f, window)?;
                let mode = if exclusive { "exclusive" } else { "shared" };
                write!(f, " at {target} {mode}")?;
                Self::assertions(f, assertions)
            }
            Op::Unlock { window, target, .. } | Op::Flush { window, target: Some(target), .. } => {
                self.window(f, window)?;
                write!(f, " at {target}")
            }
        }
    }
}

impl Op {
    /// The statement as a person would write it, with the names of windows, buffers and requests.
    pub fn written<'a>(&'a self, scenario: &'a Scenario, program: &'a Program) -> Written<'a> {
        Written::new(self, (None, CommunicatorId::WORLD), Some((scenario, program)))
    }
}

impl Step {
    /// The statement as a person would write it, names included: `e = isend to 1 tag 0 size 64KiB`.
    pub fn written<'a>(&'a self, scenario: &'a Scenario, program: &'a Program) -> Written<'a> {
        Written::new(&self.op, (self.bind, self.on), Some((scenario, program)))
    }
}

/// Without the names of the file: window 0 reads `w0`, buffer 0 `b0`, request 0 `r0`. See [`Op::written`] for the
/// text with names.
impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Written::new(self, (None, CommunicatorId::WORLD), None).fmt(f)
    }
}
