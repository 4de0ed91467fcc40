//! The part of a task's interface that is about windows.

use crate::mailbox::{Answer, Command, Place};
use crate::port::{Flight, Port};
use crate::program::WindowCall;
use crate::window_data::{Operand, SharedMemory};
use carrousel_rank::epoch::{Call, Flags};
use carrousel_rank::{UsageError, WindowIndex};

impl Port {
    /// Makes the next window, with this memory of the rank. Every rank makes the same ones in the same order; none may
    /// be used before all ranks have made it.
    pub async fn create_window(&self, flags: Flags, memory: SharedMemory, place: Place) -> WindowIndex {
        self.ask(Command::Create(flags, memory), place).await;
        let windows = &mut self.0.borrow_mut().windows;
        *windows += 1;
        WindowIndex(*windows - 1)
    }

    /// Calls a window, and waits until what the call has begun is complete.
    ///
    /// # Errors
    /// If the epochs of the window do not admit the call.
    pub async fn call_window(
        &self,
        window: WindowIndex,
        call: Call<'_>,
        place: Place,
    ) -> Result<(), UsageError> {
        match self.ask(Command::Window(WindowCall::new(window, call, true), None), place).await {
            Answer::Refused(error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Calls a window, and goes on: returns the request, if the call begins one. An operation brings its bytes.
    ///
    /// # Errors
    /// If the epochs of the window do not admit the call.
    pub async fn start_on_window(
        &self,
        window: WindowIndex,
        call: Call<'_>,
        operand: Option<Operand>,
        place: Place,
    ) -> Result<Option<Flight>, UsageError> {
        let call = WindowCall::new(window, call, false);
        match self.ask(Command::Window(call, operand), place).await {
            Answer::Done => Ok(None),
            answer => self.flight(answer, place, false).map(Some),
        }
    }
}
