//! What a program does with the names, the number and the descriptions of our tools.

use super::data::Data;

/// What a program can take of a server's tools; `None` where it has no limit that we know of.
#[derive(Debug, Clone, Default)]
pub struct ToolLimits {
    /// Tools of all its servers together; it leaves out, groups or warns of those beyond.
    pub max_tools: Option<usize>,
    /// Characters of what `counted` says.
    pub max_name: Option<usize>,
    /// What becomes of a tool whose name is longer: "is left out".
    pub too_long: Option<String>,
    /// How the model is shown a tool: `mcp__{server}__{tool}`.
    pub shown_name: Option<String>,
    /// Bytes of a tool's description, behind which it is cut.
    pub max_description_bytes: Option<usize>,
    /// Names that no server may have.
    pub reserved: Vec<String>,
    /// What `max_name` counts, where it is not the name that is shown.
    counted: Option<String>,
}

impl ToolLimits {
    pub(super) fn from_data(data: Option<Data>) -> Result<Self, String> {
        let Some(mut data) = data else { return Ok(Self::default()) };
        let limits = Self {
            max_tools: data.number("max_tools")?,
            max_name: data.number("max_name")?,
            too_long: data.text("too_long")?,
            shown_name: data.text("shown_name")?,
            max_description_bytes: data.number("max_description_bytes")?,
            reserved: data.texts("reserved")?,
            counted: data.text("counted")?,
        };
        data.finish()?;
        Ok(limits)
    }

    /// Returns what the model is shown for a tool of a server.
    pub fn shown(&self, server: &str, tool: &str) -> String {
        filled(self.shown_name.as_deref().unwrap_or("{tool}"), server, tool)
    }

    /// Returns by how many characters a tool's name is too long.
    pub fn excess(&self, server: &str, tool: &str) -> usize {
        let form = self.counted.as_deref().or(self.shown_name.as_deref()).unwrap_or("{tool}");
        let length = filled(form, server, tool).chars().count();
        self.max_name.map_or(0, |most| length.saturating_sub(most))
    }
}

fn filled(form: &str, server: &str, tool: &str) -> String {
    form.replacen("{server}", server, 1).replacen("{tool}", tool, 1)
}
