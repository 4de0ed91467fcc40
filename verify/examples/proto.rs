use carrousel_rank::{Options, Speculation, Source, RankId, Tag, TagSelector, Protocol, Mirror, Published};
use carrousel_verify::explore::*;
use carrousel_verify::model::*;
use carrousel_verify::program::*;
use std::sync::Arc;
fn gens(n: usize, k: usize) -> Vec<Vec<usize>> { // all sequences of length n over k
    let mut v = vec![vec![]];
    for _ in 0..n { v = v.into_iter().flat_map(|s| (0..k).map(move |x| { let mut t = s.clone(); t.push(x); t })).collect(); }
    v
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (s, r): (usize, usize) = (a[1].parse().unwrap(), a[2].parse().unwrap());
    let reduce = a[3] == "r";
    let published = a[4] == "p";
    let tags: u32 = a[5].parse().unwrap();
    let options = Options { eager_threshold: 1, speculation: Speculation::Always, ..Default::default() };
    let mut jobs = vec![];
    for ss in gens(s, 2 * tags as usize) { for rr in gens(r, 2 * (tags as usize + usize::from(tags > 1))) {
        let mut p0 = Program::default();
        for (i, x) in ss.iter().enumerate() { p0.start(i as u32 + 1, Start::Send { to: 1, tag: *x as u32 / 2, len: 1 + (*x as u64 % 2), synchronous: false, buffer: i as u16 }); }
        let mut p1 = Program::default();
        for (i, x) in rr.iter().enumerate() { p1.start(i as u32 + 11, Start::Receive { from: Source::Rank(RankId(0)), tag: if *x as u32 / 2 == tags { TagSelector::Any } else { TagSelector::Tag(Tag(*x as u32 / 2)) }, len: 2 - (*x as u64 % 2), buffer: i as u16 }); }
        let n0 = p0.starts.len() as u16; let n1 = p1.starts.len() as u16;
        p0.act(20, Act::Wait((0..n0).collect()));
        p1.act(21, Act::Wait((0..n1).collect()));
        jobs.push(Job { ranks: vec![Arc::new(p0), Arc::new(p1)], options });
    } }
    println!("{} programs", jobs.len());
    let jobs: Arc<[Job]> = jobs.into();
    fn go<P: Protocol>(jobs: Arc<[Job]>, reduce: bool) {
        let o = explore::<P>(jobs.clone(), Settings { reduce, portable: false }, &Limits::default());
        println!("states {} generated {} depth {} {:?} rate {:.0}/s reached {:?}", o.states, o.generated, o.depth, o.elapsed, o.generated as f64 / o.elapsed.as_secs_f64(), o.reached);
        for (c, p) in o.violations {
            println!("{c}: {:?}", p.steps.last().unwrap().0.wrong);
            if matches!(c, carrousel_scenario::Check::MatchingOrder) {
            let job = &jobs[p.steps[0].0.job as usize];
            for r in &job.ranks { println!("  {:?}", r.starts); }
            for s in &p.steps { println!("   {:?}", s.1); } }
        }
    }
    if published { go::<Published>(jobs, reduce) } else { go::<Mirror>(jobs, reduce) }
}
