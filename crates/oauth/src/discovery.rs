//! Who signs in to a server, and where: from the server's own metadata to that of its authorization server.

mod exceptions;
mod issuer;
mod resource;

use crate::address::Reach;
use crate::challenge::Challenge;
use crate::http::{Http, HttpError, Request, Response};
use crate::login::LoginError;
use crate::metadata::{ResourceMetadata, ServerMetadata};
use crate::settings::{ResourceChoice, Settings};
use crate::url::Url;

/// What discovery works with.
pub(crate) struct Discovery<'a> {
    pub(crate) http: &'a dyn Http,
    pub(crate) server: &'a Url,
    pub(crate) settings: &'a Settings,
    pub(crate) challenge: Option<&'a Challenge>,
    /// The issuer we hold a credential of; it is chosen if it is still listed.
    pub(crate) known_issuer: Option<&'a str>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) resource_metadata: Option<ResourceMetadata>,
    pub(crate) metadata: ServerMetadata,
    /// What is sent as `resource`.
    pub(crate) resource: Option<String>,
}

impl Discovery<'_> {
    /// Finds the server's metadata and that of the authorization server we use.
    pub(crate) async fn find(&self) -> Result<Found, LoginError> {
        let resource_metadata = self.resource_metadata().await?;
        let metadata = self.server_metadata(resource_metadata.as_ref()).await?;
        let resource = match (&self.settings.resource, &resource_metadata) {
            (ResourceChoice::Omitted, _) => None,
            (ResourceChoice::Given(given), _) => Some(given.clone()),
            (ResourceChoice::Discovered, Some(found)) => Some(found.resource.clone()),
            (ResourceChoice::Discovered, None) => Some(self.server.canonical()),
        };
        Ok(Found { resource_metadata, metadata, resource })
    }

    fn reach(&self) -> Reach {
        Reach::of_server(self.server, self.settings.allow_private)
    }

    /// Reads one document. `None`: it is not there. What may be there later is an error: going on would be to trust
    /// another document because this one is late.
    async fn document(&self, url: &str) -> Result<Option<Response>, LoginError> {
        let url = Url::parse(url)?;
        let reach = self.reach();
        reach.permits_url(&url).map_err(HttpError::from)?;
        let host = url.authority();
        let response = self.http.send(Request::metadata(url, reach)).await?;
        match response.status {
            200 => Ok(Some(response)),
            429 | 500.. => Err(unavailable(host, &response)),
            _ => Ok(None),
        }
    }
}

pub(crate) fn unavailable(host: String, response: &Response) -> LoginError {
    LoginError::Unavailable {
        host,
        status: response.status,
        retry_after: crate::token::retry_after(response),
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::FORMS;
