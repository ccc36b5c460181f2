use std::process::{Command, Stdio};
use std::vec::Vec;

use super::*;

#[test]
fn a_child_is_found_with_the_kernels_lists_and_without() {
    let mut child = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
    let (us, pid) = (kernel::own_id(), child.id().cast_signed());
    let (mut found, mut found_by_parent) = (Vec::new(), Vec::new());
    for_each_child(us, &mut |child| found.push(child));
    for_each_child_of_all(us, &mut |child| found_by_parent.push(child));
    let used = own_pages(pid);
    child.kill().unwrap();
    child.wait().unwrap();

    assert_eq!(found.iter().filter(|found| **found == pid).count(), 1, "{found:?}");
    assert!(found_by_parent.contains(&pid), "{found_by_parent:?}");
    assert!((1..10_000).contains(&used), "{used}");
    for_each_child(pid, &mut |child| panic!("{child} is the child of nobody"));
}
