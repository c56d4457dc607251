//! `install` and `uninstall`: the one entry in the configurations of clients.
