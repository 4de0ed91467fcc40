//! A host: opens objects, and makes calls, as programs do by libfabric's inline functions.

use carrousel_ofi::bindings as b;
use std::ffi::c_void;
use std::time::{Duration, Instant};

pub(crate) const EAGAIN: isize = -11;
pub(crate) const EAVAIL: isize = -(b::FI_EAVAIL as isize);
pub(crate) const ANY: u64 = u64::MAX;

/// Calls a function of an object's table.
macro_rules! call {
    ($object:expr, $table:ident . $function:ident ( $($argument:expr),* $(,)? )) => {
        // SAFETY: the object is open, and the arguments are what its function takes.
        unsafe { ((*(*$object).$table).$function.expect("every table is filled"))($object, $($argument),*) }
    };
}
pub(crate) use call;

/// Closes an object. Returns what the call does.
pub(crate) fn close<T>(object: *mut T) -> i32 {
    let fid = object.cast::<b::fid>();
    // SAFETY: the object is open, and begins with this structure.
    unsafe { ((*(*fid).ops).close.expect("every object closes"))(fid) }
}

/// Binds an object to another.
pub(crate) fn bind<T, U>(object: *mut T, to: *mut U, flags: u64) -> i32 {
    let fid = object.cast::<b::fid>();
    // SAFETY: both are open.
    unsafe { ((*(*fid).ops).bind.expect("every object binds"))(fid, to.cast(), flags) }
}

pub(crate) fn control<T>(object: *mut T, command: u32, argument: *mut c_void) -> i32 {
    let fid = object.cast::<b::fid>();
    // SAFETY: the object is open, and the argument is what the command takes.
    unsafe { ((*(*fid).ops).control.expect("every object has commands"))(fid, command as i32, argument) }
}

/// Hints: all structures, filled with zeros.
pub(crate) struct Hints {
    pub(crate) info: Box<b::fi_info>,
    pub(crate) transmit: Box<b::fi_tx_attr>,
    pub(crate) receive: Box<b::fi_rx_attr>,
    pub(crate) endpoint: Box<b::fi_ep_attr>,
    pub(crate) domain: Box<b::fi_domain_attr>,
    pub(crate) fabric: Box<b::fi_fabric_attr>,
}

impl Default for Hints {
    fn default() -> Self {
        // SAFETY: zeros are a value of each of these structures of C.
        unsafe {
            let mut hints = Self {
                info: Box::new(std::mem::zeroed()),
                transmit: Box::new(std::mem::zeroed()),
                receive: Box::new(std::mem::zeroed()),
                endpoint: Box::new(std::mem::zeroed()),
                domain: Box::new(std::mem::zeroed()),
                fabric: Box::new(std::mem::zeroed()),
            };
            hints.info.tx_attr = &raw mut *hints.transmit;
            hints.info.rx_attr = &raw mut *hints.receive;
            hints.info.ep_attr = &raw mut *hints.endpoint;
            hints.info.domain_attr = &raw mut *hints.domain;
            hints.info.fabric_attr = &raw mut *hints.fabric;
            hints
        }
    }
}

impl Hints {
    /// What the provider offers. The answer is not freed: a core would do that.
    pub(crate) fn getinfo(&self, version: u32) -> Result<*mut b::fi_info, i32> {
        let (mut info, null) = (std::ptr::null_mut(), std::ptr::null());
        // SAFETY: the structures are there, and so is a place for the answer.
        let result = unsafe {
            let provider = carrousel_ofi::fi_prov_ini();
            ((*provider).getinfo.expect("a provider has it"))(version, null, null, 0, &*self.info, &mut info)
        };
        if result == 0 { Ok(info) } else { Err(result) }
    }
}

pub(crate) const VERSION: u32 = 2 << 16 | 5;

/// A domain, and what endpoints are opened with.
pub(crate) struct Opened {
    pub(crate) info: *mut b::fi_info,
    pub(crate) fabric: *mut b::fid_fabric,
    pub(crate) domain: *mut b::fid_domain,
    pub(crate) cq_flags: u64,
}

impl Opened {
    pub(crate) fn new(hints: &Hints) -> Self {
        Self::of_version(hints, VERSION)
    }

    pub(crate) fn of_version(hints: &Hints, version: u32) -> Self {
        let info = hints.getinfo(version).expect("it can be satisfied");
        let (mut fabric, mut domain, null) =
            (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: as a core: with the attributes of the answer.
        unsafe {
            (*(*info).fabric_attr).api_version = version;
            let provider = carrousel_ofi::fi_prov_ini();
            let open = (*provider).fabric.expect("a provider has it");
            assert_eq!(open((*info).fabric_attr, &mut fabric, null), 0);
        }
        assert_eq!(call!(fabric, ops.domain(info, &mut domain, null)), 0);
        Self { info, fabric, domain, cq_flags: 0 }
    }

    /// An endpoint, not enabled, without anything bound.
    pub(crate) fn bare(&self) -> *mut b::fid_ep {
        let mut ep = std::ptr::null_mut();
        assert_eq!(call!(self.domain, ops.endpoint(self.info, &mut ep, std::ptr::null_mut())), 0);
        ep
    }

    pub(crate) fn cq(&self, format: u32) -> *mut b::fid_cq {
        let mut cq = std::ptr::null_mut();
        // SAFETY: zeros are a value of this structure of C.
        let mut attr = b::fi_cq_attr { format, ..unsafe { std::mem::zeroed() } };
        assert_eq!(call!(self.domain, ops.cq_open(&mut attr, &mut cq, std::ptr::null_mut())), 0);
        cq
    }

    pub(crate) fn av(&self) -> *mut b::fid_av {
        let mut av = std::ptr::null_mut();
        // SAFETY: as above.
        let mut attr: b::fi_av_attr = unsafe { std::mem::zeroed() };
        assert_eq!(call!(self.domain, ops.av_open(&mut attr, &mut av, std::ptr::null_mut())), 0);
        av
    }

    pub(crate) fn cntr(&self) -> *mut b::fid_cntr {
        let mut cntr = std::ptr::null_mut();
        let null = std::ptr::null_mut();
        assert_eq!(call!(self.domain, ops.cntr_open(null, &mut cntr, null.cast())), 0);
        cntr
    }

    /// An endpoint with a queue and an address vector, enabled.
    pub(crate) fn end(&self) -> End {
        let (ep, cq, av) = (self.bare(), self.cq(b::FI_CQ_FORMAT_TAGGED), self.av());
        assert_eq!(bind(ep, av, 0), 0);
        assert_eq!(bind(ep, cq, u64::from(b::FI_RECV) | u64::from(b::FI_SEND) | self.cq_flags), 0);
        assert_eq!(control(ep, b::FI_ENABLE, std::ptr::null_mut()), 0);
        End { ep, cq, av }
    }

    /// Two endpoints that know each other: each is at position 0 of the other's vector, and itself at 1.
    pub(crate) fn pair(&self) -> (End, End) {
        let (one, two) = (self.end(), self.end());
        assert_eq!((one.insert(&two.name()), two.insert(&one.name())), (0, 0));
        assert_eq!((one.insert(&one.name()), two.insert(&two.name())), (1, 1));
        (one, two)
    }

    /// Closes everything, which nothing keeps from closing.
    pub(crate) fn close(self, ends: impl IntoIterator<Item = End>) {
        for End { ep, cq, av } in ends {
            assert_eq!((close(ep), close(cq), close(av)), (0, 0, 0));
        }
        assert_eq!((close(self.domain), close(self.fabric)), (0, 0));
    }
}

/// Two endpoints of a domain of their own.
pub(crate) fn pair() -> (Opened, End, End) {
    let mut hints = Hints::default();
    hints.domain.mr_mode = (b::FI_MR_VIRT_ADDR | b::FI_MR_PROV_KEY) as i32;
    let domain = Opened::new(&hints);
    let (one, two) = domain.pair();
    (domain, one, two)
}

/// An endpoint, its queue and its address vector.
#[derive(Clone, Copy)]
pub(crate) struct End {
    pub(crate) ep: *mut b::fid_ep,
    pub(crate) cq: *mut b::fid_cq,
    pub(crate) av: *mut b::fid_av,
}

/// An entry of a queue, and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) context: usize,
    pub(crate) flags: u64,
    pub(crate) len: usize,
    pub(crate) buffer: usize,
    pub(crate) data: u64,
    pub(crate) tag: u64,
    pub(crate) source: u64,
}

impl Entry {
    pub(crate) fn has(&self, flags: u32) -> bool {
        self.flags & u64::from(flags) == u64::from(flags)
    }
}

/// An error of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) context: usize,
    pub(crate) error: u32,
    pub(crate) flags: u64,
    pub(crate) overflow: usize,
    pub(crate) tag: u64,
}

/// How long a test waits for what has to come.
const LONG: Duration = Duration::from_secs(20);

impl End {
    pub(crate) fn name(&self) -> Vec<u8> {
        let mut name = vec![0; 256];
        let mut len = name.len();
        let room = name.as_mut_ptr().cast();
        // SAFETY: there is so much room.
        let result =
            unsafe { ((*(*self.ep).cm).getname.expect("it has a name"))(self.ep.cast(), room, &mut len) };
        assert_eq!(result, 0);
        name.truncate(len);
        name
    }

    pub(crate) fn insert(&self, name: &[u8]) -> u64 {
        let (mut at, name) = (77, name.as_ptr().cast());
        assert_eq!(call!(self.av, ops.insert(name, 1, &mut at, 0, std::ptr::null_mut())), 1);
        at
    }

    /// Reads one completion, if there is one.
    pub(crate) fn read(&self) -> Result<Entry, isize> {
        // SAFETY: zeros are a value of this structure of C.
        let mut entry: b::fi_cq_tagged_entry = unsafe { std::mem::zeroed() };
        let mut source = 0;
        let result = call!(self.cq, ops.readfrom((&raw mut entry).cast(), 1, &mut source));
        if result != 1 {
            return Err(result);
        }
        let b::fi_cq_tagged_entry { op_context, flags, len, buf, data, tag } = entry;
        let (context, buffer) = (op_context.addr(), buf.addr());
        Ok(Entry { context, flags, len, buffer, data, tag, source })
    }

    /// Reads for so long, as a host does that waits, or idles. Nothing ends.
    pub(crate) fn find_nothing(&self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            assert_eq!(self.read(), Err(EAGAIN));
        }
    }

    /// Waits for a completion; lets messages of the others move meanwhile.
    pub(crate) fn wait(&self, others: &[End]) -> Entry {
        let until = Instant::now() + LONG;
        while Instant::now() < until {
            match self.read() {
                Ok(entry) => return entry,
                Err(EAGAIN) => others.iter().for_each(End::progress),
                Err(EAVAIL) => panic!("an error: {:?}", self.error()),
                Err(other) => panic!("read returns {other}"),
            }
        }
        panic!("nothing completes");
    }

    /// Waits for a completion, or for an error, which is read.
    pub(crate) fn wait_either(&self) -> Result<Entry, Failure> {
        let until = Instant::now() + LONG;
        while Instant::now() < until {
            match self.read() {
                Ok(entry) => return Ok(entry),
                Err(EAVAIL) => return Err(self.error().expect("there is one")),
                Err(_) => {}
            }
        }
        panic!("nothing ends");
    }

    /// Waits for an error.
    pub(crate) fn wait_error(&self, others: &[End]) -> Failure {
        let until = Instant::now() + LONG;
        while Instant::now() < until {
            match self.read() {
                Err(EAVAIL) => return self.error().expect("there is one"),
                Err(EAGAIN) => others.iter().for_each(End::progress),
                other => panic!("no error but {other:?}"),
            }
        }
        panic!("nothing fails");
    }

    /// Lets messages move, and reads nothing.
    pub(crate) fn progress(&self) {
        let read = call!(self.cq, ops.read(std::ptr::null_mut(), 0));
        assert!([0, EAGAIN, EAVAIL].contains(&read), "{read}");
    }

    pub(crate) fn error(&self) -> Option<Failure> {
        // SAFETY: zeros are a value of this structure of C.
        let mut entry: b::fi_cq_err_entry = unsafe { std::mem::zeroed() };
        if call!(self.cq, ops.readerr(&mut entry, 0)) != 1 {
            return None;
        }
        let b::fi_cq_err_entry { op_context, err, flags, olen, tag, .. } = entry;
        Some(Failure { context: op_context.addr(), error: err as u32, flags, overflow: olen, tag })
    }

    pub(crate) fn tsend(&self, bytes: &[u8], to: u64, tag: u64, context: usize) -> isize {
        let (data, null) = (bytes.as_ptr().cast(), std::ptr::null_mut());
        call!(self.ep, tagged.send(data, bytes.len(), null, to, tag, context as *mut c_void))
    }

    pub(crate) fn trecv(
        &self,
        room: &mut [u8],
        from: u64,
        (tag, ignore): (u64, u64),
        context: usize,
    ) -> isize {
        let (data, null) = (room.as_mut_ptr().cast(), std::ptr::null_mut());
        call!(self.ep, tagged.recv(data, room.len(), null, from, tag, ignore, context as *mut c_void))
    }

    /// A tagged receive with flags.
    pub(crate) fn trecvmsg(
        &self,
        room: &mut [u8],
        (tag, ignore): (u64, u64),
        context: usize,
        flags: u64,
    ) -> isize {
        let iov = b::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
        let (desc, context) = (std::ptr::null_mut(), context as *mut c_void);
        let msg =
            b::fi_msg_tagged { msg_iov: &iov, desc, iov_count: 1, addr: ANY, tag, ignore, context, data: 0 };
        call!(self.ep, tagged.recvmsg(&msg, flags))
    }

    /// A tagged send with flags, and data if there is any.
    pub(crate) fn tsendmsg(&self, bytes: &[u8], tag: u64, context: usize, flags: u64) -> isize {
        let iov = b::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let (desc, context) = (std::ptr::null_mut(), context as *mut c_void);
        let msg = b::fi_msg_tagged {
            msg_iov: &iov,
            desc,
            iov_count: 1,
            addr: 0,
            tag,
            ignore: 0,
            context,
            data: 99,
        };
        call!(self.ep, tagged.sendmsg(&msg, flags))
    }

    pub(crate) fn send(&self, bytes: &[u8], to: u64, context: usize) -> isize {
        let (data, null) = (bytes.as_ptr().cast(), std::ptr::null_mut());
        call!(self.ep, msg.send(data, bytes.len(), null, to, context as *mut c_void))
    }

    pub(crate) fn recv(&self, room: &mut [u8], from: u64, context: usize) -> isize {
        let (data, null) = (room.as_mut_ptr().cast(), std::ptr::null_mut());
        call!(self.ep, msg.recv(data, room.len(), null, from, context as *mut c_void))
    }

    /// A buffer for many messages.
    pub(crate) fn recv_many(&self, room: &mut [u8], context: usize) -> isize {
        let iov = b::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
        let (desc, context) = (std::ptr::null_mut(), context as *mut c_void);
        let msg = b::fi_msg { msg_iov: &iov, desc, iov_count: 1, addr: ANY, context, data: 0 };
        call!(self.ep, msg.recvmsg(&msg, u64::from(b::FI_MULTI_RECV)))
    }

    pub(crate) fn cancel(&self, context: usize) -> isize {
        // SAFETY: the endpoint is open.
        unsafe { ((*(*self.ep).ops).cancel.expect("it cancels"))(self.ep.cast(), context as *mut c_void) }
    }

    /// Registers memory for all accesses. Returns the region and its key.
    pub(crate) fn register(domain: &Opened, room: &mut [u8], access: u32, key: u64) -> (*mut b::fid_mr, u64) {
        let (mut mr, null) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the domain is open.
        let result = unsafe {
            let reg = (*(*domain.domain).mr).reg.expect("it registers");
            let start = room.as_ptr().cast();
            reg(domain.domain.cast(), start, room.len(), u64::from(access), 0, key, 0, &mut mr, null)
        };
        assert_eq!(result, 0);
        // SAFETY: it is registered.
        (mr, unsafe { (*mr).key })
    }
}
