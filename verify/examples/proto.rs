//! x
fn main() { let f = std::env::args().nth(1).unwrap(); let s = carrousel_scenario::load(&f, &std::fs::read(&f).unwrap()).map_err(|e| e.to_string()).unwrap();
 let mut rq = carrousel_verify::run::Request::default(); rq.reduce = std::env::args().nth(2).is_none();
 let r = carrousel_verify::run::check(&s, &rq).unwrap(); println!("{} states {} trans {} depth {} {:.2}s {:?}", r.scenario, r.states, r.transitions, r.depth, r.seconds, r.verdict);
 for c in &r.checks { if let Some(x) = &c.counterexample { println!("{}: {}", c.name, x.summary); println!("{}", x.chart.text(100, false)); } } }
