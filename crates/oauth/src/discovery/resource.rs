//! A server's own metadata (RFC 9728): where it lies, and whether it is this server's.

use super::Discovery;
use crate::login::LoginError;
use crate::metadata::ResourceMetadata;
use crate::settings::ResourceChoice;
use crate::url::Url;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

impl Discovery<'_> {
    /// Finds the server's metadata: where the refusal says, else beside its path, else at the root.
    pub(super) async fn resource_metadata(&self) -> Result<Option<ResourceMetadata>, LoginError> {
        for place in self.places() {
            let Some(response) = self.document(&place).await? else { continue };
            // A page for people at that place is as good as none.
            let Ok(found) = serde_json::from_slice::<ResourceMetadata>(&response.body) else { continue };
            self.check_resource(&found)?;
            if found.authorization_servers.is_empty() {
                return Err(LoginError::NoAuthorizationServer);
            }
            return Ok(Some(found));
        }
        Ok(None)
    }

    fn places(&self) -> Vec<String> {
        let mut places = Vec::new();
        places.extend(self.challenge.and_then(|challenge| challenge.resource_metadata.clone()));
        let origin = self.server.origin();
        let path = self.server.path();
        let query = self.server.query().map(|query| format!("?{query}")).unwrap_or_default();
        if !matches!(path, "" | "/") || !query.is_empty() {
            let path = if path == "/" { "" } else { path };
            places.push(format!("{origin}{WELL_KNOWN}{path}{query}"));
        }
        places.push(format!("{origin}{WELL_KNOWN}"));
        places.dedup();
        places
    }

    /// The metadata must be of this server: same origin, and its path, or one that this one's is below.
    fn check_resource(&self, found: &ResourceMetadata) -> Result<(), LoginError> {
        let refused = || {
            let got = crate::text::shown(&found.resource);
            Err(LoginError::WrongResource { expected: self.server.canonical(), got })
        };
        if self.settings.resource == ResourceChoice::Given(found.resource.clone()) {
            return Ok(());
        }
        match Url::parse(&found.resource) {
            Ok(resource) if covers(&resource, self.server) => Ok(()),
            _ => refused(),
        }
    }
}

/// Tells whether a token for `resource` is one for `server`.
pub(crate) fn covers(resource: &Url, server: &Url) -> bool {
    let bare = |path: &str| path.strip_suffix('/').unwrap_or(path).to_owned();
    let (ours, theirs) = (bare(server.path()), bare(resource.path()));
    let is_above = ours.strip_prefix(&theirs).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.is_same_origin(server) && !resource.has_fragment() && is_above
}
