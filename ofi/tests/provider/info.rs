//! What is offered, and what is refused (fi_getinfo(3)).

use crate::host::{Hints, VERSION};
use carrousel_ofi::bindings as b;

const NO_DATA: i32 = -(b::FI_ENODATA as i32);

#[test]
fn all_of_it_is_offered_to_who_asks_for_nothing() {
    let info = Hints::default().getinfo(VERSION).expect("it is offered");
    // SAFETY: the answer is whole.
    unsafe {
        let info = &*info;
        let all = b::FI_MSG | b::FI_TAGGED | b::FI_RMA | b::FI_ATOMIC | b::FI_MULTI_RECV;
        assert_eq!(info.caps & u64::from(all), u64::from(all));
        assert_ne!(info.caps & b::FI_DIRECTED_RECV, 0);
        assert_eq!((*info.ep_attr).type_, b::FI_EP_RDM);
        assert_eq!((*info.domain_attr).threading, b::FI_THREAD_SAFE);
        assert_eq!((*info.domain_attr).cq_data_size, 8);
        assert_eq!(std::ffi::CStr::from_ptr((*info.domain_attr).name), c"carrousel");
        assert_ne!(info.caps & b::FI_TAGGED_DIRECTED_RECV, 0);
        assert!(!info.src_addr.is_null() && info.src_addrlen == 64 && info.dest_addr.is_null());
        let places = b::FI_LOCAL_COMM | b::FI_REMOTE_COMM | u64::from(b::FI_REMOTE_CQ_DATA);
        let directions = (*info.tx_attr).caps | (*info.rx_attr).caps;
        assert_eq!(
            directions & places,
            0,
            "libfabric's own tests allow of these only those that were asked for"
        );
        // The core fills these in.
        assert!((*info.fabric_attr).prov_name.is_null());
    }
}

#[test]
fn hosts_get_what_mpi_libraries_ask_for() {
    let mut hints = Hints::default();
    hints.info.mode = b::FI_CONTEXT | b::FI_CONTEXT2 | b::FI_ASYNC_IOV | b::FI_RX_CQ_DATA;
    let directed = b::FI_DIRECTED_RECV;
    hints.info.caps =
        u64::from(b::FI_MSG | b::FI_MULTI_RECV | b::FI_TAGGED | b::FI_RMA | b::FI_ATOMIC) | directed;
    hints.endpoint.type_ = b::FI_EP_RDM;
    hints.domain.threading = b::FI_THREAD_DOMAIN;
    hints.domain.control_progress = b::FI_PROGRESS_MANUAL;
    hints.domain.__bindgen_anon_1.data_progress = b::FI_PROGRESS_MANUAL;
    hints.domain.resource_mgmt = b::FI_RM_ENABLED;
    hints.domain.av_type = b::FI_AV_MAP;
    hints.domain.mr_mode = (b::FI_MR_VIRT_ADDR | b::FI_MR_PROV_KEY | b::FI_MR_ALLOCATED) as i32;
    hints.domain.cq_data_size = 4;
    hints.transmit.op_flags = u64::from(b::FI_DELIVERY_COMPLETE | b::FI_COMPLETION);
    hints.transmit.msg_order = u64::from(b::FI_ORDER_SAS);
    hints.receive.msg_order = u64::from(b::FI_ORDER_SAS);
    for version in [1 << 16 | 17, 1 << 16 | 18, VERSION] {
        let info = hints.getinfo(version).expect("it is offered");
        // SAFETY: the answer is whole.
        unsafe {
            assert_eq!((*info).mode, 0, "the host need not give room in its contexts");
            assert_eq!((*(*info).domain_attr).threading, b::FI_THREAD_DOMAIN);
            assert_eq!((*(*info).domain_attr).av_type, b::FI_AV_MAP);
            let mode = (*(*info).domain_attr).mr_mode;
            assert_eq!(mode, (b::FI_MR_VIRT_ADDR | b::FI_MR_PROV_KEY) as i32, "no more than the host takes");
        }
    }
}

#[test]
fn versions_before_2_0_are_not_told_of_what_they_do_not_know() {
    for (version, knows) in [(1 << 16 | 17, false), (1 << 16 | 22, false), (2 << 16, true)] {
        let info = Hints::default().getinfo(version).expect("it is offered");
        // SAFETY: the answer is whole.
        assert_eq!(unsafe { (*info).caps } & b::FI_TAGGED_DIRECTED_RECV != 0, knows, "{version:#x}");
    }
}

#[test]
fn the_old_words_for_ways_of_registering_memory_are_answered_by_themselves() {
    let mut hints = Hints::default();
    // FI_MR_BASIC, FI_MR_SCALABLE, and none of today's bits.
    for word in [1, 2, 0] {
        hints.domain.mr_mode = word;
        let info = hints.getinfo(VERSION).expect("it is offered");
        // SAFETY: the answer is whole.
        assert_eq!(unsafe { (*(*info).domain_attr).mr_mode }, word);
    }
}

/// Changes hints so that they cannot be satisfied.
type Change = fn(&mut Hints);

#[test]
fn what_there_is_not_is_refused() {
    let wrong: &[(&str, Change)] = &[
        ("a capability", |h| h.info.caps = u64::from(b::FI_MULTICAST)),
        ("collectives", |h| h.info.caps = u64::from(b::FI_COLLECTIVE)),
        ("memory of devices", |h| h.info.caps = u64::from(b::FI_MSG) | b::FI_HMEM),
        ("addresses of IP", |h| h.info.addr_format = b::FI_SOCKADDR_IN),
        ("connections", |h| h.endpoint.type_ = b::FI_EP_MSG),
        ("datagrams", |h| h.endpoint.type_ = b::FI_EP_DGRAM),
        ("another protocol", |h| h.endpoint.protocol = b::FI_PROTO_RXM),
        ("a prefix", |h| h.endpoint.msg_prefix_size = 8),
        ("two contexts", |h| h.endpoint.tx_ctx_cnt = 2),
        ("a secret", |h| h.endpoint.auth_key_size = 8),
        ("an order of long writes", |h| h.endpoint.max_order_waw_size = 1 << 20),
        ("an order", |h| h.transmit.msg_order = u64::from(b::FI_ORDER_SAW)),
        ("an order of completions", |h| h.receive.comp_order = 1),
        ("large injects", |h| h.transmit.inject_size = 1 << 20),
        ("lists", |h| h.transmit.iov_limit = 5),
        ("lists of receives", |h| h.receive.iov_limit = 5),
        ("flags", |h| h.transmit.op_flags = u64::from(b::FI_COMMIT_COMPLETE)),
        ("progress by itself", |h| h.domain.__bindgen_anon_1.data_progress = b::FI_PROGRESS_AUTO),
        ("control by itself", |h| h.domain.control_progress = b::FI_PROGRESS_AUTO),
        ("long keys", |h| h.domain.mr_key_size = 16),
        ("much data", |h| h.domain.cq_data_size = 16),
        ("shared contexts", |h| h.domain.max_ep_srx_ctx = 1),
        ("another domain", |h| h.domain.name = c"eth0".as_ptr().cast_mut()),
        ("another fabric", |h| h.fabric.name = c"10.0.0.0/8".as_ptr().cast_mut()),
    ];
    for (what, change) in wrong {
        let mut hints = Hints::default();
        change(&mut hints);
        assert_eq!(hints.getinfo(VERSION).err(), Some(NO_DATA), "{what}");
    }
}

#[test]
fn names_of_hosts_and_old_versions_are_refused() {
    let hints = Hints::default();
    assert_eq!(hints.getinfo(1 << 16).err(), Some(-(b::FI_ENOSYS as i32)));
    let null = std::ptr::null();
    let ask = |node, service, flags| {
        let mut info = std::ptr::null_mut();
        // SAFETY: the structures are there.
        unsafe {
            let getinfo = (*carrousel_ofi::fi_prov_ini()).getinfo.expect("a provider has it");
            getinfo(VERSION, node, service, flags, &*hints.info, &mut info)
        }
    };
    let (node, port) = (c"localhost".as_ptr(), c"9228".as_ptr());
    let refused = [ask(node, null, 0), ask(node, port, b::FI_SOURCE), ask(null, port, 0)];
    assert_eq!(refused, [NO_DATA; 3]);
    assert_eq!(ask(null, port, b::FI_SOURCE), 0, "a port of its own, which no address needs");
}
