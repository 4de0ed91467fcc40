//! The launcher of a job: carries out what the real one's coordinator says, for ranks of the simulation.

use crate::actor::Wait;
use crate::trace::without_values;
use crate::world::World;
use carrousel_launch::coordinator::{Coordinator, Instruction};
use carrousel_system::{Real, System};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::time::Duration;

/// How long ranks may go on after one has failed: far longer than they need to notice. A rank that is still there then
/// has not noticed, which is a defect.
const GRACE: Duration = Duration::from_secs(60);

/// The connection to a rank.
struct Connection {
    socket: OwnedFd,
    /// Bytes behind the last line that was taken.
    arrived: Vec<u8>,
    /// The coordinator knows that the rank has ended.
    is_over: bool,
}

impl Connection {
    /// The next line of the rank, if one has come.
    fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(end) = self.arrived.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.arrived.drain(..=end).collect();
                line.pop();
                return Some(line);
            }
            let mut chunk = [0; 4096];
            match Real.receive(self.socket.as_fd(), &mut chunk, RecvFlags::DONTWAIT) {
                Ok(count) if count > 0 => self.arrived.extend_from_slice(&chunk[..count]),
                Err(Errno::INTR) => {}
                _ => return None,
            }
        }
    }
}

/// Runs the job to its end.
pub(crate) fn run(world: &World, sockets: Vec<OwnedFd>) {
    let ranks = sockets.len() as u32;
    let mut coordinator = Coordinator::new(&[ranks], &[ranks], GRACE, None, None);
    let connection = |socket| Connection { socket, arrived: Vec::new(), is_over: false };
    let mut connections: Vec<Connection> = sockets.into_iter().map(connection).collect();
    while !coordinator.all_ended() {
        let (mut instructions, mut idles) = (Vec::new(), true);
        for (rank, connection) in connections.iter_mut().enumerate() {
            // Lines that it has sent come before its end.
            if let Some(line) = connection.line() {
                idles = false;
                world.step(format_args!("takes a line of rank {rank}: {}", without_values(&line)));
                coordinator.line(rank as u32, &line, world.now(), &mut instructions);
            } else if let Some(ending) = world.with(rank, |actor| actor.ending.clone())
                && !std::mem::replace(&mut connection.is_over, true)
            {
                idles = false;
                world.step(format_args!("reaps rank {rank}"));
                coordinator.ended(rank as u32, ending, world.now(), &mut instructions);
            }
        }
        coordinator.tick(world.now(), &mut instructions);
        for instruction in instructions {
            carry_out(world, &connections, instruction);
        }
        if idles && !coordinator.all_ended() {
            world.block(Wait::Descriptor, coordinator.deadline());
        }
    }
}

fn carry_out(world: &World, connections: &[Connection], instruction: Instruction) {
    match instruction {
        Instruction::Send(_, lines) if lines.is_empty() => {}
        Instruction::Send(rank, lines) => {
            world.step(format_args!("sends to rank {rank}: {}", without_values(lines.as_bytes())));
            let socket = connections[rank as usize].socket.as_fd();
            // A rank that has ended reads nothing.
            let _ = Real.send(socket, lines.as_bytes());
            world.rouse(Wait::Descriptor);
        }
        Instruction::Terminate | Instruction::Kill | Instruction::Stopped { .. } => {
            let left: Vec<usize> =
                (0..connections.len()).filter(|rank| !world.with(*rank, |actor| actor.is_over())).collect();
            world.fails_here(format_args!(
                "{GRACE:?} after the first failure, ranks {left:?} have not noticed that they cannot go on"
            ));
        }
        Instruction::Failed { rank, ending, .. } => {
            world.note(format_args!("says that rank {rank} {ending}"));
        }
        Instruction::Report(rank, json) => world.note(format_args!("has a report of rank {rank}: {json}")),
    }
}
