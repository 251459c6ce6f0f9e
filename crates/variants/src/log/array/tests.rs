//! The array by itself, its members' steps taken one by one on one thread.

use clearway_sync::atomic::AtomicBool;

use super::*;

const BYTES_MAX: u64 = 1 << 20;

fn sum(bytes: usize) -> Sum {
    Sum::new(bytes as u64, 0)
}

impl Array {
    /// Whether the array has no members and no slot is lost (ARRAY-7).
    fn is_at_rest(&self) -> bool {
        let standing: Vec<usize> =
            self.places.iter().map(|slot| slot.load(Ordering::Relaxed)).collect();
        self.slots.iter().enumerate().all(|(at, slot)| {
            let word = slot.word.load(Ordering::Relaxed);
            let places: Vec<usize> =
                (0..standing.len()).filter(|place| standing[*place] == at).collect();
            match places[..] {
                [] => word == FREE,
                [place] => word == OPEN && slot.place.load(Ordering::Relaxed) == place,
                _ => false,
            }
        })
    }
}

fn base(lsn: u64) -> Base {
    Base { lsn: Lsn(lsn), ticket: lsn + 1 }
}

#[test]
fn members_stand_behind_each_other_and_the_group_is_as_long_as_all_of_them() {
    let array = Array::new(1, 2, BYTES_MAX);
    // More than fits 16 bits.
    let sizes = [32 << 10, 40, 32 << 10, 32, 32 << 10];
    let members: Vec<Member> =
        sizes.iter().map(|size| array.join_at(0, sum(*size)).expect("it is open")).collect();
    let mut end = 0;
    for (member, size) in members.iter().zip(sizes) {
        assert_eq!((member.offset, member.leads()), (end, end == 0), "ARRAY-2");
        end += size as u64;
    }
    let group = GroupSize::from(array.close(&members[0]));
    assert_eq!((group.bytes, group.records, group.trailers_paid), (end, 5, 0), "ARRAY-1");
}

#[test]
fn no_thread_joins_a_closed_group_and_its_slot_is_free_after_the_last_has_gone() {
    let array = Array::new(1, 2, BYTES_MAX);
    let leader = array.join_at(0, sum(48)).unwrap();
    let follower = array.join_at(0, sum(64)).unwrap();
    let slot = leader.slot;
    let group = array.close(&leader);
    assert!(array.join_slot(slot, sum(32)).is_none(), "ARRAY-3");
    array.notify(&leader, Some(base(4096)), group);
    assert!(array.join_slot(slot, sum(32)).is_none(), "ARRAY-3");
    assert!(!array.release(&leader), "ARRAY-4: the follower is there");
    let known = array.wait(&follower).expect("there was room");
    assert_eq!((known.lsn, known.ticket), (Lsn(4096), 4097));
    assert!(array.release(&follower), "ARRAY-4: the last");
    assert!(!array.is_at_rest());
    array.free(follower);
    assert!(array.is_at_rest());
}

#[test]
fn a_group_without_room_is_reported_to_each_member() {
    let array = Array::new(1, 2, BYTES_MAX);
    let leader = array.join_at(0, sum(48)).unwrap();
    let follower = array.join_at(0, sum(64)).unwrap();
    let group = array.close(&leader);
    array.notify(&leader, None, group);
    assert!(array.wait(&follower).is_none() && array.wait(&leader).is_none());
    assert!(!array.release(&follower) && array.release(&leader));
}

#[test]
fn a_member_that_waits_gets_its_own_groups_position() {
    let array = Array::new(1, 2, BYTES_MAX);
    // Slots are used again and again, so an earlier group's place could be mistaken for a later
    // one's.
    for round in 1..=300 {
        let leader = array.join_at(0, sum(48)).unwrap();
        let follower = array.join_at(0, sum(64)).unwrap();
        let group = array.close(&leader);
        let waits = AtomicBool::new(false);
        let known = clearway_sync::thread::scope(|scope| {
            let known = scope.spawn(|| {
                waits.store(true, Ordering::Relaxed);
                array.wait(&follower).expect("there is room")
            });
            while !waits.load(Ordering::Relaxed) {
                clearway_sync::thread::yield_now();
            }
            array.notify(&leader, Some(base(round * 4096)), group);
            known.join().unwrap()
        });
        assert_eq!((known.lsn, known.ticket), (Lsn(round * 4096), round * 4096 + 1));
        assert!(!array.release(&leader) && array.release(&follower));
        array.free(follower);
    }
}

#[test]
fn a_group_that_is_full_takes_no_more() {
    let array = Array::new(1, 1, 100);
    assert!(array.join_at(0, sum(4096)).expect("one may be longer").leads());
    assert!(array.join_at(0, sum(32)).is_none(), "ARRAY-6");
}

/// A thread reads a place, sleeps, and joins the slot that it saw, which has served a group since
/// and is now in another place.
#[test]
fn a_slot_that_has_gone_round_is_not_taken_for_what_it_was() {
    let array = Array::new(2, 3, BYTES_MAX);
    let pass = |place| {
        let member = array.join_at(place, sum(32)).expect("it is open");
        let group = array.close(&member);
        array.notify(&member, Some(base(0)), group);
        assert!(array.release(&member));
        array.free(member);
    };
    let seen = array.places[0].load(Ordering::Relaxed);
    pass(0);
    // Its slot was replaced by the third; now it replaces that of the other place.
    pass(1);
    assert_eq!(array.places[1].load(Ordering::Relaxed), seen);
    let late = array.join_slot(seen, sum(64)).expect("it is open");
    assert!(late.leads());
    let group = array.close(&late);
    array.notify(&late, Some(base(0)), group);
    assert!(array.release(&late));
    array.free(late);
    assert!(array.is_at_rest(), "ARRAY-7");
}

/// The progress of a member of the run below.
enum Step {
    /// Has seen a slot in a place.
    Found(usize),
    Joined(Member),
    Closed(Member, Sum),
    Known(Member),
}

/// Any steps of any members in any order, stale looks at places included: whenever all members are
/// done no slot is lost, and no two members of a group overlap.
#[test]
fn whatever_the_order_of_steps_nothing_is_lost() {
    let mut seed = 1u64;
    let mut roll = |sides: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % sides
    };
    for (places, slots) in [(1, 1), (1, 2), (2, 2), (2, 3), (3, 5)] {
        let array = Array::new(places, slots, 400);
        let (mut members, mut rests, mut end) = (Vec::new(), 0, 0);
        for _ in 0..20_000 {
            // Occasionally all members finish.
            let comes = members.len() < 6 && roll(3) == 0 && roll(40) != 0;
            if comes || members.is_empty() {
                let place = roll(places);
                members.push(Step::Found(array.places[place].load(Ordering::Relaxed)));
            }
            let at = roll(members.len());
            let next = step(&array, members.swap_remove(at), 32 + 8 * roll(30), &mut end);
            members.extend(next);
            if members.is_empty() {
                assert!(array.is_at_rest(), "{places} places, {slots} slots");
                rests += 1;
            }
        }
        assert!(rests > 100, "{rests} rests");
    }
}

/// The next step of a member; `None` if that was its last.
fn step(array: &Array, member: Step, bytes: usize, end: &mut u64) -> Option<Step> {
    match member {
        Step::Found(slot) => array.join_slot(slot, sum(bytes)).map(Step::Joined),
        Step::Joined(member) if member.leads() => {
            let group = array.close(&member);
            Some(Step::Closed(member, group))
        }
        Step::Joined(member) => {
            let word = array.slots[member.slot].word.load(Ordering::Relaxed);
            let is_known = phase(word) == COPYING;
            Some(if is_known { known(array, member, *end) } else { Step::Joined(member) })
        }
        Step::Closed(leader, group) => {
            array.notify(&leader, Some(base(*end)), group);
            *end += group.bytes();
            Some(known(array, leader, *end))
        }
        Step::Known(member) => {
            if array.release(&member) {
                array.free(member);
            }
            None
        }
    }
}

fn known(array: &Array, member: Member, end: u64) -> Step {
    let base = array.wait(&member).expect("there is room").lsn.0;
    assert!(base + member.offset + member.sum.bytes() <= end, "within the group");
    Step::Known(member)
}
