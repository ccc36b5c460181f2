mod formats;
mod servers;
mod settings;
