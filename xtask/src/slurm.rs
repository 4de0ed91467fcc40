//! A Slurm of this machine alone, for as long as the tests take: what our ranks have to start under, too.

use crate::steps::StepOutcome;
use crate::tools::{find, output_of};
use std::fs::{self, Permissions};
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The variable that tells Slurm's programs where it is.
pub(crate) const VARIABLE: &str = "SLURM_CONF";
/// From the start of the daemons to the first job.
const PATIENCE: Duration = Duration::from_secs(30);

/// Its daemons, which end with this value, and their files.
#[derive(Default)]
pub(crate) struct Slurm {
    daemons: Vec<Child>,
    directory: PathBuf,
}

impl Slurm {
    /// Starts it, if it is installed, and this user may.
    pub(crate) fn start(found: &mut Option<Self>) -> Result<StepOutcome, String> {
        let needed = ["munged", "slurmctld", "slurmd", "srun"];
        if let Some(missing) = needed.into_iter().find(|name| find(name).is_none()) {
            return Ok(StepOutcome::Skipped(format!("{missing} is not installed")));
        }
        if output_of(Command::new("id").arg("-u"))?.trim() != "0" {
            return Ok(StepOutcome::Skipped("its daemons run as root only".to_owned()));
        }
        let mut slurm = Self::default();
        // That it does not start on some machine says nothing of the library.
        Ok(match slurm.begin() {
            Ok(()) => {
                *found = Some(slurm);
                StepOutcome::Passed
            }
            Err(why) => StepOutcome::Skipped(format!("it does not start: {why}")),
        })
    }

    /// Its configuration.
    pub(crate) fn configuration(&self) -> PathBuf {
        self.directory.join("slurm.conf")
    }

    fn begin(&mut self) -> Result<(), String> {
        // Not below the build's directory: the path of a socket is short.
        self.directory = std::env::temp_dir().join(format!("carrousel-slurm-{}", std::process::id()));
        let here = self.directory.display().to_string();
        fs::create_dir_all(self.directory.join("state")).map_err(|error| format!("{here}: {error}"))?;
        let (key, conf) = (self.directory.join("munge.key"), self.configuration());
        let mut random = [0; 1024];
        let written = fs::File::open("/dev/urandom")
            .and_then(|mut file| file.read_exact(&mut random))
            .and_then(|()| fs::write(&key, random))
            .and_then(|()| fs::set_permissions(&key, Permissions::from_mode(0o400)));
        written.map_err(|error| format!("{}: {error}", key.display()))?;
        let text = configuration(&self.directory)?;
        fs::write(&conf, text).map_err(|error| format!("{}: {error}", conf.display()))?;
        let file = |name: &str| format!("{here}/{name}");
        self.daemon(program(
            "munged",
            &[
                "--foreground",
                "--force",
                &format!("--key-file={}", key.display()),
                &format!("--socket={}", file("munge.socket")),
                &format!("--pid-file={}", file("munge.pid")),
                &format!("--log-file={}", file("munge.log")),
                &format!("--seed-file={}", file("munge.seed")),
            ],
        ))?;
        for name in ["slurmctld", "slurmd"] {
            self.daemon(program(name, &["-D", "-f", &conf.display().to_string()]))?;
        }
        let began = Instant::now();
        loop {
            let mut probe = program("srun", &["--immediate=5", "-n", "1", "true"]);
            match output_of(probe.env(VARIABLE, &conf)) {
                Ok(_) => return Ok(()),
                Err(error) if began.elapsed() > PATIENCE => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(200)),
            }
        }
    }

    fn daemon(&mut self, mut command: Command) -> Result<(), String> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        self.daemons.push(child);
        Ok(())
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        while let Some(mut daemon) = self.daemons.pop() {
            // No test depends on a process or file that is left behind.
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn program(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(find(name).unwrap_or_else(|| name.into()));
    command.args(arguments);
    command
}

/// One node, which is this machine, as `slurmd` sees it.
fn configuration(directory: &Path) -> Result<String, String> {
    let node = output_of(&mut program("slurmd", &["-C"]))?;
    let node = node.lines().next().unwrap_or_default();
    let name = node.split(' ').find_map(|word| word.strip_prefix("NodeName="));
    let name = name.ok_or_else(|| format!("`slurmd -C` says {node:?}"))?;
    let ports = [free_port()?, free_port()?];
    let here = directory.display();
    Ok(format!(
        "ClusterName=carrousel\nSlurmctldHost={name}(127.0.0.1)\nSlurmctldPort={}\nSlurmdPort={}\n\
         AuthType=auth/munge\nAuthInfo=socket={here}/munge.socket\nCredType=cred/munge\n\
         SlurmUser=root\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nReturnToService=2\n\
         SlurmctldPidFile={here}/slurmctld.pid\nSlurmdPidFile={here}/slurmd.pid\n\
         SlurmctldLogFile={here}/slurmctld.log\nSlurmdLogFile={here}/slurmd.log\n\
         SlurmdSpoolDir={here}/spool\nStateSaveLocation={here}/state\n\
         SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n\
         AccountingStorageType=accounting_storage/none\nJobAcctGatherType=jobacct_gather/none\n\
         {node} NodeAddr=127.0.0.1 State=UNKNOWN\n\
         PartitionName=all Nodes={name} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:64\n",
        ports[0], ports[1]
    ))
}

/// A free port.
fn free_port() -> Result<u16, String> {
    let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    address.map(|address| address.port()).map_err(|error| format!("no port is free: {error}"))
}
