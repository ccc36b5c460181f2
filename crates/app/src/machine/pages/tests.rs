use super::*;

const MAPS: &str = "\
1000-2000 r--p 00000000 fd:00 7 /bin/manifold
Rss:                1636 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd mr mw me
2000-5000 r-xp 00001000 fd:00 7 /bin/manifold
Rss:                7348 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd ex mr mw me
5000-6000 r--p 00004000 fd:00 7 /bin/manifold
Rss:                 552 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd mr mw me ac
6000-7000 rw-p 00005000 fd:00 7 /bin/manifold
Rss:                  20 kB
Anonymous:            20 kB
VmFlags: rd wr mr mw me ac
8000-9000 rw-p 00000000 00:00 0 [heap]
Rss:                   8 kB
Anonymous:             8 kB
VmFlags: rd wr mr mw me ac
a000-b000 r--p 00000000 fd:00 9 /lib/libc.so.6
Rss:                 152 kB
Anonymous:             0 kB
VmFlags: rd mr mw me
b000-c000 r-xp 00001000 fd:00 9 /lib/libc.so.6
Rss:                1068 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
c000-d000 r-xp 00001000 fd:00 10 /lib/absent.so
Rss:                   0 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
d000-e000 r-xp 00000000 fd:00 11 /lib/patched.so
Rss:                  40 kB
Anonymous:             4 kB
VmFlags: rd ex mr mw me
e000-f000 r-xp 00000000 fd:00 12 /lib/swapped.so
Rss:                  40 kB
Anonymous:             0 kB
Swap:                  4 kB
VmFlags: rd ex mr mw me
f000-f800 r-xp 00000000 00:00 0 [vdso]
Rss:                   4 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me de
";

#[test]
fn only_what_a_file_can_bring_back_is_given_back() {
    let clean = clean_mappings(MAPS, Path::new("/bin/manifold"));
    let expected = [(0x1000, 0x2000), (0x2000, 0x5000), (0xb000, 0xc000)];
    assert_eq!(clean, expected.map(|(start, end)| Mapping { start, end }));
}

#[test]
fn the_program_goes_on_without_its_pages() {
    give_back();
    assert_eq!("still".to_owned() + " here", "still here");
}

#[test]
fn what_the_stack_was_once_is_given_back() {
    let maps = "7f0000000000-7f0000010000 rw-p 00000000 00:00 0 \n\
                7ffe00000000-7ffe00100000 rw-p 00000000 00:00 0                          [stack]\n\
                Rss: 100 kB\n";
    let unused = |here| unused_stack(maps, here, 0x1000).map(|Mapping { start, end }| (start, end));
    // By whole pages, and not up to where we are.
    assert_eq!(unused(0x7ffe_000f_f010), Some((0x7ffe_0000_0000, 0x7ffe_000f_b000)));
    assert_eq!(unused(0x7ffe_000f_0000), Some((0x7ffe_0000_0000, 0x7ffe_000e_c000)));
    let large = unused_stack(maps, 0x7ffe_000f_f010, 0x1_0000);
    assert_eq!(large.map(|Mapping { end, .. }| end), Some(0x7ffe_000f_0000));
    // There is nothing below, or we are on another thread.
    assert_eq!(unused(0x7ffe_0000_4fff), None);
    assert_eq!(unused(0x7f00_0000_8000), None);
    assert_eq!(unused(0x7fff_0000_0000), None);
    assert_eq!(unused_stack("", 1 << 20, 0x1000), None);
}

/// What is in use stays as it is, here and in those who called.
#[test]
fn nothing_in_use_is_lost() {
    let kept = [7_u8; 4096];
    give_back();
    assert!(std::hint::black_box(&kept).iter().all(|byte| *byte == 7));
}
