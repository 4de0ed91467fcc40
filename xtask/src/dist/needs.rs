//! The programs that make packages. As root on Debian they are installed; otherwise they are named.

use super::making::PackageFormat;
use crate::guest::packages;
use crate::requirements;
use crate::tools::note;

/// Programs of all formats, and the packages that they come from.
const PROGRAMS: [(&str, &str); 5] =
    [("cc", "gcc"), ("make", "make"), ("strip", "binutils"), ("objdump", "binutils"), ("tar", "tar")];

/// Those of one.
fn programs_of(format: PackageFormat) -> &'static [(&'static str, &'static str)] {
    match format {
        PackageFormat::Archive => &[("gzip", "gzip")],
        PackageFormat::Deb => &[("dpkg-deb", "dpkg"), ("dpkg-shlibdeps", "dpkg-dev")],
        PackageFormat::Wheel => &[("python3", "python3")],
    }
}

/// Installs what the formats need. Says whether libibverbs' headers are there, too.
pub(super) fn install(formats: &[PackageFormat]) -> Result<bool, String> {
    let of = formats.iter().flat_map(|format| programs_of(*format));
    let mut missing = packages::missing_of(&PROGRAMS);
    missing.extend(of.flat_map(|program| packages::missing_of(std::slice::from_ref(program))));
    missing.sort_unstable();
    missing.dedup();
    packages::install(&missing)?;
    Ok(match packages::install(&requirements::missing_headers()) {
        Ok(()) => true,
        Err(why) => {
            note(&format!("InfiniBand and RoCE are left out, for which headers are missing: {why}"));
            false
        }
    })
}
