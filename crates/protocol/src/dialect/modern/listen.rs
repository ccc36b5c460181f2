//! News of changes: one long request whose filter says what its sender wants to hear of.

use crate::dialect::edit_meta;
use crate::raw::{Kind, Raw, RawObject};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// What a listener wants to hear of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    pub tools: bool,
    pub prompts: bool,
    pub resources: bool,
    pub uris: Vec<String>,
    pub tasks: Vec<String>,
}

impl Filter {
    /// Reads the parameters of `subscriptions/listen`; `None` if they have no readable filter.
    pub fn read(params: Option<&Raw>) -> Option<Self> {
        let filter = params?.get("notifications")?.object()?;
        let flag = |key: &str| filter.get(key).and_then(|flag| flag.bool()).unwrap_or(false);
        let texts = |key: &str| match filter.get(key) {
            None => Some(Vec::new()),
            Some(list) => {
                list.elements()?.iter().map(|text| Some(text.to_text()?.into_owned())).collect::<Option<_>>()
            }
        };
        Some(Self {
            tools: flag("toolsListChanged"),
            prompts: flag("promptsListChanged"),
            resources: flag("resourcesListChanged"),
            uris: texts("resourceSubscriptions")?,
            tasks: texts("taskIds")?,
        })
    }

    /// Writes `{"notifications": …}`: the parameters of a request, or of its acknowledgement. What is not wanted is
    /// left out.
    pub fn encode(&self) -> Raw {
        let mut filter = RawObject::default();
        let flags = [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ];
        for (key, _) in flags.into_iter().filter(|(_, wanted)| *wanted) {
            filter.set(key, Raw::boolean(true));
        }
        for (key, list) in [("resourceSubscriptions", &self.uris), ("taskIds", &self.tasks)] {
            if !list.is_empty() {
                filter.set(key, Raw::serialize(list));
            }
        }
        let mut params = RawObject::default();
        params.set("notifications", filter.into_raw());
        params.into_raw()
    }
}

/// Tags a notification, or the result that ends the stream, with the id of the request it belongs to.
pub fn tag(params: Option<Raw>, id: Raw) -> Raw {
    let mut object = params.and_then(|params| params.object()).unwrap_or_default();
    edit_meta(&mut object, |meta| meta.set(SUBSCRIPTION, id));
    object.into_raw()
}

/// Takes a server's tag off a notification.
pub fn untag(params: Option<Raw>) -> Option<Raw> {
    let mut object = params.as_ref().and_then(|params| params.object())?;
    if object.get("_meta").is_none_or(|meta| meta.kind() != Kind::Object) {
        return params;
    }
    edit_meta(&mut object, |meta| meta.remove(SUBSCRIPTION));
    Some(object.into_raw())
}

/// Returns the tag of a notification.
pub fn tag_of(params: Option<&Raw>) -> Option<Raw> {
    params?.get("_meta")?.get(SUBSCRIPTION).filter(|tag| matches!(tag.kind(), Kind::String | Kind::Number))
}
