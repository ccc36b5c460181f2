//! Signing in without a user, by secret or private key.

use super::{Context, Flow, Grant, LoginError, Start};
use crate::record::Credential;

/// Gets a token for the client of the config. There is no refresh: a new one is had in the same way.
pub async fn client_credentials(context: &Context, start: Start) -> Result<Credential, LoginError> {
    let flow = Flow::prepare(context, &start, Grant::ClientCredentials).await?;
    let scope = flow.scopes.join(" ");
    let mut fields = vec![("grant_type", "client_credentials")];
    fields.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
    flow.exchange(fields).await
}
