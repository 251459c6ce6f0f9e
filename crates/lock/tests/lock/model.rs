//! Random scripts against a model that is as plain as the rules: lists in order of arrival, every
//! edge written out, and a search without shortcuts. The owners that are granted, wait or die must
//! be the same in both after every step, with each method for intent locks.

use clearway_base::Lsn;
use clearway_lock::{IntentMode, LockOwner, LockTable, RangeMode};
use clearway_testkit::Random;

use crate::{Step, ask, id, intend, intent_tables};

const OWNERS: usize = 6;
/// Keys 0 to 2, and resources 3 and 4.
const THINGS: usize = 5;
const KEYS: usize = 3;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Mode {
    Range(RangeMode),
    Intent(IntentMode),
}

impl Mode {
    fn conflicts(self, other: Mode) -> bool {
        match (self, other) {
            (Mode::Range(a), Mode::Range(b)) => !a.compatible(b),
            (Mode::Intent(a), Mode::Intent(b)) => !a.compatible(b),
            _ => unreachable!("a thing is a key or a resource"),
        }
    }

    fn supremum(self, other: Mode) -> Mode {
        match (self, other) {
            (Mode::Range(a), Mode::Range(b)) => Mode::Range(a.supremum(b)),
            (Mode::Intent(a), Mode::Intent(b)) => Mode::Intent(a.supremum(b)),
            _ => unreachable!("a thing is a key or a resource"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Request {
    owner: usize,
    granted: Option<Mode>,
    wanted: Mode,
}

impl Request {
    fn waits(&self) -> bool {
        self.granted != Some(self.wanted)
    }
}

#[derive(Default)]
struct Model {
    things: [Vec<Request>; THINGS],
}

impl Model {
    /// The owners that the request at `at` waits for, by the rules alone.
    fn edges(&self, thing: usize, at: usize) -> Vec<usize> {
        let list = &self.things[thing];
        let me = list[at];
        let blocks = |(place, other): (usize, &Request)| {
            let has = other.granted.is_some_and(|mode| mode.conflicts(me.wanted));
            let converts = other.granted.is_some() && other.wanted.conflicts(me.wanted);
            let is_ahead = other.granted.is_none() && place < at;
            let newcomer = me.granted.is_none();
            let yields = newcomer && (converts || is_ahead && other.wanted.conflicts(me.wanted));
            other.owner != me.owner && (has || yields)
        };
        let blockers = list.iter().enumerate().filter(|&other| blocks(other));
        blockers.map(|(_, other)| other.owner).collect()
    }

    /// Where an owner waits.
    fn wait_of(&self, owner: usize) -> Option<(usize, usize)> {
        (0..THINGS).find_map(|thing| {
            let waits = |request: &Request| request.owner == owner && request.waits();
            self.things[thing].iter().position(waits).map(|at| (thing, at))
        })
    }

    fn is_in_cycle(&self, owner: usize) -> bool {
        let mut seen = [false; OWNERS];
        let mut open = vec![owner];
        while let Some(next) = open.pop() {
            let Some((thing, at)) = self.wait_of(next) else { continue };
            for blocker in self.edges(thing, at) {
                if blocker == owner {
                    return true;
                }
                if !std::mem::replace(&mut seen[blocker], true) {
                    open.push(blocker);
                }
            }
        }
        false
    }

    /// Grants requests that wait for no owner, conversions first, one after the other.
    fn grant(&mut self, thing: usize) {
        for conversions in [true, false] {
            for at in 0..self.things[thing].len() {
                let request = self.things[thing][at];
                if request.waits()
                    && request.granted.is_some() == conversions
                    && self.edges(thing, at).is_empty()
                {
                    self.things[thing][at].granted = Some(request.wanted);
                }
            }
        }
    }

    fn ask(&mut self, owner: usize, thing: usize, mode: Mode) -> Step {
        let mine = self.things[thing].iter().position(|request| request.owner == owner);
        let before = mine.and_then(|at| self.things[thing].remove(at).granted);
        let wanted = before.map_or(mode, |granted| granted.supremum(mode));
        // A conversion comes after conversions that were asked for earlier.
        let at = self.things[thing].len();
        self.things[thing].push(Request { owner, granted: before, wanted });
        self.grant(thing);
        if !self.things[thing][at].waits() {
            Step::Granted
        } else if self.is_in_cycle(owner) {
            self.withdraw(owner);
            Step::Dies
        } else {
            Step::Waits
        }
    }

    fn withdraw(&mut self, owner: usize) {
        let Some((thing, at)) = self.wait_of(owner) else { return };
        match self.things[thing][at].granted {
            Some(granted) => self.things[thing][at].wanted = granted,
            None => drop(self.things[thing].remove(at)),
        }
        self.grant(thing);
    }

    fn release_all(&mut self, owner: usize) {
        for thing in 0..THINGS {
            self.things[thing].retain(|request| request.owner != owner);
            self.grant(thing);
        }
    }
}

/// The target of an owner's wait.
type Waiting = Option<(usize, Mode)>;

fn ask_table(table: &LockTable, owner: &mut LockOwner, thing: usize, mode: Mode) -> Step {
    match mode {
        Mode::Range(mode) => ask(table, owner, id(thing as u32), mode),
        Mode::Intent(mode) => intend(table, owner, thing as u32, mode),
    }
}

fn random_mode(thing: usize, roll: u64) -> Mode {
    use IntentMode::{IS, IX, S, SIX, X};
    use RangeMode as M;
    if thing < KEYS {
        let modes = [M::SN, M::XN, M::NS, M::NX, M::SS, M::XX, M::SX, M::XS, M::SN, M::NS];
        Mode::Range(modes[roll as usize % modes.len()])
    } else {
        let modes = [IS, IX, S, SIX, X, IS, IX];
        Mode::Intent(modes[roll as usize % modes.len()])
    }
}

fn run_script(seed: u64, table: &LockTable) -> u64 {
    let mut owners: [LockOwner; OWNERS] = std::array::from_fn(|_| table.owner());
    let mut waiting: [Waiting; OWNERS] = [None; OWNERS];
    let mut model = Model::default();
    let mut deaths = 0;
    let mut random = Random::new(seed);
    for _ in 0..120 {
        let owner = random.below(OWNERS as u64) as usize;
        match (waiting[owner], random.below(10)) {
            (Some(_), 0) => {
                table.cancel(&mut owners[owner]);
                model.withdraw(owner);
                waiting[owner] = None;
            }
            (Some(_), _) => {}
            (None, 0) => {
                table.release_all(&mut owners[owner], Some(Lsn(1)));
                model.release_all(owner);
            }
            (None, _) => {
                let thing = random.below(THINGS as u64) as usize;
                let mode = random_mode(thing, random.below(1 << 20));
                let expected = model.ask(owner, thing, mode);
                let actual = ask_table(table, &mut owners[owner], thing, mode);
                assert_eq!(actual, expected, "seed {seed}: {owner} asks {thing} for {mode:?}");
                waiting[owner] = (actual == Step::Waits).then_some((thing, mode));
                deaths += u64::from(actual == Step::Dies);
            }
        }
        // All other owners: still waiting in both, or granted in both.
        for owner in 0..OWNERS {
            if let Some((thing, mode)) = waiting[owner] {
                let waits = model.wait_of(owner).is_some();
                let actual = ask_table(table, &mut owners[owner], thing, mode);
                assert_eq!(actual == Step::Waits, waits, "seed {seed}: owner {owner}");
                if !waits {
                    assert_eq!(actual, Step::Granted);
                    waiting[owner] = None;
                }
            }
        }
    }
    drop(owners);
    assert!(table.is_quiescent(), "seed {seed}");
    assert_eq!((table.stats().deadlocks, table.stats().false_alarms), (deaths, 0));
    deaths
}

#[test]
fn grants_waits_and_deaths_equal_the_model() {
    for which in 0..intent_tables().len() {
        let run = |seed| run_script(seed, &intent_tables()[which]);
        let deaths: u64 = (1..=1_500).map(run).sum();
        assert!(deaths > 1_000, "only {deaths} deadlocks: the scripts are too tame");
    }
}
