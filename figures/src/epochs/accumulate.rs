//! What the text says of large accumulates without a figure (nonblocking-rma-epochs VIII-A).

use super::series::machine;
use crate::entry::Points;
use crate::figure::{Comparison, Figure, Panel, Point, Scale};
use crate::measure::{FigureError, Labelled, size};
use carrousel_transport_sim::Acquisition;

/// Bytes, on both sides of what travels with its packet.
const SIZES: [u64; 5] = [4 << 10, 8 << 10, 64 << 10, 256 << 10, 1 << 20];
/// The largest operand that does.
const EAGER: u64 = 8 << 10;

/// "MPI_ACCUMULATE with large payloads (more than 8 KB on our test system) do not provide overlapping in any of the
/// implementations because of the need for an internal rendezvous for target-side intermediate buffer."
pub(super) fn overlap_at_the_target(points: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(
        "NB accumulate",
        "Puts and accumulates to a target that computes",
        "A target exposes its memory, computes for 1000 us, and waits for the end of the exposure; the origin puts or \
         accumulates s bytes. The share of the epoch, as long as it is without computing, that is hidden.",
    );
    let machine = machine(Acquisition::Eager)?;
    let epoch = |access: &str, bytes: u64, compute_us: u32| -> Result<f64, FigureError> {
        let report = machine.run(&format!(
            "ranks 2\nwindow w 1MiB\nrank 0\n start w to [1]\n {access} w to 1 size {bytes}\n complete w\n\
             rank 1\n begin: post w from [0]\n compute {compute_us}us\n end: wait_epoch w\n"
        ))?;
        report.between("begin", "end")
    };
    let mut share_panel = Panel::new("hidden", "bytes", Scale::Sizes, "overlap");
    let mut left_panel = Panel::new("left at the target behind its 1000 us", "bytes", Scale::Sizes, "us");
    for (access, name) in [("put", "put"), ("acc", "accumulate")] {
        let (mut shares, mut left) = (Vec::new(), Vec::new());
        let (mut small, mut large) = (Vec::new(), Vec::new());
        for bytes in points.of(&SIZES) {
            let (alone, behind) = (epoch(access, bytes, 0)?, epoch(access, bytes, 1000)? - 1000.0);
            let share = (alone - behind) / alone;
            shares.push(Point::at(bytes as f64, share));
            left.push(Point::at(bytes as f64, behind));
            match access {
                "put" => large.push(Comparison::at_least(size(bytes), share, 0.9)),
                // The target's processor still has to combine.
                _ if bytes <= EAGER => small.push(Comparison::at_least(size(bytes), share, 0.6)),
                // The request has come meanwhile; the operand has not.
                _ => large.push(Comparison::at_most(size(bytes), share, 0.1)),
            }
        }
        share_panel.series(name, shares);
        left_panel.series(name, left);
        if access == "put" {
            figure.says("a put is there when its target has computed, whatever its size", large);
        } else {
            figure.says("an accumulate of up to 8 KB is there, too, and only has to be combined", small);
            figure.says("accumulates of more than 8 KB provide no overlap", large);
        }
    }
    figure.panels.extend([share_panel, left_panel]);
    Ok(figure)
}
