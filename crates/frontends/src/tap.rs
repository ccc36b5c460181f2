//! Where the messages of a client without a session are seen.

use std::sync::Arc;

use manifold_admin::FrameClient;
use manifold_engine::{ClientId, Gateway, Hop, Party, Tap};

pub(crate) fn tap(gateway: &Arc<Gateway>, client: Option<ClientId>) -> Tap {
    let client = client.map(|client| FrameClient { id: Some(client.0), ..FrameClient::default() });
    let namespace = gateway.namespace().map(str::to_owned);
    Tap::new(gateway.traffic(), Party { hop: Hop::Client, client, namespace, ..Party::default() })
}
