//! What every way of signing in has in common: who is asked, who we are there, for what.

use super::{Context, LoginError, Start};
use crate::address::Reach;
use crate::discovery::{Discovery, Found};
use crate::record::{Credential, CredentialKey, Registration};
use crate::registration::Registrar;
use crate::scope::Choice;
use crate::settings::Grant;
use crate::token::{Answer, Fields, Issuer};
use crate::url::Url;

/// A login whose issuer and client are known.
#[derive(Clone)]
pub(crate) struct Flow {
    pub(crate) context: Context,
    pub(crate) found: Found,
    pub(crate) registration: Registration,
    pub(crate) scopes: Vec<String>,
    grant: Grant,
    redirect_uri: Option<String>,
    server: Url,
}

impl Flow {
    /// Discovers, and registers us if need be.
    pub(crate) async fn prepare(context: &Context, start: &Start, grant: Grant) -> Result<Self, LoginError> {
        let server = Url::parse(&context.server.url)?;
        let settings = &context.settings;
        let discovery = Discovery {
            http: context.http.as_ref(),
            server: &server,
            settings,
            challenge: start.challenge.as_ref(),
            known_issuer: start.known.as_ref().map(|known| known.issuer.as_str()),
        };
        let found = discovery.find().await?;
        let redirect_uri = (grant == Grant::Code).then(|| start.redirect_uri.clone());
        let registrar = Registrar {
            http: context.http.as_ref(),
            clock: context.clock.as_ref(),
            reach: Reach::of_server(&server, settings.allow_private),
            settings,
            metadata: &found.metadata,
            redirect_uri: redirect_uri.as_deref(),
            grant,
            known: start.known.as_ref(),
            without_document: start.without_document,
        };
        let registration = registrar.client().await?;
        let choice = Choice {
            asked: &start.scopes,
            configured: &settings.scopes,
            challenge: start.challenge.as_ref(),
            resource: found.resource_metadata.as_ref(),
            server: &found.metadata,
            known: start.known.as_ref().filter(|known| known.issuer == found.metadata.issuer),
        };
        let scopes = choice.scopes();
        Ok(Self { context: context.clone(), found, registration, scopes, grant, redirect_uri, server })
    }

    /// Asks for the first token and makes the credential.
    pub(crate) async fn exchange(&self, fields: Fields<'_>) -> Result<Credential, LoginError> {
        let mut fields = fields;
        if let Some(resource) = &self.found.resource {
            fields.push(("resource", resource));
        }
        let answer = self.issuer().token(fields).await?;
        self.credential(&answer)
    }

    pub(crate) fn issuer(&self) -> Issuer<'_> {
        Issuer {
            http: self.context.http.as_ref(),
            clock: self.context.clock.as_ref(),
            reach: Reach::of_server(&self.server, self.context.settings.allow_private),
            settings: &self.context.settings,
            metadata: &self.found.metadata,
            registration: &self.registration,
        }
    }

    fn credential(&self, answer: &Answer) -> Result<Credential, LoginError> {
        let now = self.context.clock.wall();
        Ok(Credential {
            key: CredentialKey::of(&self.context.server, &self.context.settings)?,
            generation: 1,
            issuer: self.found.metadata.issuer.clone(),
            resource: self.found.resource.clone(),
            resource_metadata: self.found.resource_metadata.clone(),
            server_metadata: self.found.metadata.clone(),
            registration: self.registration.clone(),
            tokens: Some(answer.tokens(None, now)),
            ended: None,
            grant: self.grant,
            requested_scopes: self.scopes.clone(),
            granted_scopes: answer.scopes.clone().unwrap_or_else(|| self.scopes.clone()),
            wanted_scopes: Vec::new(),
            redirect_uri: self.redirect_uri.clone(),
            looked_up: now,
            refreshed: now,
            marker: None,
        })
    }
}
