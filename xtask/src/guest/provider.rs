//! Ranks of other MPI libraries in two guests, over the provider: tests in guests, and judges of `cargo xtask others`.

use super::case::{CASE, GuestCase};
use super::mpi::GuestMpi;

/// Debian's Open MPI, whose ranks compute while messages move.
pub(crate) const OPEN_MPI_OVERLAPS: GuestCase = GuestCase {
    name: "ranks of Open MPI in two guests run on the provider, which overlaps what they compute",
    statuses: &[0, 0],
    mpi: Some((GuestMpi::OpenMpi, &["nodes.c"])),
    ssh: true,
    timeout_s: 180,
    command: r#"
        install_provider
        overlaps mpiexec.openmpi --allow-run-as-root -H n0,n1 -n 2 --bind-to none -x FI_PROVIDER_PATH=/tmp/provider \
            --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include carrousel --mca mtl_base_verbose 100 \
            nodes-openmpi latency overlap"#,
    says: &["mtl:ofi:provider: carrousel", r#""bench": "latency""#],
    ..CASE
};

/// The same under MPICH.
pub(crate) const MPICH_OVERLAPS: GuestCase = GuestCase {
    name: "ranks of MPICH in two guests run on the provider, which overlaps what they compute",
    statuses: &[0, 0],
    mpi: Some((GuestMpi::Mpich, &["nodes.c", "leaves.c"])),
    ssh: true,
    timeout_s: 180,
    command: r#"
        install_provider
        export FI_PROVIDER_PATH=/tmp/provider FI_PROVIDER=carrousel
        export MPIR_CVAR_CH4_NETMOD=ofi MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_DEBUG_SUMMARY=1
        overlaps mpiexec.hydra -launcher ssh -hosts n0,n1 -ppn 1 -n 2 nodes-mpich latency overlap bandwidth
        mpiexec.hydra -launcher ssh -hosts n0,n1 -ppn 1 -n 2 leaves-mpich"#,
    says: &[
        "libfabric provider: carrousel",
        r#""bench": "latency""#,
        r#""bench": "bandwidth""#,
        "0 of what a rank sent that has left came wrong",
    ],
    ..CASE
};

/// Debian's `hpcc`, which must be installed. It takes two minutes, and most of them are its random access, which takes up
/// to one whatever the matrix: a judge, and no test.
pub(crate) const HPCC: GuestCase = GuestCase {
    name: "HPC Challenge runs on the provider between guests, and finds its results right",
    statuses: &[0, 0],
    programs: &["hpcc"],
    mpi: Some((GuestMpi::OpenMpi, &[])),
    ssh: true,
    timeout_s: 900,
    command: r#"
        install_provider
        # A matrix of 200 rows in blocks of 80, on a grid of one by two processes; two lines of title and a separator.
        printf '%s\n' '' '' out 8 1 200 1 80 0 1 1 2 16.0 1 2 1 4 1 2 1 1 1 1 1 0 2 64 0 0 1 8 '' 0 0 0 0 \
            >/tmp/hpccinf.txt
        mpiexec.openmpi --allow-run-as-root -H n0,n1 -n 2 --bind-to none -wdir /tmp -x FI_PROVIDER_PATH=/tmp/provider \
            --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include carrousel --mca mtl_base_verbose 100 hpcc
        cat /tmp/hpccoutf.txt"#,
    says: &["mtl:ofi:provider: carrousel", "[n0] CommWorldProcs=2", "[n0] Success=1"],
    ..CASE
};
