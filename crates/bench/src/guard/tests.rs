use super::*;

fn figures(of: &[(&str, u64)]) -> Figures {
    of.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

fn check(recorded: u64, measured: u64, passes: bool, says: &str) {
    let comparison = compare(&figures(&[("parse", recorded)]), &figures(&[("parse", measured)]));
    assert_eq!(comparison.off.is_empty(), passes, "{}", comparison.table);
    assert!(comparison.table.contains(says), "{}", comparison.table);
}

#[test]
fn a_figure_four_percent_off_fails_and_says_by_how_much() {
    check(1000, 1040, false, "+4.0 %: too many");
    check(1000, 960, false, "-4.0 %: fewer, to be recorded");
}

#[test]
fn a_figure_three_percent_off_passes() {
    check(1000, 1030, true, "+3.0 %");
    check(1000, 970, true, "-3.0 %");
    check(1000, 1000, true, "+0.0 %");
}

#[test]
fn one_part_too_many_fails_all() {
    let recorded = figures(&[("parse", 1000), ("route", 1000)]);
    let measured = figures(&[("parse", 1000), ("route", 1100)]);
    assert_eq!(compare(&recorded, &measured).off, ["route: +10.0 %: too many"]);
}

#[test]
fn parts_without_a_record_and_records_without_a_part_fail() {
    let both = compare(&figures(&[("old", 1)]), &figures(&[("new", 1)]));
    assert!(!both.off.is_empty());
    assert!(both.table.contains("not recorded yet") && both.table.contains("recorded, but gone"));
}

#[test]
fn what_is_recorded_is_read_back() {
    let folder = std::env::temp_dir().join(format!("manifold-guard-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("instructions.json");
    assert!(read(&file).unwrap().is_empty());
    let records = Records::from([("rustc 1, glibc 2".to_owned(), figures(&[("parse", 7)]))]);
    write(&file, &records).unwrap();
    assert_eq!(read(&file).unwrap(), records);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn every_part_works() {
    for part in &parts::ALL {
        part.run(2).unwrap_or_else(|error| panic!("{}: {error}", part.name));
    }
}
