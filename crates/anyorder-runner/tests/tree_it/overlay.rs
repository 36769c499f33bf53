//! The base tree at the project's path: every way in which a path can differ.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyorder_runner::tree::{ChangeKind, ChangedPath, TreeKind};
use fs_err as fs;

use crate::repo::{Repo, and, assert_seen, assert_untouched, command, everything, has_overlays};

fn changed(path: &str, kind: ChangeKind) -> ChangedPath {
    ChangedPath { path: PathBuf::from(path), kind }
}

#[test]
fn commits_since_the_base_are_undone_and_products_stay() {
    let repo = Repo::with(&[
        ("src/pkg/__init__.py", "V = 'base'\n"),
        ("src/pkg/old.py", "old\n"),
        (".gitignore", "*.so\n"),
    ]);
    repo.write("src/pkg/__init__.py", "V = 'patched'\n");
    repo.remove("src/pkg/old.py");
    repo.write("src/pkg/new/deep.py", "new\n");
    repo.write("tool.sh", "#!/bin/sh\n");
    repo.commit("second");
    repo.write("src/pkg/_speed.so", "compiled");
    repo.write(".env", "SECRET=1");

    let base = repo.at("HEAD~1");
    assert!(matches!(base.kind, TreeKind::Overlay { .. }));
    let products = [("src/pkg/_speed.so", "compiled"), (".env", "SECRET=1")];
    assert_seen(&base, &and(repo.as_git_has_it("HEAD~1"), &products));
    assert_eq!(base.changed, []);
    assert_eq!(base.untracked.shared, [PathBuf::from(".env")]);
    assert_eq!((base.untracked.in_patch.len(), base.untracked.ignored), (0, 1));
}

#[test]
fn staged_unstaged_and_new_files_are_the_patch() {
    let repo = Repo::with(&[
        ("a.py", "1\n"),
        ("b.py", "1\n"),
        ("c.py", "1\n"),
        ("gone.py", "1\n"),
        ("unstaged_gone.py", "x\n"),
    ]);
    repo.write("a.py", "staged\n");
    repo.git(&["add", "a.py"]);
    repo.write("b.py", "unstaged\n");
    repo.write("c.py", "staged\n");
    repo.git(&["add", "c.py"]);
    repo.write("c.py", "1\n");
    repo.git(&["rm", "-q", "gone.py"]);
    repo.remove("unstaged_gone.py");
    repo.write("tests/test_new.py", "new\n");
    repo.write("intended.py", "new\n");
    repo.git(&["add", "-N", "intended.py"]);

    let (checkout, head) = (repo.checkout(), repo.rev("HEAD"));
    assert_seen(&repo.at("HEAD"), &repo.as_git_has_it("HEAD"));
    let before = everything(&repo.root);
    let patched = checkout.patched_working(&head, &repo.scratch()).unwrap();
    assert_untouched(&before, &repo.root);
    assert_eq!(patched.kind, TreeKind::Working);
    assert_eq!(
        patched.changed,
        [
            changed("a.py", ChangeKind::Modified),
            changed("b.py", ChangeKind::Modified),
            changed("gone.py", ChangeKind::Deleted),
            changed("intended.py", ChangeKind::Added),
            changed("tests/test_new.py", ChangeKind::Added),
            changed("unstaged_gone.py", ChangeKind::Deleted),
        ]
    );
    assert_eq!(patched.untracked.in_patch, [PathBuf::from("tests/test_new.py")]);
}

#[test]
fn files_folders_and_links_take_each_others_place() {
    let repo = Repo::empty();
    repo.write("file_to_dir", "f\n");
    repo.write("dir_to_file/x.py", "x\n");
    repo.write("dir_to_file/sub/y.py", "y\n");
    repo.write("dir_to_link/x.py", "x\n");
    repo.link("link_to_dir", "dir_to_link");
    repo.link("link_to_file", "nowhere");
    repo.link("link", "old-target");
    repo.write("file_to_link", "f\n");
    repo.write("mode.sh", "#!\n");
    repo.write("keep.py", "k\n");
    repo.commit("first");
    for path in
        ["file_to_dir", "dir_to_file", "dir_to_link", "link_to_dir", "link_to_file", "link", "file_to_link"]
    {
        repo.remove(path);
    }
    repo.write("file_to_dir/inner.py", "i\n");
    repo.write("dir_to_file", "f\n");
    repo.link("dir_to_link", "keep.py");
    repo.write("link_to_dir/x.py", "x\n");
    repo.write("link_to_file", "f\n");
    repo.link("link", "new-target");
    repo.link("file_to_link", "keep.py");
    repo.executable("mode.sh");
    repo.commit("second");
    assert_seen(&repo.at("HEAD~1"), &repo.as_git_has_it("HEAD~1"));
    // And the other way round, from a checkout of the first.
    repo.git(&["checkout", "-q", "HEAD~1"]);
    assert_seen(&repo.at("main"), &repo.as_git_has_it("main"));
}

#[test]
fn a_folder_that_the_base_lacks_is_gone_even_when_compiled_python_stays_behind() {
    let repo = Repo::with(&[("a.py", "1\n"), (".gitignore", "__pycache__/\n")]);
    repo.write("pkg/sub/mod.py", "1\n");
    repo.write("pkg/__init__.py", "");
    repo.commit("second");
    repo.write("pkg/__pycache__/__init__.cpython-311.pyc", "x");
    repo.write("pkg/sub/__pycache__/mod.cpython-311.pyc", "x");
    // An importable folder `pkg` would be a namespace package.
    assert_seen(&repo.at("HEAD~1"), &repo.as_git_has_it("HEAD~1"));
}

#[test]
fn a_folder_with_data_of_its_own_stays() {
    let repo = Repo::with(&[("a.py", "1\n"), (".gitignore", "*.dat\n")]);
    repo.write("data/read.py", "1\n");
    repo.commit("second");
    repo.write("data/big.dat", "x");
    assert_seen(&repo.at("HEAD~1"), &and(repo.as_git_has_it("HEAD~1"), &[("data/big.dat", "x")]));
}

#[test]
fn names_may_hold_anything() {
    let repo = Repo::empty();
    let names: [&[u8]; 9] = [
        b"new\nline.py",
        b"quote\"'.py",
        b"-rf",
        b"--help",
        b"\xff\xfe.py",
        b"a b\t.py",
        b":(glob)*",
        b"sub/-c/\xc3\xa9.py",
        b"e\xcc\x81.py",
    ];
    for name in names {
        repo.write(Path::new(OsStr::from_bytes(name)), "old\n");
    }
    repo.commit("first");
    for name in names {
        repo.write(Path::new(OsStr::from_bytes(name)), "new\n");
    }
    repo.write(Path::new(OsStr::from_bytes(b"-new\n\xff")), "untracked\n");
    assert_seen(&repo.at("HEAD"), &repo.as_git_has_it("HEAD"));
    repo.commit("second");
    for name in names {
        fs::remove_file(repo.root.join(OsStr::from_bytes(name))).unwrap();
    }
    assert_seen(&repo.at("HEAD"), &repo.as_git_has_it("HEAD"));
    repo.commit("third");
    assert_seen(&repo.at("HEAD~2"), &repo.as_git_has_it("HEAD~2"));
}

#[test]
fn a_tree_equal_to_the_checkout_needs_no_overlay() {
    let repo = Repo::with(&[("a.py", "1\n")]);
    repo.write("x.so", "product");
    let tree = repo.at("HEAD");
    assert_eq!(tree.kind, TreeKind::Working);
    assert_eq!(tree.lower(), Vec::<PathBuf>::new());
    assert_eq!(tree.remap(), None);
}

#[test]
fn the_same_content_has_the_same_digest_however_it_was_reached() {
    let repo = Repo::with(&[("a.py", "1\n")]);
    repo.write("a.py", "2\n");
    repo.write("tests/test_b.py", "3\n");
    let (checkout, head) = (repo.checkout(), repo.rev("HEAD"));
    let uncommitted = checkout.patched_working(&head, &repo.scratch()).unwrap();
    let base = repo.at("HEAD");
    let commit = repo.commit("second");
    let patch = repo.patch("a.diff", repo.git(&["diff", "HEAD~1"]) + "\n");
    let committed = checkout.working(&repo.scratch()).unwrap();
    repo.git(&["checkout", "-q", "HEAD~1"]);
    let patched = repo.patched(&patch);
    let elsewhere = repo.at(&commit);
    assert_eq!(uncommitted.digest, committed.digest);
    assert_eq!(uncommitted.digest, patched.digest);
    assert_eq!(uncommitted.digest, elsewhere.digest);
    assert_eq!(patched.changed, uncommitted.changed);
    assert_eq!(base.digest, checkout.working(&repo.scratch()).unwrap().digest);
    assert_ne!(base.digest, uncommitted.digest);
}

#[test]
fn compiled_python_of_the_checkout_is_never_fresh_for_a_file_of_the_delta() {
    use std::os::unix::fs::MetadataExt as _;
    let repo = Repo::with(&[("a.py", "V = 1\n"), ("b.py", "V = 1\n")]);
    // Same size, and written in the same second as the delta.
    for _ in 0..3 {
        repo.write("a.py", "V = 2\n");
        repo.write("b.py", "V = 2\n");
        let TreeKind::Overlay { delta } = repo.at("HEAD").kind else { panic!("no overlay") };
        for name in ["a.py", "b.py"] {
            let (over, under) =
                (fs::metadata(delta.join(name)).unwrap(), fs::metadata(repo.root.join(name)).unwrap());
            assert_ne!(over.mtime(), under.mtime());
        }
    }
}

#[test]
fn python_imports_the_base_although_the_patched_module_was_compiled() {
    let python = |script: &str, folder: &Path| {
        command("python3")
            .args(["-c", script])
            .current_dir(folder)
            .env_remove("PYTHONDONTWRITEBYTECODE")
            .output()
    };
    let repo = Repo::with(&[("mod.py", "V = 'base'\n"), (".gitignore", "__pycache__/\n")]);
    repo.write("mod.py", "V = 'late'\n");
    let Ok(compiled) = python("import mod; print(mod.V)", &repo.root) else { return };
    assert_eq!(String::from_utf8_lossy(&compiled.stdout), "late\n");
    let tree = repo.at("HEAD");
    let TreeKind::Overlay { delta } = &tree.kind else { panic!("no overlay") };
    if !has_overlays() {
        return;
    }
    let script = r#"mount -t overlay overlay -o "lowerdir=$1:$2,userxattr" "$2" && cd "$2" && python3 -c 'import mod; print(mod.V)'"#;
    let mut command = command("unshare");
    let output = command.args(["-Urm", "sh", "-c", script, "sh"]).args([delta, &tree.root]).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "base\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_rebuilt_extension_or_other_settings_change_what_all_trees_share() {
    let repo = Repo::with(&[("pkg/a.py", "1\n"), ("pkg/fast.pyx", "1\n")]);
    let digest = || anyorder_runner::tree::products_digest(&repo.root).unwrap();
    let none = digest();
    repo.write("pkg/a.py", "2\n");
    repo.write("pkg/fast.pyx", "2\n");
    assert_eq!(digest(), none);
    repo.write("pkg/fast.abi3.so", "compiled");
    let built = digest();
    repo.write("pkg/fast.abi3.so", "Compiled");
    let rebuilt = digest();
    repo.write(".env", "A=1");
    assert!(none != built && built != rebuilt && rebuilt != digest());
    let patched = repo.checkout().patched_working(&repo.rev("HEAD"), &repo.scratch()).unwrap();
    assert_eq!(patched.changed_native_sources().collect::<Vec<_>>(), [Path::new("pkg/fast.pyx")]);
}

#[test]
fn folders_of_the_delta_have_the_modes_of_the_checkouts() {
    use std::os::unix::fs::PermissionsExt as _;
    let repo = Repo::with(&[("pkg/a.py", "1\n")]);
    fs::set_permissions(repo.root.join("pkg"), std::fs::Permissions::from_mode(0o2751)).unwrap();
    repo.write("pkg/a.py", "2\n");
    let TreeKind::Overlay { delta } = repo.at("HEAD").kind else { panic!("no overlay") };
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(delta.join("pkg")), 0o2751);
    assert_eq!(mode(delta), mode(repo.root.clone()));
}

/// A small generator, so that the cases are the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn scatter(repo: &Repo, dice: &mut Dice) {
    for entry in fs::read_dir(&repo.root).unwrap() {
        let name = entry.unwrap().file_name().to_str().unwrap().to_owned();
        if name != ".git" {
            repo.remove(&name);
        }
    }
    let names = ["a", "b", "c.so", "d"];
    for _ in 0..dice.roll(9) {
        let depth = 1 + dice.roll(3);
        let parts: Vec<&str> = (0..depth).map(|_| names[usize::try_from(dice.roll(4)).unwrap()]).collect();
        let path = parts.join("/");
        let parent = repo.root.join(&path).parent().unwrap().to_path_buf();
        let clear = fs::symlink_metadata(repo.root.join(&path)).is_err()
            && parent
                .ancestors()
                .take_while(|above| *above != repo.root)
                .all(|above| fs::symlink_metadata(above).map_or(true, |data| data.is_dir()));
        if !clear {
            continue;
        }
        fs::create_dir_all(parent).unwrap();
        match dice.roll(4) {
            0 => repo.link(&path, names[usize::try_from(dice.roll(4)).unwrap()]),
            kind => {
                repo.write(&path, format!("{}\n", dice.roll(3)));
                if kind == 1 {
                    repo.executable(&path);
                }
            }
        }
    }
}

#[test]
fn any_tree_appears_over_any_other() {
    let mut dice = Dice(7);
    let repo = Repo::with(&[(".gitignore", "")]);
    for round in 0..25 {
        scatter(&repo, &mut dice);
        repo.commit(&format!("base {round}"));
        scatter(&repo, &mut dice);
        match dice.roll(3) {
            0 => drop(repo.commit("patched")),
            1 => drop(repo.git(&["add", "-A"])),
            // Left as it is: new `*.so` files are products then, and stay.
            _ => {}
        }
        let base = repo.git(&["log", "--format=%H", "-1", &format!("--grep=^base {round}$")]);
        let tree = repo.at(&base);
        let mut expected = repo.as_git_has_it(&base);
        for path in &tree.untracked.shared {
            // Only where the base has nothing else in that place.
            let blocked =
                path.ancestors().any(|above| expected.get(above).is_some_and(|found| found.0 != 'd'));
            if !blocked && !expected.contains_key(path) {
                let here = crate::repo::files(&repo.root);
                for above in path.ancestors().filter(|above| !above.as_os_str().is_empty()) {
                    expected.entry(above.to_path_buf()).or_insert_with(|| here[above].clone());
                }
            }
        }
        assert_seen(&tree, &expected);
    }
}

#[test]
fn an_unprivileged_user_gets_overlays_too() {
    if !rustix::process::geteuid().is_root() || !has_overlays() {
        return;
    }
    // Where the user may start it: the build folder may be private.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let program = folder.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = command("runuser");
    command
        .args(["-u", "nobody", "--"])
        .arg(&program)
        .args(["overlay::files_folders", "overlay::commits_since"]);
    let output =
        command.env("HOME", folder.path()).env("TMPDIR", folder.path()).current_dir("/").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("2 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
