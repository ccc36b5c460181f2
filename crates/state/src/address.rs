//! Where the store is: one server, the primary that sentinels know of, or a cluster.

use std::path::PathBuf;

use redis::cluster::ClusterClient;
use redis::sentinel::{Sentinel, SentinelNodeConnectionInfo};
use redis::{
    Client, ConnectionInfo, ErrorKind, IntoConnectionInfo as _, RedisConnectionInfo, RedisError, RedisResult,
    TlsMode,
};

use crate::OpenError;

/// An address as it was written, and how the store lets us in.
pub(crate) struct Address {
    place: Place,
    /// User, password and number of the database.
    settings: RedisConnectionInfo,
    password_file: Option<PathBuf>,
}

enum Place {
    Server(ConnectionInfo),
    Sentinels { nodes: Vec<ConnectionInfo>, service: String, is_tls: bool },
    Cluster { nodes: Vec<ConnectionInfo> },
}

/// What can be connected to now.
pub(crate) enum Reached {
    Server(Box<Client>),
    Cluster(Box<ClusterClient>),
}

const SENTINELS: &str = "+sentinel";
const CLUSTER: &str = "+cluster";

impl Address {
    /// Reads an address: `redis://`, `rediss://` or `redis+unix://` for one server,
    /// `redis+sentinel://[USER:PASSWORD@]HOST:PORT,HOST:PORT/SERVICE[/DATABASE]` and
    /// `redis+cluster://[USER:PASSWORD@]HOST:PORT,HOST:PORT`; `rediss+…` are over TLS.
    pub(crate) fn read(url: &str, password_file: Option<PathBuf>) -> Result<Self, OpenError> {
        let (place, settings) = read(url).map_err(OpenError::Address)?;
        let address = Self { place, settings, password_file };
        address.settings()?;
        Ok(address)
    }

    /// Returns what to connect to. Sentinels are asked which server is the primary now.
    pub(crate) async fn reached(&self) -> Result<Reached, OpenError> {
        let settings = self.settings()?;
        match &self.place {
            Place::Cluster { nodes } => {
                let nodes = nodes.iter().map(|node| node.clone().set_redis_settings(settings.clone()));
                ClusterClient::new(nodes)
                    .map(|client| Reached::Cluster(Box::new(client)))
                    .map_err(OpenError::Address)
            }
            Place::Server(_) | Place::Sentinels { .. } => {
                self.server().await.map(|client| Reached::Server(Box::new(client)))
            }
        }
    }

    /// Returns one server to hear news at: in a cluster each of them tells all.
    pub(crate) async fn server(&self) -> Result<Client, OpenError> {
        let settings = self.settings()?;
        let opened = match &self.place {
            Place::Server(info) => Client::open(info.clone().set_redis_settings(settings)),
            Place::Sentinels { nodes, service, is_tls } => {
                let mut wanted = SentinelNodeConnectionInfo::default().set_redis_connection_info(settings);
                if *is_tls {
                    wanted = wanted.set_tls_mode(TlsMode::Secure);
                }
                match Sentinel::build(nodes.clone()) {
                    Ok(mut sentinels) => sentinels.async_master_for(service, Some(&wanted)).await,
                    Err(error) => Err(error),
                }
            }
            Place::Cluster { nodes } => return self.first_that_answers(nodes).await,
        };
        opened.map_err(OpenError::Address)
    }

    async fn first_that_answers(&self, nodes: &[ConnectionInfo]) -> Result<Client, OpenError> {
        let settings = self.settings()?;
        let mut failure = mistake("the cluster has no servers");
        for node in nodes {
            let client = Client::open(node.clone().set_redis_settings(settings.clone()))
                .map_err(OpenError::Address)?;
            match client.get_multiplexed_async_connection().await {
                Ok(_) => return Ok(client),
                Err(error) => failure = error,
            }
        }
        Err(OpenError::Address(failure))
    }

    /// The password is read each time: it may have been changed. Our name is not said: a user who may do only what is needed
    /// may not say it.
    fn settings(&self) -> Result<RedisConnectionInfo, OpenError> {
        let settings = self.settings.clone().set_skip_set_lib_name();
        let Some(path) = &self.password_file else { return Ok(settings) };
        let password = std::fs::read_to_string(path)
            .map_err(|error| OpenError::Password { path: path.clone(), error })?;
        Ok(settings.set_password(password.trim()))
    }
}

fn read(url: &str) -> RedisResult<(Place, RedisConnectionInfo)> {
    let several = url.split_once("://").and_then(|(scheme, rest)| {
        let (scheme, kind) = scheme.split_at_checked(scheme.find('+')?)?;
        matches!(kind, SENTINELS | CLUSTER).then_some((scheme, kind, rest))
    });
    let Some((scheme, kind, rest)) = several else {
        let info = url.into_connection_info()?;
        let settings = info.redis_settings().clone();
        return Ok((Place::Server(info), settings));
    };
    let (before, hosts_and_path) = rest.rsplit_once('@').map_or(("", rest), |(who, hosts)| (who, hosts));
    let (hosts, path) = hosts_and_path.split_once('/').unwrap_or((hosts_and_path, ""));
    let path = path.trim_end_matches('/');
    let (service, database) =
        if kind == SENTINELS { path.split_once('/').unwrap_or((path, "")) } else { ("", path) };
    // User, password and database are written as in any other address, and read as such.
    let who = if before.is_empty() { String::new() } else { format!("{before}@") };
    let first = hosts.split(',').next().unwrap_or_default();
    let settings =
        format!("{scheme}://{who}{first}/{database}").into_connection_info()?.redis_settings().clone();
    let nodes = hosts.split(',').map(|host| format!("{scheme}://{host}/").into_connection_info());
    let nodes = nodes.collect::<RedisResult<Vec<_>>>()?;
    if kind == CLUSTER {
        return Ok((Place::Cluster { nodes }, settings));
    }
    if service.is_empty() {
        return Err(mistake(
            "behind the sentinels stands the name of the service they watch, as in `/mymaster`",
        ));
    }
    let is_tls = scheme == "rediss";
    Ok((Place::Sentinels { nodes, service: service.to_owned(), is_tls }, settings))
}

fn mistake(text: &'static str) -> RedisError {
    RedisError::from((ErrorKind::InvalidClientConfig, text))
}
