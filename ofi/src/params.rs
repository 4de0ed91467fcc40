//! The options as libfabric's parameters (fi_param_define), so that `fi_info -e` shows them.
//!
//! Their values are read as everywhere else; libfabric only knows their names, `FI_CARROUSEL_*`, and what they are for.

#![allow(unsafe_code, reason = "calls libfabric, which this library is not linked to")]

use crate::bindings as b;
use crate::settings;
use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::Once;

/// `fi_param_define` of libfabric.
type Define =
    unsafe extern "C" fn(*const b::fi_provider, *const c_char, b::fi_param_type, *const c_char, ...) -> c_int;

const DEFINE: &CStr = c"fi_param_define";

/// Tells the libfabric of this process of all options, once. Hosts that contain a libfabric of their own do not show it
/// to others: there `fi_info -e` is another process anyway.
pub(crate) fn define(provider: *const b::fi_provider) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the name ends with a zero.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, DEFINE.as_ptr()) };
        if found.is_null() {
            return;
        }
        // SAFETY: the function of this name has had this type since libfabric's version 1.0.
        let function = unsafe { std::mem::transmute::<*mut libc::c_void, Define>(found) };
        for (name, purpose) in settings::parameters() {
            let (Ok(name), Ok(purpose)) = (CString::new(name), CString::new(purpose)) else { continue };
            // SAFETY: the provider is there as long as the process; libfabric copies the texts. A purpose is not a format.
            // What fails is left out of a list that people read.
            unsafe {
                function(provider, name.as_ptr(), b::FI_PARAM_STRING, c"%s".as_ptr(), purpose.as_ptr())
            };
        }
    });
}
