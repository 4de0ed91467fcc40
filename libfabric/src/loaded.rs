//! Loads libraries and calls them.

use crate::answers::{Library, Provider, Version};
use crate::layout::{DuplicateInfo, GetInfo, Info, MESSAGES, ProviderOf, RELIABLE_DATAGRAMS, VersionOf};
use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

/// The most answers of a libfabric that are read.
const ANSWERS_MAX: usize = 1 << 16;
/// `-FI_ENODATA`: nothing is offered.
const NO_DATA: i32 = -libc::ENODATA;

/// What the libfabric of this name or path offers in this process's environment.
///
/// # Errors
/// When it cannot be loaded, or is none.
pub fn library(name: &str) -> Result<Library, String> {
    let loaded = Loaded::new(name)?;
    // SAFETY: libfabric's interface has these functions since its version 1.5, under these names and types.
    let (version, duplicate, get) = unsafe {
        (
            loaded.function::<VersionOf>(c"fi_version")?,
            loaded.function::<DuplicateInfo>(c"fi_dupinfo")?,
            loaded.function::<GetInfo>(c"fi_getinfo")?,
        )
    };
    // SAFETY: it takes nothing.
    let version = unsafe { version() };
    // SAFETY: of none it makes an empty structure, with all that hangs on it.
    let hints = unsafe { duplicate(null()) };
    // SAFETY: it is null, or the structure that was made.
    let Some(asked) = (unsafe { hints.as_mut() }) else { return Err("it has no memory".to_owned()) };
    asked.caps = MESSAGES;
    // SAFETY: an empty structure has attributes of an endpoint.
    if let Some(endpoint) = unsafe { asked.endpoint.as_mut() } {
        endpoint.kind = RELIABLE_DATAGRAMS;
    }
    let mut first = null_mut();
    // SAFETY: hints that it has made itself, and a place for the answer. Neither is freed: this process ends soon.
    let result = unsafe { get(version, null(), null(), 0, hints, &mut first) };
    if result != 0 && result != NO_DATA {
        return Err(format!("it fails with the error {}", -result));
    }
    // SAFETY: the answer is a list of such structures, or null.
    let offers = unsafe { providers(first) };
    Ok(Library { file: loaded.file_of(c"fi_getinfo"), version: Version::of(version), offers })
}

/// The names of the providers of a list of answers, each once.
///
/// # Safety
/// It is null, or a whole list.
unsafe fn providers(first: *const Info) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut next = first;
    for _ in 0..ANSWERS_MAX {
        // SAFETY: as the caller promises.
        let Some(info) = (unsafe { next.as_ref() }) else { break };
        // SAFETY: an answer has attributes of its fabric, or none.
        if let Some(fabric) = unsafe { info.fabric.as_ref() } {
            // SAFETY: a provider has a name, or none.
            let name = unsafe { text(fabric.provider) };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        next = info.next;
    }
    names
}

/// What the provider in this file says of itself.
///
/// # Errors
/// When it cannot be loaded, or is no provider.
pub fn provider(file: &str) -> Result<Provider, String> {
    let loaded = Loaded::new(file)?;
    // SAFETY: a provider has this function, by which libfabric begins, too.
    let begin = unsafe { loaded.function::<ProviderOf>(c"fi_prov_ini")? };
    // SAFETY: it takes nothing, and returns a structure that lives as long as the library, or null.
    let Some(description) = (unsafe { begin().as_ref() }) else { return Err("it offers nothing".to_owned()) };
    Ok(Provider {
        // SAFETY: a provider has a name.
        name: unsafe { text(description.name) },
        version: Version::of(description.version),
        interface: Version::of(description.interface),
    })
}

/// A text of C.
///
/// # Safety
/// It is null, or ends with a zero.
unsafe fn text(of: *const c_char) -> String {
    // SAFETY: as the caller promises.
    if of.is_null() { String::new() } else { unsafe { CStr::from_ptr(of) }.to_string_lossy().into_owned() }
}

/// A library that is loaded until this process ends: some cannot be unloaded.
struct Loaded(*mut c_void);

impl Loaded {
    fn new(name: &str) -> Result<Self, String> {
        let name = CString::new(name).map_err(|_| "its name has a zero byte".to_owned())?;
        // SAFETY: a name that ends with a zero. What the library does by itself, its user has asked for by his variables;
        // it would do the same in his job.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() { Err(last_error()) } else { Ok(Self(handle)) }
    }

    /// A function.
    ///
    /// # Safety
    /// `F` is the type of the function of this name, if there is one.
    unsafe fn function<F: Copy>(&self, name: &CStr) -> Result<F, String> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let symbol = self.symbol(name);
        if symbol.is_null() {
            return Err(format!("it has no function {}", name.to_string_lossy()));
        }
        // SAFETY: of the same size, as is asserted; and of this type, as the caller promises.
        Ok(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&symbol) })
    }

    fn symbol(&self, name: &CStr) -> *mut c_void {
        // SAFETY: the library is loaded, and the name ends with a zero.
        unsafe { libc::dlsym(self.0, name.as_ptr()) }
    }

    /// The file in which the function of this name is.
    fn file_of(&self, name: &CStr) -> String {
        let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: any address may be asked for; there is room for the answer, all of whose fields may be zero.
        let info = unsafe {
            libc::dladdr(self.symbol(name), info.as_mut_ptr());
            info.assume_init()
        };
        // SAFETY: it is null, or the path of a file that is loaded.
        unsafe { text(info.dli_fname) }
    }
}

/// Why the loader has failed.
fn last_error() -> String {
    // SAFETY: it returns null, or a text that lives until the next call of the loader in this thread.
    let why = unsafe { text(libc::dlerror()) };
    if why.is_empty() { "it cannot be loaded".to_owned() } else { why }
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_loaded_is_an_error_in_the_loaders_words() {
        let error = library("/there/is/no/libfabric.so.1").expect_err("it is not there");
        assert!(error.contains("/there/is/no/libfabric.so.1"), "{error}");
        assert!(provider("a\0b").is_err());
    }

    #[test]
    fn a_library_that_is_no_libfabric_says_so() {
        // Every process has it.
        let of = |result: Result<(), String>| result.expect_err("it is none");
        assert_eq!(of(library("libc.so.6").map(drop)), "it has no function fi_version");
        assert_eq!(of(provider("libc.so.6").map(drop)), "it has no function fi_prov_ini");
    }

    #[test]
    fn versions_are_read_as_libfabric_writes_them() {
        let versions = [Version::of(1 << 16 | 17), Version::of(2 << 16 | 5)];
        assert_eq!(versions.map(|version| version.to_string()), ["1.17", "2.5"]);
        assert!(versions[0] < versions[1]);
    }
}
