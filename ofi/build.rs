//! Gives the library the name by which libfabric finds it: it loads the files of `FI_PROVIDER_PATH` that end in `-fi.so`,
//! and cargo cannot name a library so. A link beside the library can, and is there before the library is.

use std::env;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The directory of the profile is three levels above that of a build script's output.
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let Some(profile) = out.ancestors().nth(3).map(Path::to_path_buf) else { return };
    let link = profile.join("libcarrousel-fi.so");
    let _ = std::fs::remove_file(&link);
    if let Err(error) = symlink("libcarrousel_ofi.so", &link) {
        println!("cargo::warning=cannot link {}: {error}", link.display());
    }
}
