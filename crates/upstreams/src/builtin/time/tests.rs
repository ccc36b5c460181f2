use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

// Decision 36, S3
#[test]
fn the_seeds_example() {
    let moment = current(Some("Asia/Shanghai"), at("2025-10-25T08:30:00Z")).unwrap();
    assert_eq!(moment.datetime, "2025-10-25T16:30:00.000+08:00");
    assert_eq!(moment.timezone, "Asia/Shanghai");
    assert!(!moment.is_dst);
}

#[test]
fn summer_time_is_told() {
    assert!(current(Some("Europe/Berlin"), at("2026-07-01T00:00:00Z")).unwrap().is_dst);
    assert!(!current(Some("Europe/Berlin"), at("2026-01-01T00:00:00Z")).unwrap().is_dst);
}

#[test]
fn conversion_gives_both_ends_and_the_difference() {
    let now = at("2026-01-15T12:00:00Z");
    let done = convert("America/New_York", "09:30", "Asia/Tokyo", now).unwrap();
    assert_eq!(done.source.datetime, "2026-01-15T09:30:00.000-05:00");
    assert_eq!(done.target.datetime, "2026-01-15T23:30:00.000+09:00");
    assert_eq!(done.time_difference, "+14.0h");
    assert_eq!(convert("UTC", "00:00", "Asia/Kathmandu", now).unwrap().time_difference, "+5.75h");
}

#[test]
fn wrong_arguments_are_named() {
    assert!(current(Some("Mars/Olympus"), at("2026-01-15T12:00:00Z")).unwrap_err().contains("Mars/Olympus"));
    assert!(convert("UTC", "25:00", "UTC", at("2026-01-15T12:00:00Z")).unwrap_err().contains("25:00"));
}
