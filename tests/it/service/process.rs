//! A running `serve --http`, and what it writes into its log.

use std::io::BufRead;
use std::io::BufReader;
use std::process::Child;
use std::process::ExitStatus;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::Mutex;

use crate::live::Town;

/// It is killed when dropped.
pub(super) struct Service {
    pub(super) child: Child,
    /// Host and port.
    pub(super) address: String,
    log: Arc<Mutex<String>>,
}

impl Service {
    pub(super) fn of(town: &Town) -> Self {
        Self::with(town, "", &[])
    }

    /// With flags of `serve`, and variables.
    pub(super) fn with(town: &Town, flags: &str, variables: &[(&str, &str)]) -> Self {
        let line = format!("serve --model stand-in --http 127.0.0.1:0 {flags}");
        let mut command = town.world.command(&line);
        command.envs(variables.iter().copied()).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(String::new()));
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let found = line.split_once("http://").and_then(|(_, rest)| rest.strip_suffix("/mcp"));
            let found = found.map(ToOwned::to_owned);
            log.lock().unwrap().push_str(&(line + "\n"));
            found
        });
        assert!(address.is_some(), "{}", log.lock().unwrap());
        let writes = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                writes.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        Self { child, address: address.unwrap(), log }
    }

    /// What it wrote so far.
    pub(super) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Asks it to end.
    #[cfg(unix)]
    pub(super) fn terminate(&self) {
        let pid = self.child.id().to_string();
        assert!(std::process::Command::new("kill").arg(pid).status().unwrap().success());
    }

    /// Waits for the end.
    #[cfg(unix)]
    pub(super) fn ended(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
