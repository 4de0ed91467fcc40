//! Endpoints (fi_endpoint(3)).

#![allow(unsafe_code, reason = "the border to libfabric")]

mod atomic;
mod collective;
mod msg;
mod rma;
mod start;
mod tagged;

use self::start::{EpObject, with};

use crate::av::{AvObject, give_address};
use crate::bindings as b;
use crate::cntr::CntrObject;
use crate::cq::CqObject;
use crate::fi::{self, Errno, Returned};
use crate::info::inject_bytes;
use crate::object::{head, table};
use crate::parts::{DomainObject, Part};
use crate::refused::no_ops_open;
use crate::settings;
use crate::state::{Counted, Ep, EpOptions};
use crate::tell::tell;
use std::ffi::{c_int, c_void};
use std::time::{Duration, Instant};

/// How long an endpoint that closes waits for its peers, while nothing moves, before it says so.
const SILENT: Duration = Duration::from_secs(10);
/// How often it looks then.
const LOOKS: Duration = Duration::from_millis(1);

pub(crate) unsafe extern "C" fn open(
    domain: *mut b::fid_domain,
    info: *mut b::fi_info,
    ep: *mut *mut b::fid_ep,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the host passes a domain, what `getinfo` has offered, and a place for the answer.
    unsafe {
        let Some(info) = info.as_ref() else { return Errno::INVALID.code() };
        if info.ep_attr.as_ref().is_some_and(|attr| !matches!(attr.type_, b::FI_EP_RDM | b::FI_EP_UNSPEC)) {
            return Errno::INVALID.code();
        }
        let settings = match settings::read() {
            Ok(settings) => settings,
            Err(error) => return error.code(),
        };
        let options = EpOptions {
            caps: info.caps,
            transmit_flags: info.tx_attr.as_ref().map_or(0, |attr| attr.op_flags),
            receive_flags: info.rx_attr.as_ref().map_or(0, |attr| attr.op_flags),
            inject_bytes: inject_bytes(settings.protocol().eager_threshold),
            patience: settings::patience(&settings),
            reports: settings.report(),
        };
        let engine = match settings::open() {
            Ok(engine) => engine,
            Err(error) => return error.code(),
        };
        let domain = DomainObject::of(domain).own.clone();
        let at = domain.state.with(|state| state.eps.insert(Ep::new(engine, options)));
        let fid = b::fid_ep {
            fid: head(b::FI_CLASS_EP, context, &OPS),
            ops: table(&EP_OPS),
            cm: table(&CM_OPS),
            msg: table(&msg::OPS),
            rma: table(&rma::OPS),
            tagged: table(&tagged::OPS),
            atomic: table(&atomic::OPS),
            collective: table(&collective::OPS),
        };
        *ep = EpObject::give(fid, Part { domain, at });
    }
    0
}

pub(crate) unsafe extern "C" fn open2(
    domain: *mut b::fid_domain,
    info: *mut b::fi_info,
    ep: *mut *mut b::fid_ep,
    flags: u64,
    context: *mut c_void,
) -> c_int {
    if flags != 0 {
        return Errno::NOT_SUPPORTED.code();
    }
    // SAFETY: as the host's promises of this call.
    unsafe { open(domain, info, ep, context) }
}

static OPS: b::fi_ops = b::fi_ops {
    size: size_of::<b::fi_ops>(),
    close: Some(close),
    bind: Some(bind),
    control: Some(control),
    ops_open: Some(no_ops_open),
    tostr: None,
    ops_set: None,
};

static EP_OPS: b::fi_ops_ep = b::fi_ops_ep {
    size: size_of::<b::fi_ops_ep>(),
    cancel: Some(cancel),
    getopt: Some(getopt),
    setopt: Some(setopt),
    tx_ctx: Some(tx_ctx),
    rx_ctx: Some(rx_ctx),
    rx_size_left: Some(size_left),
    tx_size_left: Some(size_left),
};

static CM_OPS: b::fi_ops_cm = b::fi_ops_cm {
    size: size_of::<b::fi_ops_cm>(),
    setname: Some(setname),
    getname: Some(getname),
    getpeer: Some(getpeer),
    connect: Some(connect),
    listen: Some(listen),
    accept: Some(accept),
    reject: Some(reject),
    shutdown: Some(shutdown),
    join: Some(join),
};

/// Lets messages move until all has arrived that was sent, whenever its receivers come: a host may close once its sends are
/// complete (fi_msg(3), `fi_inject`), and MPICH does even before, when a program has freed their requests (MPI 3.7.3). Those
/// that close, too, are not waited for.
fn deliver(part: &Part) {
    let (mut left, mut moved) = (0, Instant::now());
    part.with(|state, at| state.eps.get_mut(at).into_iter().for_each(Ep::leave));
    loop {
        let awaited = part.with(|state, at| {
            state.progress(at);
            let ep = state.eps.get_mut(at)?;
            ep.is_awaited().then(|| ep.open())
        });
        let Some(open) = awaited else { return };
        if open != left {
            (left, moved) = (open, Instant::now());
        }
        // A peer may need this processor.
        if moved.elapsed() < SILENT {
            std::thread::yield_now();
        } else {
            tell("an endpoint that closes still waits until what it has sent is received".to_owned());
            std::thread::sleep(LOOKS);
        }
    }
}

unsafe extern "C" fn close(fid: *mut b::fid) -> c_int {
    // SAFETY: the host passes an endpoint that it has opened.
    let part = unsafe { EpObject::take(fid) };
    deliver(&part.own);
    part.own.with(|state, at| {
        let Some(ep) = state.eps.remove(at) else { return };
        if let Some(av) = ep.av.and_then(|av| state.avs.get_mut(av)) {
            av.users -= 1;
        }
        for cq in [ep.transmit.cq, ep.receive.cq].into_iter().flatten() {
            if let Some(cq) = state.shared.cqs.get_mut(cq) {
                cq.users -= 1;
            }
        }
        for cntr in ep.cntrs.into_iter().flatten() {
            if let Some(cntr) = state.shared.cntrs.get_mut(cntr) {
                cntr.users -= 1;
            }
        }
        ep.close();
    });
    0
}

unsafe extern "C" fn bind(fid: *mut b::fid, bound: *mut b::fid, flags: u64) -> c_int {
    // SAFETY: the host passes an endpoint and another object that it has opened.
    unsafe {
        let own = &EpObject::of(fid).own;
        let same = |part: &Part| std::sync::Arc::ptr_eq(&part.domain, &own.domain);
        let result = match (*bound).fclass as u32 {
            b::FI_CLASS_EQ => Ok(()),
            b::FI_CLASS_AV if same(&AvObject::of(bound).own) => bind_av(own, AvObject::of(bound).own.at),
            b::FI_CLASS_CQ if same(&CqObject::of(bound).own) => {
                bind_cq(own, CqObject::of(bound).own.at, flags)
            }
            b::FI_CLASS_CNTR if same(&CntrObject::of(bound).own) => {
                bind_cntr(own, CntrObject::of(bound).own.at, flags)
            }
            _ => Err(Errno::INVALID),
        };
        result.returned()
    }
}

fn bind_av(own: &Part, av: usize) -> Result<(), Errno> {
    own.with(|state, at| {
        let ep = state.eps.get_mut(at).ok_or(Errno::INVALID)?;
        let av_of = state.avs.get_mut(av).ok_or(Errno::INVALID)?;
        if ep.av.is_some() || ep.enabled {
            return Err(Errno::INVALID);
        }
        ep.av = Some(av);
        av_of.users += 1;
        Ok(())
    })
}

fn bind_cq(own: &Part, cq: usize, flags: u64) -> Result<(), Errno> {
    if flags & !(fi::SEND | fi::RECV | fi::SELECTIVE_COMPLETION) != 0 || flags & (fi::SEND | fi::RECV) == 0 {
        return Err(Errno::FLAGS);
    }
    own.with(|state, at| {
        let ep = state.eps.get_mut(at).ok_or(Errno::INVALID)?;
        let queue = state.shared.cqs.get_mut(cq).ok_or(Errno::INVALID)?;
        let bindings = [(fi::SEND, &mut ep.transmit), (fi::RECV, &mut ep.receive)];
        for (_, binding) in bindings.into_iter().filter(|(flag, _)| flags & flag != 0) {
            if ep.enabled || binding.cq.is_some() {
                return Err(Errno::INVALID);
            }
            binding.cq = Some(cq);
            binding.selective = flags & fi::SELECTIVE_COMPLETION != 0;
            queue.users += 1;
        }
        Ok(())
    })
}

fn bind_cntr(own: &Part, cntr: usize, flags: u64) -> Result<(), Errno> {
    const COUNTED: [(u64, Counted); 6] = [
        (fi::SEND, Counted::Send),
        (fi::RECV, Counted::Recv),
        (fi::READ, Counted::Read),
        (fi::WRITE, Counted::Write),
        (fi::REMOTE_READ, Counted::RemoteRead),
        (fi::REMOTE_WRITE, Counted::RemoteWrite),
    ];
    if flags == 0 || flags & !COUNTED.iter().fold(0, |all, (flag, _)| all | flag) != 0 {
        return Err(Errno::FLAGS);
    }
    own.with(|state, at| {
        let ep = state.eps.get_mut(at).ok_or(Errno::INVALID)?;
        let counter = state.shared.cntrs.get_mut(cntr).ok_or(Errno::INVALID)?;
        for (_, counted) in COUNTED.into_iter().filter(|(flag, _)| flags & flag != 0) {
            if ep.cntrs[counted as usize].is_some() {
                return Err(Errno::INVALID);
            }
            ep.cntrs[counted as usize] = Some(cntr);
            counter.users += 1;
        }
        Ok(())
    })
}

unsafe extern "C" fn control(fid: *mut b::fid, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the host passes an endpoint, and what the command takes.
    unsafe {
        let result = match command as u32 {
            b::FI_ENABLE => with(fid, |ep, _, _| ep.enable()),
            b::FI_GETOPSFLAG | b::FI_SETOPSFLAG => {
                let flags = &mut *argument.cast::<u64>();
                let sets = command as u32 == b::FI_SETOPSFLAG;
                with(fid, |ep, _, _| {
                    // fi_endpoint(3): the flag says of which queue.
                    let queue = match *flags & (fi::SEND | fi::RECV) {
                        fi::SEND => &mut ep.transmit,
                        fi::RECV => &mut ep.receive,
                        _ => return Err(Errno::FLAGS),
                    };
                    if sets {
                        queue.flags = *flags & !(fi::SEND | fi::RECV);
                    } else {
                        *flags = queue.flags;
                    }
                    Ok(())
                })
            }
            _ => Err(Errno::NOT_SUPPORTED),
        };
        result.returned()
    }
}

unsafe extern "C" fn cancel(fid: *mut b::fid, context: *mut c_void) -> isize {
    // SAFETY: the host passes an endpoint.
    unsafe { with(fid, |ep, avs, shared| ep.cancel(context.addr(), avs, shared)) }.returned() as isize
}

unsafe extern "C" fn getopt(
    fid: *mut b::fid,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut usize,
) -> c_int {
    if level as u32 != b::FI_OPT_ENDPOINT || name as u32 != b::FI_OPT_MIN_MULTI_RECV {
        return Errno::NO_OPTION.code();
    }
    // SAFETY: the host passes an endpoint, and room of `*len` bytes.
    unsafe {
        if *len < size_of::<usize>() {
            *len = size_of::<usize>();
            return Errno::TOO_SMALL.code();
        }
        *len = size_of::<usize>();
        with(fid, |ep, _, _| {
            *value.cast::<usize>() = ep.least_room();
            Ok(())
        })
        .returned()
    }
}

unsafe extern "C" fn setopt(
    fid: *mut b::fid,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: usize,
) -> c_int {
    if level as u32 != b::FI_OPT_ENDPOINT || name as u32 != b::FI_OPT_MIN_MULTI_RECV {
        return Errno::NO_OPTION.code();
    }
    if len != size_of::<usize>() {
        return Errno::INVALID.code();
    }
    // SAFETY: the host passes an endpoint, and a value of `len` bytes.
    unsafe {
        let bytes = *value.cast::<usize>();
        with(fid, |ep, _, _| {
            ep.set_least_room(bytes);
            Ok(())
        })
        .returned()
    }
}

unsafe extern "C" fn tx_ctx(
    _: *mut b::fid_ep,
    _: c_int,
    _: *mut b::fi_tx_attr,
    _: *mut *mut b::fid_ep,
    _: *mut c_void,
) -> c_int {
    Errno::NOT_SUPPORTED.code()
}

unsafe extern "C" fn rx_ctx(
    _: *mut b::fid_ep,
    _: c_int,
    _: *mut b::fi_rx_attr,
    _: *mut *mut b::fid_ep,
    _: *mut c_void,
) -> c_int {
    Errno::NOT_SUPPORTED.code()
}

unsafe extern "C" fn size_left(_: *mut b::fid_ep) -> isize {
    Errno::NOT_SUPPORTED.code() as isize
}

unsafe extern "C" fn setname(_: *mut b::fid, _: *mut c_void, _: usize) -> c_int {
    Errno::NOT_SUPPORTED.code()
}

unsafe extern "C" fn getname(fid: *mut b::fid, address: *mut c_void, len: *mut usize) -> c_int {
    // SAFETY: the host passes an endpoint, and room of `*len` bytes.
    unsafe {
        match with(fid, |ep, _, _| ep.name()) {
            Ok(bytes) if give_address(&bytes, address, len) => 0,
            Ok(_) => Errno::TOO_SMALL.code(),
            Err(error) => error.code(),
        }
    }
}

unsafe extern "C" fn getpeer(_: *mut b::fid_ep, _: *mut c_void, _: *mut usize) -> c_int {
    Errno::NOT_SUPPORTED.code()
}

unsafe extern "C" fn connect(_: *mut b::fid_ep, _: *const c_void, _: *const c_void, _: usize) -> c_int {
    Errno::NOT_SUPPORTED.code()
}

unsafe extern "C" fn listen(_: *mut b::fid_pep) -> c_int {
    Errno::NOT_SUPPORTED.code()
}

unsafe extern "C" fn accept(_: *mut b::fid_ep, _: *const c_void, _: usize) -> c_int {
    Errno::NOT_SUPPORTED.code()
}

unsafe extern "C" fn reject(_: *mut b::fid_pep, _: *mut b::fid, _: *const c_void, _: usize) -> c_int {
    Errno::NOT_SUPPORTED.code()
}

unsafe extern "C" fn shutdown(_: *mut b::fid_ep, _: u64) -> c_int {
    Errno::NOT_SUPPORTED.code()
}

unsafe extern "C" fn join(
    _: *mut b::fid_ep,
    _: *const c_void,
    _: u64,
    _: *mut *mut b::fid_mc,
    _: *mut c_void,
) -> c_int {
    Errno::NOT_SUPPORTED.code()
}
