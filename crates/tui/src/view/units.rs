//! Numbers in as few columns as can be.

/// Returns a span: `12s`, `5m`, `3h`, `2d`.
pub(super) fn age(ms: u64) -> String {
    match ms / 1000 {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds @ 3600..172_800 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

/// Returns how long something took, of microseconds: `850us`, `12ms`, `3.4s`.
pub(super) fn took(us: u64) -> String {
    match us {
        0..1000 => format!("{us}us"),
        1000..10_000_000 if us < 10_000 => format!("{}.{}ms", us / 1000, us % 1000 / 100),
        1000..10_000_000 => format!("{}ms", us / 1000),
        _ => format!("{}s", us / 1_000_000),
    }
}

/// Returns a size: `812`, `12k`, `3M`.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1000 => bytes.to_string(),
        1000..1_000_000 => format!("{}k", bytes / 1000),
        1_000_000..1_000_000_000 => format!("{}M", bytes / 1_000_000),
        _ => format!("{}.{}G", bytes / 1_000_000_000, bytes % 1_000_000_000 / 100_000_000),
    }
}

pub(super) fn count(count: u64) -> String {
    match count {
        0..100_000 => count.to_string(),
        100_000..10_000_000 => format!("{}k", count / 1000),
        _ => format!("{}M", count / 1_000_000),
    }
}

/// Returns `1 tool`, `2 tools`.
pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Returns a line of bars.
pub(super) fn bars(values: &[u64], width: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let shown = &values[values.len().saturating_sub(width)..];
    let most = shown.iter().copied().max().unwrap_or(0).max(1);
    let bar = |value: &u64| match *value {
        0 => '▁',
        value => BARS[((value * 7).div_ceil(most) as usize).min(7)],
    };
    shown.iter().map(bar).collect()
}
