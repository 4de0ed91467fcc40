//! Hydra, the launcher of MPICH, from its Python wheel: what our ranks have to start under.

use crate::bench::baselines;
use crate::bench::results::Source;
use std::env;
use std::path::PathBuf;

/// The variable that tells the tests where it is.
pub(crate) const VARIABLE: &str = "HYDRA_MPIEXEC";

/// Its `mpiexec`. One that the variable names is taken as it is; otherwise one is installed in `target/`.
pub(crate) fn install() -> Result<PathBuf, String> {
    if let Some(named) = env::var_os(VARIABLE) {
        return Ok(named.into());
    }
    let mpich = baselines::of(Source::Mpich).ok_or("MPICH is none of the libraries that are installed")?;
    mpich.install().map_err(|message| {
        format!("{message}\nMPICH is needed for its mpiexec; where Python cannot install it, set {VARIABLE}")
    })?;
    Ok(mpich.tool("mpiexec"))
}
