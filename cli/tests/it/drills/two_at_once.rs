//! Two programs load or empty one target at the same time.

use std::fs::{self, File};
use std::path::PathBuf;

use slob_engine::{EngineKind, OpenSpec, Purpose, TargetLock};
use slob_spec::EngineOptions;
use slob_testing::evidence::shows;
use slob_testing::postgres::Version;

use super::times;
use crate::common::{Bench, Called, Folder, Product, all_below, spawned};

const FLAGS: &str = "--scale 4M --scan-table-sz 64 2";

struct Place {
    /// Absent for SQLite: this process has used its library already.
    kind: Option<EngineKind>,
    target: String,
    folder: Folder,
    _bench: Option<Bench>,
}

fn places() -> Vec<Place> {
    let folder = Folder::new();
    let target = format!("sqlite:{}", folder.at("d").display());
    let mut places = vec![Place { kind: None, target, folder, _bench: None }];
    let servers = [
        (Product::Postgres(Version::V15), slob_engine_postgres::KIND),
        (Product::MariaDb, slob_engine_mysql::KIND),
    ];
    for (product, kind) in servers {
        let Some(bench) = product.start(&[]) else { continue };
        let target = bench.target.clone();
        places.push(Place { kind: Some(kind), target, folder: Folder::new(), _bench: Some(bench) });
    }
    places
}

impl Place {
    fn slob(&self, command: &str) -> Called {
        self.folder.slob(format!("{command} --target {}", self.target))
    }

    fn lock(&self) -> TargetLock {
        let Some(kind) = self.kind else {
            fs::create_dir_all(self.folder.at("d")).unwrap();
            let file = File::create(self.folder.at("d/.slob.lock")).unwrap();
            file.try_lock().unwrap();
            return Box::new(file);
        };
        let open = OpenSpec::new(self.target.parse().unwrap(), Purpose::Load, EngineOptions::default());
        (kind.open)(&open).unwrap().lock().unwrap()
    }

    fn setup(&self) -> String {
        format!("setup {FLAGS} --target {}", self.target)
    }
}

#[test]
fn a_target_that_another_program_loads_is_refused_and_not_touched() {
    for place in places() {
        let lock = place.lock();
        let words = ["another load or drop", "wait until it ends", "nothing was touched"];
        let refused = place.folder.slob(place.setup()).refused(&words).stderr;
        // People can find it.
        assert!(["process ", "pid ", "connection "].iter().any(|word| refused.contains(word)), "{refused}");
        place.slob("verify").exits(2);
        drop(lock);
        place.folder.slob(place.setup()).success();
        let lock = place.lock();
        place.slob("drop --yes").refused(&words);
        place.slob("verify").success();
        drop(lock);
        place.slob("drop --yes").success();
    }
}

#[test]
fn of_two_loads_at_once_one_loads_and_the_other_refuses() {
    for place in places() {
        let pairs = times(3, 30);
        for _ in 0..pairs {
            let both = [(); 2].map(|()| spawned(&mut place.folder.command(place.setup())));
            let both = both.map(|child| Called::from(child.wait_with_output().unwrap()));
            let said: Vec<String> = both.iter().map(Called::all).collect();
            // The second may begin after the first has ended.
            match [both[0].code, both[1].code] {
                [0, 2] | [2, 0] => {}
                [0, 0] => assert!(said.iter().any(|said| said.contains("already loaded")), "{said:?}"),
                codes => panic!("{} ends with {codes:?}: {said:?}", place.target),
            }
            place.slob("verify").success();
            place.slob("drop --yes").success();
        }
        let left = all_below(place.folder.path());
        let is_lock = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().contains("lock");
        assert!(!left.iter().any(is_lock), "{left:?}");
        let scheme = place.target.split(':').next().unwrap();
        shows(
            &format!("of two loads at once one loads and the other refuses: {scheme}"),
            format!("{pairs} of {pairs}"),
        );
    }
}
