//! A repository in a temporary folder, and what can be seen in it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyorder_runner::tree::{Checkout, PreparedTree, Rev, TreeKind};
use fs_err as fs;
use tempfile::TempDir;

/// A project `p` with a repository, and room beside it.
pub(crate) struct Repo {
    folder: TempDir,
    pub(crate) root: PathBuf,
}

/// Each path under a folder with its type, executable bit and content.
pub(crate) type Files = BTreeMap<PathBuf, (char, bool, Vec<u8>)>;

#[expect(clippy::disallowed_methods, reason = "tests set their scene with git and mount")]
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command.env("GIT_ALLOW_PROTOCOL", "file");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
        command.env_remove(name);
    }
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "A U Thor").env(format!("GIT_{who}_EMAIL"), "a@example.com");
        command.env(format!("GIT_{who}_DATE"), "2024-01-02T03:04:05Z");
    }
    command
}

/// Runs git in a folder; its output.
pub(crate) fn git_in(folder: &Path, arguments: &[&str]) -> String {
    let output = command("git").current_dir(folder).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

impl Repo {
    /// An empty repository with local settings that shield it from the machine's.
    pub(crate) fn empty() -> Self {
        Self::empty_as("sha1")
    }

    /// An empty repository with an object format of its own.
    pub(crate) fn empty_as(format: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(folder.path()).unwrap();
        let root = top.join("p");
        fs::create_dir(&root).unwrap();
        git_in(&root, &["init", "-q", "-b", "main", &format!("--object-format={format}")]);
        for (key, value) in
            [("core.autocrlf", "false"), ("core.excludesFile", "/dev/null"), ("commit.gpgsign", "false")]
        {
            git_in(&root, &["config", key, value]);
        }
        Self { folder, root }
    }

    /// A repository with one commit that holds the named files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let repo = Self::empty();
        for (path, text) in files {
            repo.write(path, text);
        }
        repo.commit("first");
        repo
    }

    /// A path beside the project.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap().join(name)
    }

    pub(crate) fn scratch(&self) -> PathBuf {
        self.beside("scratch")
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git_in(&self.root, arguments)
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        let path = self.root.join(path);
        if fs::symlink_metadata(&path).unwrap().is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }

    pub(crate) fn link(&self, path: &str, target: &str) {
        std::os::unix::fs::symlink(target, self.root.join(path)).unwrap();
    }

    pub(crate) fn executable(&self, path: &str) {
        fs::set_permissions(self.root.join(path), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Commits everything; the new commit.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A", "-f"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn checkout(&self) -> Checkout {
        Checkout::discover(&self.root).unwrap()
    }

    pub(crate) fn rev(&self, name: &str) -> Rev {
        self.checkout().resolve(name).unwrap()
    }

    /// The tree of a revision, prepared while the repository is watched.
    pub(crate) fn at(&self, name: &str) -> PreparedTree {
        let before = everything(&self.root);
        let tree = self.checkout().at(&self.rev(name), &self.scratch()).unwrap();
        assert_untouched(&before, &self.root);
        tree
    }

    /// The tree of HEAD with a patch.
    pub(crate) fn patched(&self, patch: &Path) -> PreparedTree {
        let before = everything(&self.root);
        let checkout = self.checkout();
        let tree = checkout.with_patch(&checkout.head().unwrap(), patch, &self.scratch()).unwrap();
        assert_untouched(&before, &self.root);
        tree
    }

    pub(crate) fn patch(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.beside(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// What a checkout of a revision has, made by git itself elsewhere.
    pub(crate) fn as_git_has_it(&self, name: &str) -> Files {
        let oid = self.git(&["rev-parse", &format!("{name}^{{commit}}")]);
        let clone = self.beside(&format!("clone-{oid}"));
        if !clone.exists() {
            let (from, to) = (self.root.to_str().unwrap(), clone.to_str().unwrap());
            git_in(&self.beside(""), &["clone", "-q", "--no-checkout", from, to]);
            git_in(&clone, &["checkout", "-q", "--detach", &oid]);
        }
        files(&clone)
    }
}

/// Everything under a folder but `.git` at its top and compiled Python; folders too.
pub(crate) fn files(folder: &Path) -> Files {
    let mut found = Files::new();
    walk(folder, folder, &mut found, false);
    found
}

/// Everything under a folder, `.git` included, with times of files; not those of objects and of the shared half of
/// a split index, which git touches so that they live longer.
pub(crate) fn everything(folder: &Path) -> BTreeMap<PathBuf, (char, bool, Vec<u8>, i64, i64)> {
    let mut found = Files::new();
    walk(folder, folder, &mut found, true);
    found
        .into_iter()
        .map(|(path, (kind, executable, content))| {
            let data = fs::symlink_metadata(folder.join(&path)).unwrap();
            let shared = path.to_str().is_some_and(|path| path.starts_with(".git/sharedindex."));
            let timeless = shared || path.starts_with(".git/objects");
            let (seconds, nanos) = if timeless { (0, 0) } else { (data.mtime(), data.mtime_nsec()) };
            (path, (kind, executable, content, seconds, nanos))
        })
        .collect()
}

pub(crate) fn assert_untouched(before: &BTreeMap<PathBuf, (char, bool, Vec<u8>, i64, i64)>, folder: &Path) {
    let after = everything(folder);
    let changed: Vec<_> =
        before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path)).collect();
    assert!(changed.is_empty(), "the user's repository changed: {changed:?}");
}

fn walk(top: &Path, folder: &Path, found: &mut Files, git_too: bool) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let within = path.strip_prefix(top).unwrap().to_path_buf();
        let name = path.file_name().unwrap();
        if !git_too && (name == ".git" || name == "__pycache__") {
            continue;
        }
        let data = fs::symlink_metadata(&path).unwrap();
        let executable = data.is_file() && data.mode() & 0o100 != 0;
        if data.is_dir() {
            found.insert(within, ('d', false, Vec::new()));
            walk(top, &path, found, git_too);
        } else if data.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            found.insert(within, ('l', false, target.as_os_str().as_bytes().to_vec()));
        } else {
            found.insert(within, ('f', executable, fs::read(&path).unwrap()));
        }
    }
}

/// Whether this machine lets users mount overlays in a namespace of their own.
pub(crate) fn has_overlays() -> bool {
    let probe = "mkdir -p a b m && mount -t overlay overlay -o lowerdir=a:b,userxattr m";
    let folder = tempfile::tempdir().unwrap();
    let mut command = command("unshare");
    command.args(["-Urm", "sh", "-c", probe]).current_dir(folder.path()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// What a suite would see at the project's path; `None` where overlays are not to be had.
pub(crate) fn seen(tree: &PreparedTree) -> Option<Files> {
    let TreeKind::Overlay { delta } = &tree.kind else {
        return Some(files(tree.remap().map_or(tree.root.clone(), |(_, to)| to).as_path()));
    };
    if !has_overlays() {
        return None;
    }
    let out = tempfile::tempdir().unwrap();
    let script = r#"mount -t overlay overlay -o "lowerdir=$1:$2,userxattr" "$2" && cp -a --no-preserve=ownership "$2/." "$3""#;
    let mut command = command("unshare");
    command.args(["-Urm", "sh", "-c", script, "sh"]).args([delta, &tree.root]).arg(out.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(files(out.path()))
}

/// Asserts that exactly `expected` is seen, and says where it is not.
pub(crate) fn assert_seen(tree: &PreparedTree, expected: &Files) {
    let Some(seen) = seen(tree) else { return };
    let paths = expected.keys().chain(seen.keys());
    let wrong: Vec<String> = paths
        .filter(|path| expected.get(*path) != seen.get(*path))
        .map(|path| {
            format!("{}: expected {:?}, seen {:?}", path.display(), expected.get(path), seen.get(path))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Adds files that git does not track to what a checkout has.
pub(crate) fn and(mut files: Files, extra: &[(&str, &str)]) -> Files {
    for (path, content) in extra {
        let path = Path::new(path);
        for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            files.entry(above.to_path_buf()).or_insert(('d', false, Vec::new()));
        }
        files.insert(path.to_path_buf(), ('f', false, content.as_bytes().to_vec()));
    }
    files
}
