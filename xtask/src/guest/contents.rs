//! The contents of a guest: busybox, programs with their shared libraries, drivers, settings, and the command.

use super::archive::{Archive, PLAIN, PROGRAM};
use super::job::{GuestJob, Program};
use super::kernel::{self, Kernel};
use super::packages::{PROVIDER, command, program};
use super::paths::absolute;
use super::ssh;
use crate::tools::output_of;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The modules that guests load. `crc32_generic` comes first: `rdma_rxe` asks the kernel's cryptography for it by name,
/// and as there is no modprobe in a guest, `rdma link add` would fail without.
const MODULES: [&str; 11] = [
    "crc32_generic",
    "crc32_pclmul",
    "virtio_pci",
    "virtio_net",
    "virtio_console",
    "9pnet_virtio",
    "9p",
    "rdma_rxe",
    "ib_uverbs",
    "rdma_ucm",
    "sch_netem",
];
/// Where `libibverbs` looks for the library of an adapter, below the directory of libraries.
const PROVIDER_LIBRARY: &str = "libibverbs/librxe-rdmav";

/// The files of the guests of a run, which are the same for all of them. `directory` is the run's own.
///
/// # Errors
/// When a program, a file or a library is missing; it is named.
pub(super) fn contents(job: &GuestJob, kernel: &Kernel, directory: &Path) -> Result<Archive, String> {
    let mut archive = Archive::new();
    for path in ["/dev", "/mnt", "/proc", "/root", "/run", "/sys", "/tmp", "/usr/local/bin"] {
        archive.directory(path);
    }
    archive.bytes("/init", include_str!("init.sh"), PROGRAM);
    // Wherever it is on this machine: this path stands in `init.sh`.
    let busybox = program("busybox")?;
    archive.copy("/bin/busybox", &busybox);
    put_libraries(&mut archive, &busybox)?;
    put_modules(&mut archive, kernel)?;
    put(&mut archive, Path::new(PROVIDER))?;
    for library in provider_libraries()? {
        put(&mut archive, &library)?;
    }
    let tools = ["rdma", "tc"].iter().chain(if job.ssh { &["ssh", "sshd"][..] } else { &[] });
    for name in tools {
        put_program(&mut archive, &Program { name: (*name).to_owned(), path: program(name)? }, directory)?;
    }
    for program in &job.programs {
        put_program(&mut archive, program, directory)?;
    }
    for file in &job.files {
        put_all(&mut archive, &absolute(file)?)?;
    }
    let hosts: Vec<String> = (0..job.nodes).map(|node| format!("n{node}")).collect();
    if job.ssh {
        ssh::configure(&mut archive, &hosts, directory)?;
        for helper in ssh::HELPERS.map(Path::new).into_iter().filter(|helper| helper.exists()) {
            put(&mut archive, helper)?;
        }
    }
    put_settings(&mut archive, job, &hosts);
    Ok(archive)
}

fn put_settings(archive: &mut Archive, job: &GuestJob, hosts: &[String]) {
    archive.bytes("/etc/passwd", format!("root:x:0:0:root:/root:/bin/sh\n{}", ssh::USER), PLAIN);
    archive.bytes("/etc/group", format!("root:x:0:\n{}", ssh::GROUP), PLAIN);
    archive.bytes("/etc/nsswitch.conf", "hosts: files\n", PLAIN);
    archive.bytes("/etc/hosts", hosts_file(hosts), PLAIN);
    let exports: String = job.environment.iter().map(|(name, value)| export(name, value)).collect();
    archive.bytes("/etc/guest/environment", exports, PLAIN);
    archive.bytes("/etc/guest/command", format!("exec {}\n", shell_words::join(&job.command)), PLAIN);
}

fn put_modules(archive: &mut Archive, kernel: &Kernel) -> Result<(), String> {
    let mut order = String::new();
    for file in kernel.modules(&MODULES)? {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name = name.trim_end_matches(".xz");
        archive.bytes(&format!("/modules/{name}"), kernel::module(&file)?, PLAIN);
        order.push_str(name);
        order.push('\n');
    }
    archive.bytes("/modules/order", order, PLAIN);
    Ok(())
}

/// A program at its own path, which is found by its name: before a tool of that name.
fn put_program(archive: &mut Archive, program: &Program, directory: &Path) -> Result<(), String> {
    put(archive, &program.path)?;
    // Nine tenths of a program that is built for tests are for debuggers. What is no program stays as it is.
    let stripped = directory.join(format!("{}.stripped", program.name));
    let mut objcopy = Command::new("objcopy");
    objcopy.arg("--strip-debug").arg(&program.path).arg(&stripped);
    if output_of(&mut objcopy).is_ok() {
        archive.copy(text(&program.path)?, &stripped);
    }
    let (link, path) = (format!("/usr/local/bin/{}", program.name), text(&program.path)?);
    if link != path {
        archive.link(&link, path);
    }
    Ok(())
}

/// A copy of a file at the same path, with the shared libraries that it needs.
fn put(archive: &mut Archive, path: &Path) -> Result<(), String> {
    if !path.is_file() {
        return Err(format!("there is no file {}", path.display()));
    }
    let there = text(path)?;
    if !archive.contains(there) {
        archive.copy(there, path);
        put_libraries(archive, path)?;
    }
    Ok(())
}

/// A file, or all that are in a directory and those below, links followed.
fn put_all(archive: &mut Archive, path: &Path) -> Result<(), String> {
    if !path.is_dir() {
        return put(archive, path);
    }
    let wrong = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    archive.directory(text(path)?);
    for entry in fs::read_dir(path).map_err(wrong)? {
        put_all(archive, &entry.map_err(wrong)?.path())?;
    }
    Ok(())
}

fn put_libraries(archive: &mut Archive, path: &Path) -> Result<(), String> {
    let mut begin = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    // Scripts and data need none; that a file cannot be read is noticed when it is copied.
    if read.is_err() || begin != *b"\x7fELF" {
        return Ok(());
    }
    // It fails for a program that is linked statically, too.
    let Ok(shown) = output_of(command("ldd")?.arg(path)) else { return Ok(()) };
    let libraries = libraries_in(&shown).map_err(|library| {
        format!("{} needs the library {library}, which is not on this machine", path.display())
    })?;
    for library in libraries {
        if !archive.contains(library) {
            archive.copy(library, Path::new(library));
        }
    }
    Ok(())
}

/// The libraries that are there, in what `ldd` prints.
///
/// # Errors
/// The name of one that is not there.
fn libraries_in(shown: &str) -> Result<Vec<&str>, &str> {
    let mut libraries = Vec::new();
    for line in shown.lines().map(str::trim) {
        let (name, found) = line.split_once(" => ").unwrap_or((line, line));
        match found.split_whitespace().next() {
            Some(path) if path.starts_with('/') => libraries.push(path),
            // Part of the kernel, and of no file; or `statically linked`.
            _ if found == line => {}
            _ => return Err(name),
        }
    }
    Ok(libraries)
}

/// The library for Soft-RoCE devices, by the number of its interface.
fn provider_libraries() -> Result<Vec<PathBuf>, String> {
    let architectures = fs::read_dir("/usr/lib").map_err(|error| format!("cannot read /usr/lib: {error}"))?;
    let mut found = Vec::new();
    for architecture in architectures.flatten() {
        let whole = architecture.path().join(PROVIDER_LIBRARY);
        let Some((place, prefix)) = whole.parent().zip(whole.file_name()) else { continue };
        let prefix = prefix.to_string_lossy();
        let files = fs::read_dir(place).into_iter().flatten().flatten();
        let ours = files.filter(|file| file.file_name().to_string_lossy().starts_with(&*prefix));
        found.extend(ours.map(|file| file.path()));
    }
    if found.is_empty() {
        return Err(format!(
            "there is no /usr/lib/*/{PROVIDER_LIBRARY}*.so: apt-get install ibverbs-providers"
        ));
    }
    Ok(found)
}

fn hosts_file(hosts: &[String]) -> String {
    let mut text = "127.0.0.1 localhost\n".to_owned();
    for (address, host) in (1..).zip(hosts) {
        text.push_str(&format!("10.9.0.{address} {host}\n"));
    }
    text
}

fn export(name: &str, value: &str) -> String {
    format!("export {name}={}\n", shell_words::quote(value))
}

fn text(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| format!("{} is no UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_found_in_what_ldd_prints() {
        let shown = "\tlinux-vdso.so.1 (0x00007ffe)\n\
                     \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
                     \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        assert_eq!(
            libraries_in(shown),
            Ok(vec!["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"])
        );
        assert_eq!(libraries_in("\tstatically linked\n"), Ok(Vec::new()));
    }

    #[test]
    fn a_library_that_is_not_there_is_named() {
        let shown = "\tlibodd.so.1 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x00007f)\n";
        assert_eq!(libraries_in(shown), Err("libodd.so.1"));
    }

    #[test]
    fn every_guest_has_a_name_and_an_address() {
        let hosts = ["n0".to_owned(), "n1".to_owned()];
        assert_eq!(hosts_file(&hosts), "127.0.0.1 localhost\n10.9.0.1 n0\n10.9.0.2 n1\n");
    }

    #[test]
    fn a_value_reaches_the_command_as_it_is() {
        assert_eq!(export("WORDS", "it's $HOME"), "export WORDS='it'\\''s $HOME'\n");
    }

    #[test]
    fn a_program_is_found_by_its_name_wherever_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tool-1a2b");
        fs::write(&path, "#!/bin/sh\n").unwrap();
        let mut archive = Archive::new();
        let tool = Program { name: "tool".to_owned(), path: path.clone() };
        put_program(&mut archive, &tool, directory.path()).unwrap();
        assert!(archive.contains("/usr/local/bin/tool") && archive.contains(path.to_str().unwrap()));
        let gone = Program { name: "tool".to_owned(), path: directory.path().join("gone") };
        assert!(put_program(&mut archive, &gone, directory.path()).unwrap_err().ends_with("/gone"));
    }

    #[test]
    fn what_is_for_debuggers_stays_here() {
        let directory = tempfile::tempdir().unwrap();
        let own = Program { name: "own".to_owned(), path: std::env::current_exe().unwrap() };
        put_program(&mut Archive::new(), &own, directory.path()).unwrap();
        let len = |path: &Path| fs::metadata(path).unwrap().len();
        assert!(len(&directory.path().join("own.stripped")) < len(&own.path));
    }
}
