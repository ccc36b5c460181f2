use super::*;

#[test]
fn a_list_grows_past_its_first_page_and_shrinks() {
    let mut pids = Pids::new();
    assert_eq!(pids.as_slice(), [0; 0]);
    let count = 3 * FIRST_PIDS as i32;
    for pid in 1..=count {
        pids.add(pid);
    }
    assert!((1..=count).all(|pid| pids.contains(pid)));
    for pid in (1..=count).filter(|pid| pid % 2 == 0) {
        pids.remove(pid);
    }
    pids.remove(count + 1);
    assert_eq!(pids.as_slice().len(), FIRST_PIDS * 3 / 2);
    assert!((1..=count).all(|pid| pids.contains(pid) == (pid % 2 == 1)));
}
