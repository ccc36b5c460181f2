mod door;
mod formats;
mod servers;
mod settings;
mod sign_in;
