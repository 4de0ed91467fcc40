//! A device, its port, and what it can do.

use super::on_demand::has_on_demand;
use super::{checked, last, made};
use crate::choosing::{self, GidRank, LinkLayer, PortState};
use crate::{Choice, VerbsError, sysfs};
use rdma_sys as sys;
use std::ffi::CStr;
use std::fmt;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;

/// What the device can do at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) queue_depth: u32,
    pub(crate) completions: u32,
    pub(crate) receives: u32,
    /// Reads and atomics that a queue pair serves, and starts, at a time.
    pub(crate) reads_served: u8,
    pub(crate) reads_started: u8,
    /// Bytes of one work request.
    pub(crate) message: u64,
    /// Whether it can be given fences. Not Soft-RoCE (`rxe`, as of Linux 6.1): when it sends again from an earlier request
    /// on, because that was lost or met no receive buffer, a fence waits for all reads that were ever started
    /// (`rxe_wqe_is_fenced`), also for those behind it, which wait for it. It is to start one read or atomic at a time
    /// instead: each then waits for those before it, and what is posted behind one starts no earlier. So a read of nothing
    /// that matters ([`QueuePair::fence`](super::QueuePair::fence)) stands for a fence.
    pub(crate) fences: bool,
    /// Whether it has atomics, each of which is whole for the others of this device. Soft-RoCE's are so only on a network
    /// that loses nothing: of one whose answer is lost, it may report a value that was not there, or do it twice.
    pub(crate) atomics: bool,
}

/// The vendor of Soft-RoCE (`RXE_VENDOR_ID`): none.
const RXE: u32 = 0xff_ffff;

/// An open device and one of its ports.
pub struct Device {
    context: *mut sys::ibv_context,
    domain: *mut sys::ibv_pd,
    /// Another one, which no queue pair is in.
    apart: *mut sys::ibv_pd,
    name: String,
    pub(crate) port: u8,
    pub(crate) link: LinkLayer,
    pub(crate) lid: u16,
    pub(crate) gid_index: u8,
    pub(crate) gid: [u8; 16],
    /// As the library counts: 1 is 256 bytes, 5 is 4096.
    pub(crate) mtu: u8,
    pub(crate) limits: Limits,
    on_demand: bool,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, port, .. } = self;
        f.debug_struct("Device").field("name", name).field("port", port).finish_non_exhaustive()
    }
}

// SAFETY: libibverbs is thread safe (ibv_open_device(3) and the "thread safety" section of its documentation:
// every call may be made from any thread); the pointers are only handed to it.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

/// The devices of this machine; freed when dropped.
struct DeviceList {
    devices: *mut *mut sys::ibv_device,
    count: usize,
}

impl DeviceList {
    fn new() -> Result<Self, VerbsError> {
        let mut count = 0;
        // SAFETY: `count` is valid for writes; a null result is looked at.
        let devices = unsafe { sys::ibv_get_device_list(&mut count) };
        if devices.is_null() {
            let why = last("the list of devices");
            // Without the kernel's part of it there is no list.
            let none = matches!(&why, VerbsError::System { why, .. } if why.raw_os_error() == Some(38));
            return Err(if none { VerbsError::NoDevice } else { why });
        }
        Ok(Self { devices, count: usize::try_from(count).unwrap_or(0) })
    }

    fn iter(&self) -> impl Iterator<Item = (*mut sys::ibv_device, String)> + '_ {
        (0..self.count).map(|at| {
            // SAFETY: the list has `count` devices, and is freed with `self` only.
            let device = unsafe { *self.devices.add(at) };
            // SAFETY: a device of the list has a name that ends with 0 and lives as long as the list.
            let name = unsafe { CStr::from_ptr(sys::ibv_get_device_name(device)) };
            (device, name.to_string_lossy().into_owned())
        })
    }
}

impl Drop for DeviceList {
    fn drop(&mut self) {
        // SAFETY: from `ibv_get_device_list`, freed once; opened devices stay valid (ibv_free_device_list(3)).
        unsafe { sys::ibv_free_device_list(self.devices) }
    }
}

impl Device {
    /// The names of all devices.
    ///
    /// # Errors
    /// When there are none, or they cannot be listed.
    pub fn names() -> Result<Vec<String>, VerbsError> {
        let names: Vec<_> = DeviceList::new()?.iter().map(|(_, name)| name).collect();
        if names.is_empty() { Err(VerbsError::NoDevice) } else { Ok(names) }
    }

    /// Opens a device with a port that is up.
    ///
    /// # Errors
    /// When there is none, or the system refuses.
    pub fn open(choice: &Choice) -> Result<Arc<Self>, VerbsError> {
        // Where the kernel does not copy pinned pages when a process forks (before Linux 5.12), the library has to keep them
        // from the child. Where it does, that would only take memory from the child, and tear mappings apart.
        // SAFETY: a question without arguments; and no memory of this process has been registered by this crate before
        // a device is open.
        unsafe {
            if sys::ibv_is_fork_initialized() != sys::IBV_FORK_UNNEEDED {
                checked("preparing for fork", sys::ibv_fork_init())?;
            }
        }
        let list = DeviceList::new()?;
        choosing::device(list.iter(), choice, |device, name| {
            Self::open_one(device, name, choice).map(Arc::new)
        })
    }

    /// The largest packet of a port of the device of this name, if it can be asked.
    pub fn mtu(name: &str, port: u8) -> Option<u32> {
        let list = DeviceList::new().ok()?;
        let (device, name) = list.iter().find(|(_, known)| known == name)?;
        let attributes = Self::opened(device, name).ok()?.port_attributes(port).ok()?;
        // 1 is 256 bytes, 5 is 4096.
        matches!(attributes.active_mtu, 1..=5).then(|| 128 << attributes.active_mtu)
    }

    /// The device, without any of its ports. Dropping it closes it.
    fn opened(device: *mut sys::ibv_device, name: String) -> Result<Self, VerbsError> {
        // SAFETY: `device` is one of a list that lives.
        let context = made("opening the device", unsafe { sys::ibv_open_device(device) })?;
        Ok(Self {
            context,
            domain: std::ptr::null_mut(),
            apart: std::ptr::null_mut(),
            name,
            port: 0,
            link: LinkLayer::Ethernet,
            lid: 0,
            gid_index: 0,
            gid: [0; 16],
            mtu: 1,
            limits: Limits {
                queue_depth: 0,
                completions: 0,
                receives: 0,
                reads_served: 0,
                reads_started: 0,
                message: 0,
                fences: false,
                atomics: false,
            },
            on_demand: false,
        })
    }

    fn open_one(device: *mut sys::ibv_device, name: String, choice: &Choice) -> Result<Self, VerbsError> {
        let mut open = Self::opened(device, name)?;
        let context = open.context;
        // Of two threads that were woken for one event, one would wait for the next.
        let stays =
            |why: rustix::io::Errno| VerbsError::System { what: "listening to the device", why: why.into() };
        rustix::io::ioctl_fionbio(open.events(), true).map_err(stays)?;
        let mut attributes = MaybeUninit::<sys::ibv_device_attr>::zeroed();
        // SAFETY: an open device, and memory for what it says.
        let result = unsafe { sys::ibv_query_device(context, attributes.as_mut_ptr()) };
        checked("asking the device what it can do", result)?;
        // SAFETY: filled by the call, and valid when zero.
        let attributes = unsafe { attributes.assume_init() };
        open.choose_port(attributes.phys_port_cnt, choice)?;
        open.choose_gid(choice)?;
        // SAFETY: an open device.
        open.domain = made("a protection domain", unsafe { sys::ibv_alloc_pd(context) })?;
        // SAFETY: as above.
        open.apart = made("a protection domain", unsafe { sys::ibv_alloc_pd(context) })?;
        let few = |number: i32| u8::try_from(number.clamp(0, 16)).unwrap_or(0);
        let many = |number: i32| u32::try_from(number).unwrap_or(0);
        let has_fences = attributes.vendor_id != RXE;
        open.limits = Limits {
            queue_depth: many(attributes.max_qp_wr),
            completions: many(attributes.max_cqe),
            receives: many(attributes.max_srq_wr),
            reads_served: few(attributes.max_qp_rd_atom),
            reads_started: if has_fences { few(attributes.max_qp_init_rd_atom) } else { 1 },
            fences: has_fences,
            atomics: attributes.atomic_cap != sys::ibv_atomic_cap::IBV_ATOMIC_NONE,
            ..open.limits
        };
        // SAFETY: an open device.
        open.on_demand = unsafe { has_on_demand(context) };
        Ok(open)
    }

    fn choose_port(&mut self, ports: u8, choice: &Choice) -> Result<(), VerbsError> {
        let (port, attributes) = choosing::port(&self.name, ports, choice, |port| {
            let attributes = self.port_attributes(port)?;
            Ok((state(attributes.state), attributes))
        })?;
        // 2 is IBV_LINK_LAYER_ETHERNET; 0, unspecified, is from before there was any other than InfiniBand.
        let is_ethernet = attributes.link_layer == 2;
        self.port = port;
        self.link = if is_ethernet { LinkLayer::Ethernet } else { LinkLayer::InfiniBand };
        self.lid = attributes.lid;
        self.mtu = u8::try_from(attributes.active_mtu).unwrap_or(1);
        // What is larger goes in several work requests; a quarter of the most keeps lengths in 32 bits.
        self.limits.message = u64::from(attributes.max_msg_sz).clamp(1 << 12, 1 << 30);
        Ok(())
    }

    fn port_attributes(&self, port: u8) -> Result<sys::ibv_port_attr, VerbsError> {
        let mut attributes = MaybeUninit::<sys::ibv_port_attr>::zeroed();
        // SAFETY: an open device, and memory for what it says; the older layout of the library's symbol is a prefix of
        // this one.
        let result = unsafe { sys::___ibv_query_port(self.context, port, attributes.as_mut_ptr()) };
        checked("asking a port what it is", result)?;
        // SAFETY: filled by the call, and valid when zero.
        Ok(unsafe { attributes.assume_init() })
    }

    fn choose_gid(&mut self, choice: &Choice) -> Result<(), VerbsError> {
        let Self { name, port, link, .. } = &*self;
        let rank = |index: u8, gid: [u8; 16]| {
            let is_v2 = *link == LinkLayer::Ethernet && sysfs::is_v2(Path::new("/"), name, *port, index);
            GidRank::of(*link, gid, is_v2)
        };
        let chosen = choosing::gid(name, *port, choice, |index| self.gid_at(index), rank)?;
        (self.gid_index, self.gid) = chosen;
        Ok(())
    }

    fn gid_at(&self, index: u8) -> Option<[u8; 16]> {
        let mut gid = MaybeUninit::<sys::ibv_gid>::zeroed();
        // SAFETY: an open device, and memory for the identifier.
        let result = unsafe { sys::ibv_query_gid(self.context, self.port, index.into(), gid.as_mut_ptr()) };
        // SAFETY: 16 bytes, of which any value is one.
        (result == 0).then(|| unsafe { gid.assume_init().raw })
    }

    /// As `ibv_devices` names it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The device, its port and its global identifier, in words.
    pub fn describe(&self) -> String {
        let layer = match self.link {
            LinkLayer::InfiniBand => "InfiniBand",
            LinkLayer::Ethernet => "RoCE",
        };
        let Self { name, port, gid_index, .. } = self;
        format!("{name}, port {port} ({layer}, global identifier {gid_index})")
    }

    /// Whether registrations can follow what the process maps (on-demand paging).
    pub fn is_on_demand(&self) -> bool {
        self.on_demand
    }

    /// Why nothing goes through its port at the moment, if that is so. Asks the device, which knows it before it says so.
    pub(crate) fn fault(&self) -> Option<String> {
        let Self { port, name, .. } = self;
        match self.port_attributes(*port) {
            Ok(attributes) if attributes.state == sys::ibv_port_state::IBV_PORT_ACTIVE => None,
            Ok(attributes) => Some(format!("port {port} of {name} is {}", state(attributes.state))),
            Err(error) => Some(format!("{name}: {error}")),
        }
    }

    pub(crate) fn context(&self) -> *mut sys::ibv_context {
        self.context
    }

    /// What memory, and a queue pair, has to permit for atomics, if the device has some: one that has none may refuse it.
    pub(super) fn atomic_access(&self) -> u32 {
        if self.limits.atomics { sys::ibv_access_flags::IBV_ACCESS_REMOTE_ATOMIC.0 } else { 0 }
    }

    pub(super) fn domain(&self) -> *mut sys::ibv_pd {
        self.domain
    }

    /// A protection domain that no queue pair is in: what is registered there no operation can name.
    pub(super) fn domain_apart(&self) -> *mut sys::ibv_pd {
        self.apart
    }

    /// The way to a port of a peer.
    pub(super) fn way(&self, lid: u16, gid: [u8; 16], service_level: u8) -> sys::ibv_ah_attr {
        // In a subnet of InfiniBand a LID is enough, and headers are shorter. Both ends come to the same answer, so that
        // neither sends, or expects, a global header that the other one does not.
        let has_lids = self.lid != 0 && lid != 0;
        let is_near = self.link == LinkLayer::InfiniBand && has_lids && gid[..8] == self.gid[..8];
        sys::ibv_ah_attr {
            grh: sys::ibv_global_route {
                dgid: sys::ibv_gid { raw: gid },
                flow_label: 0,
                sgid_index: self.gid_index,
                hop_limit: 64,
                traffic_class: 0,
            },
            dlid: lid,
            sl: service_level,
            src_path_bits: 0,
            static_rate: 0,
            is_global: (!is_near).into(),
            port_num: self.port,
        }
    }

    /// Becomes readable when the device has something to say.
    pub(crate) fn events(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor belongs to the open device, which lives as long as `self`.
        unsafe { BorrowedFd::borrow_raw((*self.context).async_fd) }
    }

    /// The next event of the device; `None` if it has no event now, or will have none any more. Of several ranks that
    /// share an open device, one gets each event.
    pub(crate) fn event(&self) -> Option<DeviceEvent> {
        let mut event = MaybeUninit::<sys::ibv_async_event>::zeroed();
        // SAFETY: an open device, and memory for the event.
        let result = unsafe { sys::ibv_get_async_event(self.context, event.as_mut_ptr()) };
        if result != 0 {
            return None;
        }
        let event = event.as_mut_ptr();
        // SAFETY: filled by the call. The kind is read as a number: a newer library may have others than this
        // program's enumeration has, which must not become values of it.
        let (kind, element) =
            unsafe { ((&raw const (*event).event_type).cast::<i32>().read(), &(*event).element) };
        use sys::ibv_event_type as is;
        const DEVICE: i32 = is::IBV_EVENT_DEVICE_FATAL as i32;
        const COMPLETIONS: i32 = is::IBV_EVENT_CQ_ERR as i32;
        const RECEIVES: i32 = is::IBV_EVENT_SRQ_ERR as i32;
        const PAIR: i32 = is::IBV_EVENT_QP_FATAL as i32;
        const PAIR_REFUSES: [i32; 2] = [is::IBV_EVENT_QP_REQ_ERR as i32, is::IBV_EVENT_QP_ACCESS_ERR as i32];
        let told = match kind {
            DEVICE => DeviceEvent::Fatal("the device has failed"),
            COMPLETIONS => DeviceEvent::Fatal("a completion queue has overrun"),
            RECEIVES => DeviceEvent::Fatal("the shared receive queue has failed"),
            // SAFETY: of a queue pair's event the queue pair is the element; its destruction waits until its events
            // are acknowledged, below (ibv_get_async_event(3)).
            PAIR => DeviceEvent::Pair(unsafe { (*element.qp).qp_num }),
            // SAFETY: as above.
            kind if PAIR_REFUSES.contains(&kind) => DeviceEvent::PairRefuses(unsafe { (*element.qp).qp_num }),
            _ => DeviceEvent::Other,
        };
        // SAFETY: an event from `ibv_get_async_event`, acknowledged once.
        unsafe { sys::ibv_ack_async_event(event) };
        Some(told)
    }
}

/// What a device has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceEvent {
    /// Nothing goes any more.
    Fatal(&'static str),
    /// The queue pair of this number has failed, and may not say what becomes of what was posted to it (InfiniBand,
    /// volume 1, 11.6.3.2: local work queue catastrophic error).
    Pair(u32),
    /// The queue pair of this number is at its end, as its peer has asked for what it does not do (in the same place:
    /// invalid request, local access violation). What was posted to it completes.
    PairRefuses(u32),
    /// Nothing that matters here. Also that a port is down: it may come up again before anybody misses it, and who is missed
    /// meanwhile is told [why](Device::fault).
    Other,
}

fn state(state: sys::ibv_port_state::Type) -> PortState {
    match state {
        sys::ibv_port_state::IBV_PORT_DOWN => PortState::Down,
        sys::ibv_port_state::IBV_PORT_INIT => PortState::Init,
        sys::ibv_port_state::IBV_PORT_ARMED => PortState::Armed,
        sys::ibv_port_state::IBV_PORT_ACTIVE => PortState::Active,
        _ => PortState::Unknown,
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: everything that was made in the domains keeps the device alive and is gone; all are given back
        // once. There is no domain if making it has failed.
        unsafe {
            for domain in [self.apart, self.domain] {
                if !domain.is_null() {
                    sys::ibv_dealloc_pd(domain);
                }
            }
            sys::ibv_close_device(self.context);
        }
    }
}
