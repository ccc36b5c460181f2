//! Lists that are asked for.

use manifold_admin::{ConfigFile, ItemPage, LogLine, Recording, Server};
use manifold_admin_client::{ClientError, query, segment};

use super::{Asker, failed, told};
use crate::effect::{ConfigDraft, Fetch, News};
use crate::model::tools::Listing;

/// How long the gateway waits for servers that start before it says what it knows.
const LIST_MS: &str = "3000";

/// So many lines of each server are asked for.
const LINES: &str = "200";

pub(super) fn run(asker: &Asker, fetch: Fetch) {
    let news = match fetch {
        Fetch::Servers => {
            let servers: Result<Vec<Server>, _> = asker.with(|client| client.get("/v1/servers"));
            servers.ok().map(News::Servers)
        }
        Fetch::Tools => Some(News::Tools(tools(asker).map_err(|error| told(error).to_string()))),
        Fetch::Tool(name) => {
            let members = [
                ("name", Some(name.as_str())),
                ("full", Some("1")),
                ("namespace", asker.namespace.as_deref()),
            ];
            let page: Result<ItemPage, _> =
                asker.with(|client| client.get(&format!("/v1/tools{}", query(&members))));
            let item = page.map(|page| page.items.into_iter().find(|one| one.name == name)?.item);
            Some(News::Tool { name, item: item.map_err(|error| told(error).to_string()) })
        }
        Fetch::Logs(names) => Some(News::Logs(names.iter().flat_map(|name| logs(asker, name)).collect())),
        Fetch::Recordings => {
            let recordings: Result<Vec<Recording>, _> = asker.with(|client| client.get("/v1/recordings"));
            Some(News::Recordings(recordings.ok()))
        }
        Fetch::Config => Some(config(asker)),
    };
    if let Some(news) = news {
        asker.tell(news);
    }
}

fn tools(asker: &Asker) -> Result<Listing, ClientError> {
    let mut listing = Listing::default();
    let mut cursor: Option<String> = None;
    loop {
        let members = [
            ("namespace", asker.namespace.as_deref()),
            ("timeoutMs", Some(LIST_MS)),
            ("cursor", cursor.as_deref()),
        ];
        let page: ItemPage = asker.with(|client| client.get(&format!("/v1/tools{}", query(&members))))?;
        listing.items.extend(page.items);
        (listing.starting, listing.failed) = (page.starting, page.failed);
        match page.next_cursor {
            // One that stays the same would be asked for ever.
            Some(next) if cursor.as_ref() != Some(&next) => cursor = Some(next),
            _ => return Ok(listing),
        }
    }
}

fn config(asker: &Asker) -> News {
    let file: Result<ConfigFile, _> = asker.with(|client| client.get("/v1/config"));
    match file {
        Ok(ConfigFile { text, revision, path, .. }) => {
            let kind = path.as_deref().and_then(|path| path.rsplit('/').next()?.rsplit_once('.'));
            let kind = kind.map_or("json", |(_, kind)| kind).to_owned();
            News::Config(ConfigDraft { text, revision, kind })
        }
        Err(error) => failed("config".to_owned(), error),
    }
}

fn logs(asker: &Asker, name: &str) -> Vec<LogLine> {
    let path = format!("/v1/servers/{}/logs{}", segment(name), query(&[("lines", Some(LINES))]));
    let lines: Result<Vec<LogLine>, _> = asker.with(|client| client.get(&path));
    let named = |line| LogLine { server: Some(name.to_owned()), ..line };
    lines.unwrap_or_default().into_iter().map(named).collect()
}
