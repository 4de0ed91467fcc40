//! Accesses to the memory of targets.

use super::own::{Place, Window};
use super::pending::{FetchRequest, Fetched, WindowRequest};
use super::stride::Stride;
use carrousel::{Element, Error};
use carrousel_rank::RankId;
use carrousel_rank::epoch::{AccumulateOp, Call, ElementType, Flush, Transfer, TransferKind};
use carrousel_transport_sim::Operand;
use std::future::Future;
use std::ops::Deref;
use std::panic::Location;
use zerocopy::IntoBytes;

/// Numbers that atomic operations combine.
pub trait Number: Element + IntoBytes {
    /// Their type, for whoever carries the operation out.
    const TYPE: ElementType;
}

macro_rules! numbers {
    ($($number:ty: $name:ident),*) => {$(
        impl Number for $number {
            const TYPE: ElementType = ElementType::$name;
        }
    )*};
}
numbers!(i8: I8, i16: I16, i32: I32, i64: I64, u8: U8, u16: U16, u32: U32, u64: U64, f32: F32, f64: F64);

/// What an open epoch may do to its targets. Each call returns at once. Positions are elements from the beginning of the
/// target's memory. A buffer that is handed in belongs to the library until the operation is complete.
#[derive(Debug)]
pub struct Access<'w, T: Element> {
    pub(super) window: &'w Window<T>,
}

/// An operation, before it is called.
struct Operation {
    kind: TransferKind,
    target: u32,
    at: Stride,
    len: usize,
    operand: Operand,
    with_request: bool,
}

impl<T: Element> Access<'_, T> {
    async fn call(&self, operation: Operation, place: Place) -> Result<WindowRequest, Error> {
        let Operation { kind, target, at, len, operand, with_request } = operation;
        let blocks = at.blocks::<T>(target, len, self.window.len_at(target)?)?;
        let transfer = Transfer { target: RankId(target), kind, place: blocks, local: 0 };
        self.window.start_with(Call::Transfer { transfer, with_request }, Some(operand), place).await
    }

    async fn call_without_request(&self, operation: Operation, place: Place) -> Result<(), Error> {
        self.call(operation, place).await.map(drop)
    }

    /// Writes `data` at the target (`MPI_Put`).
    ///
    /// # Errors
    /// If the target is not one of the epoch, or has not so much memory.
    #[track_caller]
    pub fn put(
        &self,
        data: Vec<T>,
        target: u32,
        at: impl Into<Stride>,
    ) -> impl Future<Output = Result<(), Error>> {
        self.call_without_request(put(&data, target, at.into(), false), Location::caller())
    }

    /// As [`Access::put`] of so many elements, in a window without bytes ([`World::window_without_bytes`]).
    ///
    /// [`World::window_without_bytes`]: crate::World::window_without_bytes
    ///
    /// # Errors
    /// As [`Access::put`].
    #[track_caller]
    pub fn put_blank(
        &self,
        len: usize,
        target: u32,
        at: impl Into<Stride>,
    ) -> impl Future<Output = Result<(), Error>> {
        let operand = Operand::default();
        let (kind, at) = (TransferKind::Put, at.into());
        let operation = Operation { kind, target, at, len, operand, with_request: false };
        self.call_without_request(operation, Location::caller())
    }

    /// Reads so many elements of the target (`MPI_Get`).
    ///
    /// # Errors
    /// As [`Access::put`].
    #[track_caller]
    pub fn get(
        &self,
        len: usize,
        target: u32,
        at: impl Into<Stride>,
    ) -> impl Future<Output = Result<Fetched<T>, Error>> {
        let (place, at) = (Location::caller(), at.into());
        async move {
            let (fetched, operation) = get(len, target, at, false);
            self.call_without_request(operation, place).await?;
            Ok(fetched)
        }
    }
}

fn put<T: Element>(data: &[T], target: u32, at: Stride, with_request: bool) -> Operation {
    let operand = Operand { bytes: data.as_bytes().to_vec(), ..Operand::default() };
    Operation { kind: TransferKind::Put, target, at, len: data.len(), operand, with_request }
}

fn get<T: Element>(len: usize, target: u32, at: Stride, with_request: bool) -> (Fetched<T>, Operation) {
    let (fetched, place) = Fetched::new();
    let operand = Operand { fetched: Some(place), ..Operand::default() };
    (fetched, Operation { kind: TransferKind::Get, target, at, len, operand, with_request })
}

/// An operation that combines, and fetches what was there, if `kind` does.
fn combine<T: Number>(
    kind: TransferKind,
    op: AccumulateOp,
    data: &[T],
    (target, at): (u32, Stride),
    with_request: bool,
) -> Result<(Fetched<T>, Operation), Error> {
    op.check(T::TYPE)?;
    let (fetched, place) = Fetched::new();
    let bytes = data.as_bytes().to_vec();
    let operand = Operand { bytes, combine: Some((op, T::TYPE)), compare: Vec::new(), fetched: Some(place) };
    Ok((fetched, Operation { kind, target, at, len: data.len(), operand, with_request }))
}

impl<T: Number> Access<'_, T> {
    /// Combines `data` with the target's elements, each of them atomically (`MPI_Accumulate`).
    ///
    /// # Errors
    /// As [`Access::put`], or if the operation is not defined for these numbers.
    #[track_caller]
    pub fn accumulate(
        &self,
        op: AccumulateOp,
        data: Vec<T>,
        target: u32,
        at: impl Into<Stride>,
    ) -> impl Future<Output = Result<(), Error>> {
        let (place, at) = (Location::caller(), at.into());
        async move {
            let (_, operation) = combine(TransferKind::Accumulate, op, &data, (target, at), false)?;
            self.call_without_request(operation, place).await
        }
    }

    /// The same, and reads what was there (`MPI_Get_accumulate`).
    ///
    /// # Errors
    /// As [`Access::accumulate`].
    #[track_caller]
    pub fn get_accumulate(
        &self,
        op: AccumulateOp,
        data: Vec<T>,
        target: u32,
        at: impl Into<Stride>,
    ) -> impl Future<Output = Result<Fetched<T>, Error>> {
        let (place, at) = (Location::caller(), at.into());
        async move {
            let (fetched, operation) = combine(TransferKind::GetAccumulate, op, &data, (target, at), false)?;
            self.call_without_request(operation, place).await?;
            Ok(fetched)
        }
    }

    /// The same for one element (`MPI_Fetch_and_op`).
    ///
    /// # Errors
    /// As [`Access::accumulate`].
    #[track_caller]
    pub fn fetch_and_op(
        &self,
        op: AccumulateOp,
        value: T,
        target: u32,
        at: impl Into<Stride>,
    ) -> impl Future<Output = Result<Fetched<T>, Error>> {
        let (place, at) = (Location::caller(), at.into());
        async move {
            let (fetched, operation) = combine(TransferKind::FetchAndOp, op, &[value], (target, at), false)?;
            self.call_without_request(operation, place).await?;
            Ok(fetched)
        }
    }

    /// Writes `new` if the target's element is `expected`, and reads what was there (`MPI_Compare_and_swap`).
    ///
    /// # Errors
    /// As [`Access::put`].
    #[track_caller]
    pub fn compare_and_swap(
        &self,
        expected: T,
        new: T,
        target: u32,
        at: impl Into<Stride>,
    ) -> impl Future<Output = Result<Fetched<T>, Error>> {
        let (place, at) = (Location::caller(), at.into());
        async move {
            let (fetched, room) = Fetched::new();
            let [bytes, compare] = [new, expected].map(|value| value.as_bytes().to_vec());
            let operand = Operand { bytes, combine: None, compare, fetched: Some(room) };
            let kind = TransferKind::CompareAndSwap;
            let operation = Operation { kind, target, at, len: 1, operand, with_request: false };
            self.call_without_request(operation, place).await?;
            Ok(fetched)
        }
    }
}

/// What an epoch with locks may do: accesses, with requests of their own, too, and flushes.
#[derive(Debug)]
pub struct PassiveAccess<'w, T: Element>(pub(super) Access<'w, T>);

impl<'w, T: Element> Deref for PassiveAccess<'w, T> {
    type Target = Access<'w, T>;

    fn deref(&self) -> &Access<'w, T> {
        &self.0
    }
}

impl<T: Element> PassiveAccess<'_, T> {
    /// As [`Access::put`], with a request (`MPI_Rput`).
    ///
    /// # Errors
    /// As [`Access::put`].
    #[track_caller]
    pub fn rput(
        &self,
        data: Vec<T>,
        target: u32,
        at: impl Into<Stride>,
    ) -> impl Future<Output = Result<WindowRequest, Error>> {
        self.0.call(put(&data, target, at.into(), true), Location::caller())
    }

    /// As [`Access::get`], with a request (`MPI_Rget`).
    ///
    /// # Errors
    /// As [`Access::put`].
    #[track_caller]
    pub fn rget(
        &self,
        len: usize,
        target: u32,
        at: impl Into<Stride>,
    ) -> impl Future<Output = Result<FetchRequest<T>, Error>> {
        let (place, at) = (Location::caller(), at.into());
        async move {
            let (fetched, operation) = get(len, target, at, true);
            let request = self.0.call(operation, place).await?;
            Ok(FetchRequest { request, fetched: Some(fetched) })
        }
    }

    /// Waits until the operations so far are complete at the target (`MPI_Win_flush`).
    ///
    /// # Errors
    /// If no lock of the target is held or requested.
    #[track_caller]
    pub fn flush(&self, target: u32) -> impl Future<Output = Result<(), Error>> {
        self.block(Some(target), false)
    }

    /// The same for all targets (`MPI_Win_flush_all`).
    ///
    /// # Errors
    /// If a target is gone.
    #[track_caller]
    pub fn flush_all(&self) -> impl Future<Output = Result<(), Error>> {
        self.block(None, false)
    }

    /// Waits until the library needs no buffer of the operations to the target any more (`MPI_Win_flush_local`).
    ///
    /// # Errors
    /// As [`PassiveAccess::flush`].
    #[track_caller]
    pub fn flush_local(&self, target: u32) -> impl Future<Output = Result<(), Error>> {
        self.block(Some(target), true)
    }

    /// The same for all targets (`MPI_Win_flush_local_all`).
    ///
    /// # Errors
    /// If a target is gone.
    #[track_caller]
    pub fn flush_local_all(&self) -> impl Future<Output = Result<(), Error>> {
        self.block(None, true)
    }

    /// As [`PassiveAccess::flush`], without waiting: the request covers the operations so far.
    ///
    /// # Errors
    /// As [`PassiveAccess::flush`].
    #[track_caller]
    pub fn iflush(&self, target: u32) -> impl Future<Output = Result<WindowRequest, Error>> {
        self.request(Some(target), false)
    }

    /// The same for all targets.
    ///
    /// # Errors
    /// If a target is gone.
    #[track_caller]
    pub fn iflush_all(&self) -> impl Future<Output = Result<WindowRequest, Error>> {
        self.request(None, false)
    }

    /// As [`PassiveAccess::flush_local`], without waiting.
    ///
    /// # Errors
    /// As [`PassiveAccess::flush`].
    #[track_caller]
    pub fn iflush_local(&self, target: u32) -> impl Future<Output = Result<WindowRequest, Error>> {
        self.request(Some(target), true)
    }

    /// The same for all targets.
    ///
    /// # Errors
    /// If a target is gone.
    #[track_caller]
    pub fn iflush_local_all(&self) -> impl Future<Output = Result<WindowRequest, Error>> {
        self.request(None, true)
    }

    #[track_caller]
    fn block(&self, target: Option<u32>, is_local: bool) -> impl Future<Output = Result<(), Error>> {
        self.0.window.block(flush(target, is_local), Location::caller())
    }

    #[track_caller]
    fn request(
        &self,
        target: Option<u32>,
        is_local: bool,
    ) -> impl Future<Output = Result<WindowRequest, Error>> {
        self.0.window.request(flush(target, is_local), Location::caller())
    }
}

fn flush(target: Option<u32>, is_local: bool) -> Call<'static> {
    Call::FlushWithRequest(Flush { target: target.map(RankId), is_local })
}

impl<T: Number> PassiveAccess<'_, T> {
    /// As [`Access::accumulate`], with a request (`MPI_Raccumulate`).
    ///
    /// # Errors
    /// As [`Access::accumulate`].
    #[track_caller]
    pub fn raccumulate(
        &self,
        op: AccumulateOp,
        data: Vec<T>,
        target: u32,
        at: impl Into<Stride>,
    ) -> impl Future<Output = Result<WindowRequest, Error>> {
        let (place, at) = (Location::caller(), at.into());
        async move {
            let (_, operation) = combine(TransferKind::Accumulate, op, &data, (target, at), true)?;
            self.0.call(operation, place).await
        }
    }

    /// As [`Access::get_accumulate`], with a request (`MPI_Rget_accumulate`).
    ///
    /// # Errors
    /// As [`Access::accumulate`].
    #[track_caller]
    pub fn rget_accumulate(
        &self,
        op: AccumulateOp,
        data: Vec<T>,
        target: u32,
        at: impl Into<Stride>,
    ) -> impl Future<Output = Result<FetchRequest<T>, Error>> {
        let (place, at) = (Location::caller(), at.into());
        async move {
            let (fetched, operation) = combine(TransferKind::GetAccumulate, op, &data, (target, at), true)?;
            let request = self.0.call(operation, place).await?;
            Ok(FetchRequest { request, fetched: Some(fetched) })
        }
    }
}
