//! Messages without tags (fi_msg(3)).

use super::start::{TRANSMIT_FLAGS, receive, receive_into, transmit, transmit_from};
use crate::bindings as b;
use crate::fi::{self, Errno};
use crate::state::{Incoming, Operation, Outgoing};
use std::ffi::c_void;

pub(super) static OPS: b::fi_ops_msg = b::fi_ops_msg {
    size: size_of::<b::fi_ops_msg>(),
    recv: Some(recv),
    recvv: Some(recvv),
    recvmsg: Some(recvmsg),
    send: Some(send),
    sendv: Some(sendv),
    sendmsg: Some(sendmsg),
    inject: Some(inject),
    senddata: Some(senddata),
    injectdata: Some(injectdata),
};

unsafe extern "C" fn recv(
    ep: *mut b::fid_ep,
    buffer: *mut c_void,
    len: usize,
    _: *mut c_void,
    from: b::fi_addr_t,
    context: *mut c_void,
) -> isize {
    let (of, buffer, context) = (Operation::Message, buffer.cast(), context.addr());
    let incoming = Incoming { of, buffer, len, from, tag: 0, ignore: 0, context, flags: 0 };
    // SAFETY: as the host's promises of this call.
    unsafe { receive(ep, incoming, None) }
}

/// A receive whose buffer and flags are filled in later.
fn incoming(from: u64, context: *mut c_void) -> Incoming {
    let (of, buffer, context) = (Operation::Message, std::ptr::null_mut(), context.addr());
    Incoming { of, buffer, len: 0, from, tag: 0, ignore: 0, context, flags: 0 }
}

unsafe extern "C" fn recvv(
    ep: *mut b::fid_ep,
    iov: *const b::iovec,
    _: *mut *mut c_void,
    count: usize,
    from: b::fi_addr_t,
    context: *mut c_void,
) -> isize {
    // SAFETY: as the host's promises of this call.
    unsafe { receive_into(ep, (iov, count), incoming(from, context), None) }
}

unsafe extern "C" fn recvmsg(ep: *mut b::fid_ep, msg: *const b::fi_msg, flags: u64) -> isize {
    const KNOWN: u64 = fi::COMPLETION | fi::MULTI_RECV | fi::MORE;
    if flags & !KNOWN != 0 {
        return Errno::FLAGS.code() as isize;
    }
    // SAFETY: as the host's promises of this call.
    unsafe {
        let &b::fi_msg { msg_iov, iov_count, addr, context, .. } = &*msg;
        receive_into(ep, (msg_iov, iov_count), incoming(addr, context), Some(flags))
    }
}

/// A message whose flags are filled in later.
fn outgoing(buffer: *const c_void, len: usize, to: u64, context: *mut c_void) -> Outgoing {
    let (of, buffer, context) = (Operation::Message, buffer.cast(), context.addr());
    Outgoing { of, buffer, len, to, tag: 0, data: None, context, flags: 0, silent: false }
}

unsafe extern "C" fn send(
    ep: *mut b::fid_ep,
    buffer: *const c_void,
    len: usize,
    _: *mut c_void,
    to: b::fi_addr_t,
    context: *mut c_void,
) -> isize {
    // SAFETY: as the host's promises of this call.
    unsafe { transmit(ep, outgoing(buffer, len, to, context), None) }
}

unsafe extern "C" fn sendv(
    ep: *mut b::fid_ep,
    iov: *const b::iovec,
    _: *mut *mut c_void,
    count: usize,
    to: b::fi_addr_t,
    context: *mut c_void,
) -> isize {
    // SAFETY: as the host's promises of this call.
    unsafe { transmit_from(ep, (iov, count), outgoing(std::ptr::null(), 0, to, context), None) }
}

unsafe extern "C" fn sendmsg(ep: *mut b::fid_ep, msg: *const b::fi_msg, flags: u64) -> isize {
    if flags & !TRANSMIT_FLAGS != 0 {
        return Errno::FLAGS.code() as isize;
    }
    // SAFETY: as the host's promises of this call.
    unsafe {
        let msg = &*msg;
        let data = (flags & fi::REMOTE_CQ_DATA != 0).then_some(msg.data);
        let message = outgoing(std::ptr::null(), 0, msg.addr, msg.context);
        transmit_from(ep, (msg.msg_iov, msg.iov_count), Outgoing { data, ..message }, Some(flags))
    }
}

unsafe extern "C" fn inject(
    ep: *mut b::fid_ep,
    buffer: *const c_void,
    len: usize,
    to: b::fi_addr_t,
) -> isize {
    let message = Outgoing { silent: true, ..outgoing(buffer, len, to, std::ptr::null_mut()) };
    // SAFETY: as the host's promises of this call.
    unsafe { transmit(ep, message, Some(fi::INJECT)) }
}

unsafe extern "C" fn senddata(
    ep: *mut b::fid_ep,
    buffer: *const c_void,
    len: usize,
    _: *mut c_void,
    data: u64,
    to: b::fi_addr_t,
    context: *mut c_void,
) -> isize {
    let message = Outgoing { data: Some(data), ..outgoing(buffer, len, to, context) };
    // SAFETY: as the host's promises of this call.
    unsafe { transmit(ep, message, None) }
}

unsafe extern "C" fn injectdata(
    ep: *mut b::fid_ep,
    buffer: *const c_void,
    len: usize,
    data: u64,
    to: b::fi_addr_t,
) -> isize {
    let message = outgoing(buffer, len, to, std::ptr::null_mut());
    let message = Outgoing { data: Some(data), silent: true, ..message };
    // SAFETY: as the host's promises of this call.
    unsafe { transmit(ep, message, Some(fi::INJECT)) }
}
