//! A set of cases over one pool of tools, ready to run.

use std::path::{Path, PathBuf};

use super::EvalError;
use super::cases::Case;
use super::cases::{self};
use super::datasets::Registry;
use crate::catalog::Server;
use crate::sources;

/// Cases and the tools they are asked of.
#[derive(Debug)]
pub struct Suite {
    /// Name of the set.
    pub set: String,
    /// Name of the pool.
    pub pool: String,
    /// The catalogue.
    pub servers: Vec<Server>,
    /// What is asked.
    pub cases: Vec<Case>,
    /// Whether each case has its own few candidates.
    pub by_case: bool,
    /// Whether each case is asked once more without the tools that fulfil it.
    pub removes: bool,
}

/// Which suites to run.
#[derive(Clone, Debug, Default)]
pub struct SetChoice {
    /// Sets by name; of no names, those that are run by default.
    pub sets: Vec<String>,
    /// Pools by name; of no names, all of each set.
    pub pools: Vec<String>,
    /// The folder with public data.
    pub data: PathBuf,
}

impl Suite {
    /// The suites of public sets.
    ///
    /// # Errors
    /// Fails when a file is missing or changed, or a name is unknown.
    pub fn of_sets(choice: &SetChoice) -> Result<Vec<Self>, EvalError> {
        let registry = Registry::load()?;
        let sets = match choice.sets.is_empty() {
            true => registry.sets.iter().filter(|set| set.default).collect(),
            false => {
                choice.sets.iter().map(|name| registry.set(name)).collect::<Result<Vec<_>, _>>()?
            }
        };
        let pools: Vec<&String> =
            sets.iter().flat_map(|set| &set.pools).map(|pool| &pool.name).collect();
        if let Some(name) = choice.pools.iter().find(|name| !pools.contains(name)) {
            let known: Vec<&str> = pools.iter().map(|name| name.as_str()).collect();
            let (name, known) = (name.clone(), known.join(", "));
            return Err(EvalError::Unknown { kind: "pool in these sets", name, known });
        }
        let mut suites = Vec::new();
        for set in sets {
            let cases = set.cases(&registry, &choice.data)?;
            let is_wanted = |name| choice.pools.is_empty() || choice.pools.contains(name);
            for pool in set.pools.iter().filter(|pool| is_wanted(&pool.name)) {
                suites.push(Self {
                    set: set.name.clone(),
                    pool: pool.name.clone(),
                    servers: set.servers(&registry, pool, &choice.data)?,
                    cases: cases.clone(),
                    by_case: pool.by_case,
                    removes: pool.removes,
                });
            }
        }
        Ok(suites)
    }

    /// Anyone's own requests over their own catalogues, in any format that
    /// `index build` reads.
    ///
    /// # Errors
    /// Fails when a file cannot be read or a line is no case.
    pub fn of_files(requests: &Path, catalogs: &[PathBuf]) -> Result<Self, EvalError> {
        let mut imports = Vec::new();
        for path in catalogs {
            imports.push((path.display().to_string(), sources::read(path, None)?));
        }
        let servers = sources::merge(imports).servers;
        let text = fs_err::read_to_string(requests)
            .map_err(|source| EvalError::Read { path: requests.to_owned(), source })?;
        let n_tools: usize = servers.iter().map(|server| server.tools.len()).sum();
        let cases = cases::read(requests, &text)?;
        Ok(Self {
            set: requests.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            pool: n_tools.to_string(),
            servers,
            // Only judges know every tool that fulfils a request.
            removes: cases.iter().any(|case| case.judged.is_some()),
            cases,
            by_case: false,
        })
    }
}
