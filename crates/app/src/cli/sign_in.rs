//! The commands by which one signs in to servers, and out.

use clap::{Args, Subcommand};

use super::forms::OneForm;
use super::values::{Span, span};
use crate::output::Form;

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum SignInCommand {
    /// Sign in to a remote server, in your browser
    #[command(after_help = "\
Examples:
  manifold login linear                    opens your browser, and comes back when you are signed in
  manifold login linear --account work     a second account, for servers with `\"account\": \"work\"`
  manifold login linear --no-browser       prints the address; paste the one your browser ends at
  manifold login linear --device           a code to type on another device, where the server has it

Gateways that run take the sign-in over at once. Ends with 1 where it is refused, 6 where the server
wants more all the same, 7 where there is no such server, 124 where nobody signs in in time.")]
    Login(LoginArgs),
    /// Sign out of a remote server
    #[command(after_help = "\
Examples:
  manifold logout linear                   its tokens are revoked there and removed here
  manifold logout linear --forget-client   what we are registered as there is given up, too")]
    Logout(LogoutArgs),
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct LoginArgs {
    /// The server's id, or schema/id
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// As which of several accounts [default: that of the config]
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,
    /// A scope to ask for, instead of those the server names; can be repeated
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// Open no browser; the address is printed
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// With a code that is typed on another device
    #[arg(long)]
    pub(crate) device: bool,
    /// How long to wait for somebody to sign in: 30s, 5m
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "5m")]
    pub(crate) timeout: Span,
    #[command(flatten)]
    pub(crate) form: OneForm,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct LogoutArgs {
    /// The server's id, or schema/id
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// Of which of several accounts [default: that of the config]
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,
    /// Give up what we are registered as there, too
    #[arg(long)]
    pub(crate) forget_client: bool,
    #[command(flatten)]
    pub(crate) form: OneForm,
}

impl SignInCommand {
    pub(crate) fn form(&self) -> Form {
        match self {
            Self::Login(args) => args.form.into(),
            Self::Logout(args) => args.form.into(),
        }
    }
}
