//! What programs read of verbs that write users' files is as its committed schema says.

use manifold_testkit::Sandbox;
use serde_json::json;

use crate::fake::{alone, check_schema};

#[test]
fn install_and_uninstall_write_what_their_schema_says() {
    let sandbox = Sandbox::new();
    sandbox.write_config(&json!({"mcpServers": {}, "daemon": false}));
    for line in ["install cursor --json", "uninstall cursor --json"] {
        check_schema("cli-install", &alone(&sandbox, line).stdout);
    }
    sandbox.write(".cursor/mcp.json", "{\"mcpServers\": {\"git\": {\"command\": \"git\"}, \"none\": {}}}");
    check_schema("cli-install", &alone(&sandbox, "install cursor --take-over --dry-run --json").stdout);
    check_schema("cli-init", &alone(&sandbox, "init --yes --dry-run --json").stdout);
    check_schema("cli-init", &alone(&sandbox, "init --yes --json").stdout);
    for (line, schema) in [("undo --list --json", "cli-undo-list"), ("undo --json", "cli-undo")] {
        check_schema(schema, &alone(&sandbox, line).stdout);
    }
}
