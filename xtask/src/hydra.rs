//! Hydra, the launcher of MPICH, from its Python wheel: what our ranks have to start under.

use crate::tools::{root, run};
use std::env;
use std::path::PathBuf;
use std::process::Command;

/// The variable that tells the tests where it is.
pub(crate) const VARIABLE: &str = "HYDRA_MPIEXEC";
/// The version that is installed where the variable is not set.
const MPICH: &str = "5.0.2";

/// Its `mpiexec`. One that the variable names is taken as it is; otherwise one is installed in `target/`.
pub(crate) fn install() -> Result<PathBuf, String> {
    if let Some(named) = env::var_os(VARIABLE) {
        return Ok(named.into());
    }
    let venv = root().join("target").join(format!("mpich-{MPICH}"));
    let mpiexec = venv.join("bin/mpiexec");
    if mpiexec.exists() {
        return Ok(mpiexec);
    }
    let mut python = Command::new("python3");
    python.args(["-m", "venv"]).arg(&venv);
    let mut pip = Command::new(venv.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", &format!("mpich=={MPICH}")]);
    run(python).and_then(|()| run(pip)).map_err(|message| {
        format!("{message}\nMPICH is needed for its mpiexec; where Python cannot install it, set {VARIABLE}")
    })?;
    Ok(mpiexec)
}
