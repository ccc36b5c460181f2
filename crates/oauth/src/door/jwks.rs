//! The keys of an issuer: fetched when they are needed, anew when a token names one that is not known, and never oftener
//! than twice a minute, whatever tokens name. What was good stays good while the issuer cannot be reached.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use serde::Deserialize;
use serde_json::Value;
use tracing::{info, warn};

use super::Unverified;
use super::jwt::Head;
use crate::address::Reach;
use crate::clock::Clock;
use crate::http::{Http, Request, Response};
use crate::metadata::ServerMetadata;
use crate::spawn::Spawn;
use crate::url::Url;

/// Within this time keys are fetched no oftener than twice.
const WINDOW: Duration = Duration::from_secs(60);
const SHORTEST: Duration = Duration::from_secs(5 * 60);
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Where the answer does not say how long it is good.
const USUAL: Duration = Duration::from_secs(3600);
/// More keys than any issuer has.
const MAX_KEYS: usize = 200;

/// The keys of one issuer.
pub(super) struct Keys {
    issuer: String,
    /// Where they are, if that is configured.
    configured: Option<String>,
    state: Mutex<State>,
    /// Held by whoever fetches: others wait for what comes of it.
    fetching: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct State {
    set: Option<Arc<Set>>,
    /// Where the issuer says that its keys are.
    address: Option<Url>,
    /// When keys were fetched last, and before that.
    fetched: [Option<Duration>; 2],
    /// Counts what was fetched.
    rounds: u64,
    /// The last look brought nothing.
    is_away: bool,
}

struct Set {
    keys: Vec<Jwk>,
    fresh_until: Duration,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

impl Keys {
    pub(super) fn new(issuer: &str, configured: Option<&str>) -> Self {
        Self {
            issuer: issuer.to_owned(),
            configured: configured.map(str::to_owned),
            state: Mutex::default(),
            fetching: Arc::default(),
        }
    }

    /// Returns the key that a token was signed with, by its name and by what it is for.
    pub(super) async fn find(
        self: &Arc<Self>,
        head: &Head,
        http: &Arc<dyn Http>,
        clock: &Arc<dyn Clock>,
        tasks: &dyn Spawn,
    ) -> Result<DecodingKey, Unverified> {
        let (known, rounds) = self.known();
        let found = known.as_ref().and_then(|set| set.find(head));
        let is_fresh = known.as_ref().is_some_and(|set| clock.now() < set.fresh_until);
        if let (Some(key), true) = (&found, is_fresh) {
            return Ok(key.clone());
        }
        // A key that was good is good while others are looked for, however long that takes.
        if let Some(key) = found {
            self.renew(rounds, http, clock, tasks);
            return Ok(key);
        }
        let turn = self.fetching.lock().await;
        if self.known().1 == rounds && self.may_fetch(clock.now()) {
            self.fetch(&**http, &**clock).await;
        }
        drop(turn);
        let (known, _) = self.known();
        let set = known.ok_or(Unverified::Unavailable)?;
        // It may be newer than what is known.
        let unknown = match self.lock().is_away {
            true => Unverified::Unavailable,
            false => Unverified::Invalid("it is signed with an unknown key"),
        };
        set.find(head).ok_or(unknown)
    }

    /// Has the keys fetched by nobody who waits for them, unless somebody does so already.
    fn renew(self: &Arc<Self>, rounds: u64, http: &Arc<dyn Http>, clock: &Arc<dyn Clock>, tasks: &dyn Spawn) {
        let Ok(turn) = Arc::clone(&self.fetching).try_lock_owned() else { return };
        if self.known().1 != rounds || !self.may_fetch(clock.now()) {
            return;
        }
        let (keys, http, clock) = (Arc::clone(self), Arc::clone(http), Arc::clone(clock));
        tasks.spawn_background(Box::pin(async move {
            keys.fetch(&*http, &*clock).await;
            drop(turn);
        }));
    }

    fn known(&self) -> (Option<Arc<Set>>, u64) {
        let state = self.lock();
        (state.set.clone(), state.rounds)
    }

    /// Counts a look for keys, if there may be one now.
    fn may_fetch(&self, now: Duration) -> bool {
        let mut state = self.lock();
        let [last, before] = state.fetched;
        if before.is_some_and(|before| now < before + WINDOW) {
            return false;
        }
        state.fetched = [Some(now), last];
        true
    }

    async fn fetch(&self, http: &dyn Http, clock: &dyn Clock) {
        match self.ask(http).await {
            Ok(answer) => match Set::read(&answer, clock.now()) {
                Some(set) => {
                    info!(issuer = self.issuer, keys = set.keys.len(), "keys of an issuer were fetched");
                    let mut state = self.lock();
                    state.set = Some(Arc::new(set));
                    state.rounds += 1;
                    state.is_away = false;
                }
                None => {
                    self.lock().address = None;
                    self.failed("its answer holds no keys");
                }
            },
            Err(why) => self.failed(&why),
        }
    }

    /// Says that there are no newer keys.
    fn failed(&self, why: &str) {
        warn!(issuer = self.issuer, "keys of an issuer could not be fetched: {why}");
        let mut state = self.lock();
        state.rounds += 1;
        state.is_away = true;
    }

    async fn ask(&self, http: &dyn Http) -> Result<Response, String> {
        let known = self.lock().address.clone();
        let address = match (known, &self.configured) {
            (Some(known), _) => known,
            (None, Some(configured)) => Url::parse(configured).map_err(|error| error.to_string())?,
            (None, None) => self.discover(http).await?,
        };
        let request = Request::metadata(address.clone(), self.reach()?);
        let answer = http.send(request).await.map_err(|error| error.to_string())?;
        // Where there is nothing any more the issuer is asked again; one that is in trouble has not moved.
        let is_there = answer.is_success() || answer.status >= 500 || answer.status == 429;
        self.lock().address = Some(address.clone()).filter(|_| is_there);
        if !answer.is_success() {
            return Err(format!("{} answers with {}", address.host(), answer.status));
        }
        Ok(answer)
    }

    /// Asks the issuer where its keys are (RFC 8414, 3.1 and 5).
    async fn discover(&self, http: &dyn Http) -> Result<Url, String> {
        let issuer = Url::parse(&self.issuer).map_err(|error| error.to_string())?;
        let (origin, path) = (issuer.origin(), issuer.path().trim_end_matches('/'));
        let mut places = vec![
            format!("{origin}/.well-known/oauth-authorization-server{path}"),
            format!("{origin}/.well-known/openid-configuration{path}"),
        ];
        if !path.is_empty() {
            places.push(format!("{origin}{path}/.well-known/openid-configuration"));
        }
        for place in places {
            let place = Url::parse(&place).map_err(|error| error.to_string())?;
            let request = Request::metadata(place, self.reach()?);
            let answer = http.send(request).await.map_err(|error| error.to_string())?;
            if answer.status >= 500 || answer.status == 429 {
                return Err(format!("{} answers with {}", issuer.host(), answer.status));
            }
            let document = serde_json::from_slice::<ServerMetadata>(&answer.body).ok();
            let Some(document) = document.filter(|_| answer.is_success()) else { continue };
            // A slash at the root is all that may differ.
            if document.issuer.trim_end_matches('/') != self.issuer.trim_end_matches('/') {
                return Err(format!("{} names another issuer", issuer.host()));
            }
            if let Some(keys) = document.jwks_uri {
                return Url::parse(&keys).map_err(|error| error.to_string());
            }
        }
        Err(format!("{} does not say where its keys are", issuer.host()))
    }

    /// Whoever wrote the issuer into the config may have it in a private network; only one on this machine leads there.
    fn reach(&self) -> Result<Reach, String> {
        let place = self.configured.as_deref().unwrap_or(&self.issuer);
        let url = Url::parse(place).map_err(|error| error.to_string())?;
        Ok(Reach { loopback: url.is_loopback(), private: true })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Set {
    /// Reads a set of keys; those that we cannot use are left out.
    fn read(answer: &Response, now: Duration) -> Option<Self> {
        let document: Document = serde_json::from_slice(&answer.body).ok()?;
        let keys = document.keys.into_iter().take(MAX_KEYS);
        let keys: Vec<Jwk> = keys.filter_map(|key| serde_json::from_value(key).ok()).collect();
        let good_for = max_age(answer.header("cache-control").unwrap_or_default());
        let good_for = good_for.unwrap_or(USUAL).clamp(SHORTEST, LONGEST);
        Some(Self { keys, fresh_until: now + good_for })
    }

    /// Returns the key of that name that is for such signatures. A token that names none is signed with the only one there
    /// is.
    fn find(&self, head: &Head) -> Option<DecodingKey> {
        let mut fitting = self.keys.iter().filter(|key| fits(key, head));
        let key = match &head.kid {
            Some(kid) => fitting.find(|key| key.common.key_id.as_deref() == Some(kid)),
            None => fitting.next().filter(|_| fitting.next().is_none()),
        };
        DecodingKey::from_jwk(key?).ok()
    }
}

/// Returns whether a key is one for such signatures: of their kind, for signing, and for no other algorithm.
fn fits(key: &Jwk, head: &Head) -> bool {
    let is_for_signing =
        key.common.public_key_use.as_ref().is_none_or(|used| *used == PublicKeyUse::Signature);
    let named = key.common.key_algorithm.map(|algorithm| algorithm.to_string());
    let is_of_kind = match (&key.algorithm, head.name.as_str()) {
        (AlgorithmParameters::RSA(_), name) => name.starts_with("RS") || name.starts_with("PS"),
        (AlgorithmParameters::EllipticCurve(curve), "ES256") => curve.curve == EllipticCurve::P256,
        (AlgorithmParameters::EllipticCurve(curve), "ES384") => curve.curve == EllipticCurve::P384,
        (AlgorithmParameters::OctetKeyPair(pair), "EdDSA") => pair.curve == EllipticCurve::Ed25519,
        _ => false,
    };
    is_for_signing && is_of_kind && named.is_none_or(|named| named == head.name)
}

fn max_age(cache_control: &str) -> Option<Duration> {
    let words = cache_control.split(',').map(str::trim);
    let seconds = words.filter_map(|word| word.strip_prefix("max-age=")).find_map(|age| age.parse().ok());
    seconds.map(Duration::from_secs)
}
