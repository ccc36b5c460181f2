use std::vec::Vec;

use super::*;

#[test]
fn a_request_survives_the_wire_byte_for_byte() {
    let odd = b"\xff\xfe=\n";
    let mut writer = Writer::default();
    writer.directory(odd);
    writer.program(b"/bin/odd");
    writer.program(odd);
    writer.arg(odd);
    writer.arg(b"");
    writer.variable(b"EMPTY", b"");
    writer.variable(odd, odd);
    let frame = writer.finish(Limits { memory_mib: u32::MAX, processes: 7 }, 4096).unwrap();

    let (head, strings) = frame.split_first_chunk().unwrap();
    let head = Head::decode(head);
    let wanted = Head {
        bytes: strings.len() as u32,
        directories: 1,
        programs: 2,
        args: 2,
        variables: 2,
        processes: 7,
        memory_pages: u64::from(u32::MAX) * 256,
    };
    assert_eq!(head, wanted);
    let found: Vec<&[u8]> = Strings(strings).collect();
    let wanted: [&[u8]; 7] = [
        b"\xff\xfe=\n\0",
        b"/bin/odd\0",
        b"\xff\xfe=\n\0",
        b"\xff\xfe=\n\0",
        b"\0",
        b"EMPTY=\0",
        b"\xff\xfe=\n=\xff\xfe=\n\0",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn what_no_program_can_be_given_is_not_sent() {
    let mut writer = Writer::default();
    writer.arg(b"a\0b");
    assert_eq!(writer.finish(Limits::default(), 4096), Err(Unsendable::Null));
    let mut writer = Writer::default();
    writer.arg(&std::vec![b'x'; MAX_REQUEST_BYTES]);
    assert_eq!(writer.finish(Limits::default(), 4096), Err(Unsendable::TooLarge));
}

#[test]
fn reports_survive_the_wire() {
    for report in [
        Report::Spawned { pid: 4_000_000 },
        Report::Failed(Failure { step: Step::Start, errno: 7 }),
        Report::Failed(Failure { step: Step::Directory, errno: 2 }),
        Report::Failed(Failure { step: Step::Search, errno: 13 }),
        Report::Failed(Failure { step: Step::Interpreter, errno: 2 }),
        Report::Exited { code: 255, swept: 3 },
        Report::Killed { signal: 9, swept: u32::MAX },
        Report::Over { excess: Excess::Memory, swept: 0 },
        Report::Over { excess: Excess::Processes, swept: 1 },
    ] {
        assert_eq!(Report::decode(report.encode()), Some(report));
    }
}
