//! A token as it is sent, and when it is none any more.

use std::time::Duration;

use crate::clock::Clock;
use crate::random;
use crate::record::Tokens;
use crate::secret::Secret;

/// The longest time before its end that a token is not trusted any more.
const MARGIN: Duration = Duration::from_secs(60);

/// A token as it is sent. Its `Debug` shows no token.
#[derive(Debug)]
pub struct Bearer {
    /// The whole value of the `Authorization` header.
    pub header: Secret,
    pub generation: u64,
    /// By [`Clock::now`]: before this it is sent without a thought. `None`: until it is refused.
    pub good_until: Option<Duration>,
    /// By the same clock: the end itself.
    pub expires: Option<Duration>,
    /// By the same clock: when a new one is had ahead of time, if this one is used.
    pub(super) refresh_at: Option<Duration>,
    /// How long is waited between looks whether it is used.
    pub(super) slice: Duration,
}

impl Bearer {
    /// Makes what is sent of stored tokens.
    pub(super) fn of(tokens: &Tokens, generation: u64, clock: &dyn Clock) -> Self {
        let (now, wall) = (clock.now(), clock.wall());
        let life = tokens.life.map(Duration::from_secs);
        // The wall's clock may have been set. What would live longer than it was given is not believed: it is taken
        // for old, and for usable as long as it may last at the most.
        let left = tokens.expires_at.map(|end| Duration::from_secs(end.saturating_sub(wall)));
        let is_believed = match (left, life) {
            (Some(left), Some(life)) => left <= life,
            _ => true,
        };
        let left = left.map(|left| if is_believed { left } else { life.unwrap_or(left) });
        let margin = life.map_or(MARGIN, |life| (life / 5).min(MARGIN));
        let whole = life.or(left).unwrap_or_default();
        let expires = left.map(|left| now + left);
        let ahead = left.map(|left| left.saturating_sub((whole / 4).mul_f64(random::jitter(0.2))));
        Self {
            header: Secret::new(format!("Bearer {}", tokens.access.expose())),
            generation,
            good_until: left.map(|left| if is_believed { now + left.saturating_sub(margin) } else { now }),
            expires,
            refresh_at: ahead.map(|ahead| now + ahead),
            slice: (whole / 20).clamp(Duration::from_millis(50), Duration::from_secs(5)),
        }
    }
}
