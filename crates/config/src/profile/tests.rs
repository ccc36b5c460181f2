use std::path::PathBuf;

use super::*;
use crate::testing::environment;

#[test]
fn names_lead_back_to_their_profile() {
    for (profile, name) in Profile::ALL.into_iter().zip(Profile::NAMES) {
        assert_eq!(profile.name(), *name);
        assert_eq!(Profile::from_name(name), Some(profile));
    }
    assert_eq!(Profile::from_name("mcpmu"), None);
}

#[test]
fn the_program_name_chooses_a_profile() {
    assert_eq!(Profile::from_program("/usr/bin/mcps-proxy"), Some(Profile::McpsProxy));
    assert_eq!(Profile::from_program("mcp-studio.exe"), Some(Profile::McpStudio));
    assert_eq!(Profile::from_program("cargo"), None);
    assert_eq!(Profile::from_program(""), None);
}

#[test]
fn config_files_are_where_the_originals_had_them() {
    let mut environment = environment();
    let path = |profile, environment: &Environment| default_config_path(profile, environment);
    let home = |below: &str| Some(PathBuf::from("/home/ann").join(below));
    assert_eq!(path(Profile::Manifold, &environment), home(".config/manifold/config.json"));
    assert_eq!(path(Profile::McpsProxy, &environment), home(".mcps-proxy/config.json"));
    assert_eq!(path(Profile::McpStudio, &environment), home(".config/mcp-studio/config.json"));
    assert_eq!(path(Profile::McpAllInOne, &environment), home(".mcp-all-in-one/mcp.json"));

    environment.vars.insert("XDG_CONFIG_HOME".into(), "/etc/xdg".into());
    assert_eq!(path(Profile::Manifold, &environment), Some("/etc/xdg/manifold/config.json".into()));
    environment.vars.insert("XDG_CONFIG_HOME".into(), "relative".into());
    assert_eq!(path(Profile::Manifold, &environment), home(".config/manifold/config.json"));
    environment.home = None;
    assert_eq!(path(Profile::McpsProxy, &environment), None);
}

// The table of section 3, cell by cell where the columns differ.
#[test]
fn the_table_is_that_of_the_requirements() {
    let all = Profile::ALL.map(Profile::defaults);
    assert_eq!(all.map(|d| d.bare), [Bare::Http, Bare::Http, Bare::Help, Bare::Help]);
    assert_eq!(all.map(|d| d.separator), ["__", "-", ".", "__"]);
    assert_eq!(all.map(|d| d.prefix_descriptions), [true, false, true, true]);
    assert_eq!(
        all.map(|d| d.prefix_prompts),
        [PromptPrefix::Always, PromptPrefix::OnClash, PromptPrefix::Always, PromptPrefix::Always]
    );
    assert_eq!(all.map(|d| d.manager_tools_stdio), [true, false, true, false]);
    assert_eq!(all.map(|d| d.manager_tools_http), [false, false, true, false]);
    assert_eq!(
        all.map(|d| d.start),
        [StartPolicy::Lazy, StartPolicy::Eager, StartPolicy::Lazy, StartPolicy::Eager]
    );
    assert_eq!(
        all.map(|d| d.validate_arguments),
        [
            ValidateArguments::Off,
            ValidateArguments::Required,
            ValidateArguments::Off,
            ValidateArguments::Required
        ]
    );
    assert_eq!(all.map(|d| d.call_timeout.as_secs()), [300, 30, 30, 30]);
    assert_eq!(all.map(|d| d.error_codes == ErrorCodes::Standard), [false, false, false, true]);
    assert_eq!(all.map(|d| d.server_name), ["manifold", "mcps-proxy", "mcp-studio", "mcp-all-in-one"]);
    assert_eq!(all.map(|d| d.server_version), [None, None, None, Some("1.0.0")]);
    assert_eq!(all.map(|d| d.log_file.is_some()), [false, true, false, false]);
}
