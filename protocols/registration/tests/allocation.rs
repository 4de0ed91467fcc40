//! What is registered is found and released without an allocation.

use allocation_counter::measure;
use carrousel_registration::*;

#[test]
fn hits_and_releases_allocate_nothing() {
    let mut cache = Cache::<AllCacheRules>::new(Limits::default());
    let mut work = Vec::new();
    let spans: Vec<Span> = (0..1000u64).filter_map(|at| Span::new((at * 3) << 12, 100)).collect();
    let mut regions = Vec::new();
    for span in &spans {
        let Acquired::Register(region, _) = cache.acquire(*span, &mut work) else { panic!("it is new") };
        assert_eq!(cache.registered(region, &mut work), Ok(Registration::Usable));
        cache.release(region, &mut work).expect("it is held");
        regions.push(region);
    }
    let counts = measure(|| {
        for (span, region) in spans.iter().zip(&regions) {
            assert_eq!(cache.acquire(*span, &mut work), Acquired::Hit(*region));
            assert!(cache.acquire_again(*region, *span));
            cache.release(*region, &mut work).expect("it is held");
            cache.release(*region, &mut work).expect("it is held");
        }
    });
    assert_eq!((counts.count_total, work.len()), (0, 0));
}

#[test]
fn direct_transfers_allocate_nothing() {
    let policy = Policy { thresholds: Thresholds::uniform(1), ..Policy::default() };
    let mut memory = RegistrationCache::<AllCacheRules, AllReuseRules>::new(Limits::default(), policy);
    let mut work = Vec::new();
    let mut directly = 0;
    let mut transfer_all = |memory: &mut RegistrationCache<AllCacheRules, AllReuseRules>| {
        for at in 0..1000u64 {
            let region = match memory.transfer(at << 12, 1000, Path::EagerByWrite, &mut work) {
                Route::Copy => continue,
                Route::Direct(region) => {
                    directly += 1;
                    region
                }
                Route::Register(region, _) => {
                    assert_eq!(memory.registered(region, &mut work), Ok(Registration::Usable));
                    region
                }
            };
            memory.release(region, &mut work).expect("it is held");
        }
    };
    transfer_all(&mut memory);
    let counts = measure(|| transfer_all(&mut memory));
    assert_eq!((counts.count_total, directly), (0, 1000));
}
