//! Which revision is the base, and what is said where there is none.

use std::path::Path;

use anyorder_runner::tree::{Checkout, TreeError};
use fs_err as fs;

use crate::repo::{Repo, command, git_in};

fn default(repo: &Repo) -> (String, String) {
    let base = repo.checkout().default_base().unwrap();
    (base.oid, base.how)
}

/// A clone of a repository with two commits on `main`, on a branch `topic` with one more.
fn clone_of(origin: &Repo) -> Repo {
    let clone = Repo::empty();
    fs::remove_dir_all(&clone.root).unwrap();
    git_in(&clone.beside(""), &["clone", "-q", origin.root.to_str().unwrap(), clone.root.to_str().unwrap()]);
    clone.git(&["checkout", "-q", "-b", "topic"]);
    clone.write("topic.py", "1\n");
    clone.commit("topic");
    clone
}

#[test]
fn the_base_is_where_head_left_the_default_branch_of_origin() {
    let origin = Repo::with(&[("a.py", "1\n")]);
    let fork_point = origin.commit("second");
    let clone = clone_of(&origin);
    origin.commit("third, upstream only");
    clone.git(&["fetch", "-q"]);
    assert_eq!(default(&clone), (fork_point.clone(), "merge base of HEAD and `origin/main`".to_owned()));
    // Also without the remote's own word for its default, on a detached HEAD, and from a folder below.
    clone.git(&["remote", "set-head", "origin", "--delete"]);
    clone.git(&["checkout", "-q", "--detach"]);
    fs::create_dir(clone.root.join("sub")).unwrap();
    let checkout = Checkout::discover(&clone.root.join("sub")).unwrap();
    assert_eq!(checkout.default_base().unwrap().oid, fork_point);
    assert_eq!((checkout.root(), checkout.cwd()), (clone.root.as_path(), clone.root.join("sub").as_path()));
}

#[test]
fn without_origin_it_is_the_upstream_of_the_branch_then_a_local_main() {
    let repo = Repo::with(&[("a.py", "1\n")]);
    let first = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&["branch", "trunk"]);
    repo.git(&["checkout", "-q", "-b", "topic"]);
    repo.write("b.py", "1\n");
    repo.commit("topic");
    assert_eq!(default(&repo), (first.clone(), "merge base of HEAD and `main`".to_owned()));
    repo.git(&["branch", "-q", "--set-upstream-to=trunk"]);
    assert_eq!(default(&repo), (first, "merge base of HEAD and `trunk`".to_owned()));
}

#[test]
fn uncommitted_changes_alone_are_compared_with_head() {
    let repo = Repo::with(&[("a.py", "1\n")]);
    let error = repo.checkout().default_base().unwrap_err();
    assert!(matches!(error, TreeError::NoDefaultBase { shallow: false }), "{error}");
    repo.write("x.so", "a product is no change");
    repo.checkout().default_base().unwrap_err();
    repo.write("tests/test_new.py", "1\n");
    let head = repo.git(&["rev-parse", "HEAD"]);
    assert_eq!(default(&repo), (head, "HEAD, the base of the uncommitted changes".to_owned()));
}

#[test]
fn a_shallow_clone_says_so() {
    let origin = Repo::with(&[("a.py", "1\n")]);
    origin.git(&["checkout", "-q", "-b", "topic"]);
    origin.commit("topic one");
    origin.commit("topic two");
    origin.git(&["checkout", "-q", "main"]);
    origin.commit("upstream");
    let clone = Repo::empty();
    fs::remove_dir_all(&clone.root).unwrap();
    let url = format!("file://{}", origin.root.display());
    let arguments =
        ["clone", "-q", "--depth=1", "--no-single-branch", "-b", "topic", &url, clone.root.to_str().unwrap()];
    git_in(&clone.beside(""), &arguments);
    let error = clone.checkout().default_base().unwrap_err();
    assert!(matches!(error, TreeError::NoMergeBase { shallow: true, .. }), "{error}");
    assert!(error.to_string().contains("git fetch --unshallow"), "{error}");
    let error = clone.checkout().resolve("HEAD~2").unwrap_err();
    assert!(matches!(error, TreeError::UnknownRevision { shallow: true, .. }), "{error}");
}

#[test]
fn a_name_is_never_taken_for_an_option() {
    let repo = Repo::with(&[("a.py", "1\n")]);
    for name in ["--help", "-h", "--git-dir", "", "HEAD\nHEAD", "no-such", "HEAD..HEAD", "HEAD:a.py", "^HEAD"]
    {
        let error = repo.checkout().resolve(name).unwrap_err();
        assert!(
            matches!(&error, TreeError::UnknownRevision { name: said, .. } if said == name),
            "{name:?}: {error}"
        );
    }
    repo.git(&["tag", "-a", "-m", "annotated", "v1"]);
    repo.git(&["branch", "main@odd"]);
    for name in ["v1", "HEAD", "@", "main", "main@odd", "refs/heads/main"] {
        assert_eq!(repo.rev(name).oid, repo.git(&["rev-parse", "HEAD"]), "{name}");
    }
}

#[test]
fn a_place_without_a_checkout_is_one_clear_error() {
    let repo = Repo::empty();
    let error = Checkout::discover(&repo.root).unwrap_err();
    assert!(matches!(&error, TreeError::NoCommits { root } if *root == repo.root), "{error}");
    let outside = tempfile::tempdir().unwrap();
    assert!(matches!(Checkout::discover(outside.path()), Err(TreeError::NotGit { .. })));
    git_in(outside.path(), &["init", "-q", "--bare", "bare.git"]);
    let error = Checkout::discover(&outside.path().join("bare.git")).unwrap_err();
    assert!(matches!(error, TreeError::Bare { .. }), "{error}");
    let error = Checkout::discover(&repo.root.join(".git/refs")).unwrap_err();
    assert!(matches!(error, TreeError::InsideGitDir { .. }), "{error}");
    assert!(matches!(Checkout::discover(Path::new("/nonexistent")), Err(TreeError::Io { .. })));
}

#[test]
fn a_repository_of_another_user_is_refused_with_the_way_out() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let repo = Repo::with(&[("a.py", "1\n")]);
    let status = command("chown").args(["-R", "nobody"]).arg(&repo.root).status().unwrap();
    assert!(status.success());
    let error = Checkout::discover(&repo.root).unwrap_err();
    let TreeError::DubiousOwnership { directory, .. } = &error else { panic!("{error}") };
    assert_eq!(Path::new(directory), repo.root);
    assert!(error.to_string().contains("safe.directory"), "{error}");
}

#[test]
fn variables_that_hooks_set_do_not_lead_astray() {
    let mut command = command(std::env::current_exe().unwrap());
    command.args(["--exact", "overlay::staged_unstaged_and_new_files_are_the_patch"]);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
        command.env(name, "/nonexistent");
    }
    command.env("GIT_PREFIX", "sub/").env("GIT_EXTERNAL_DIFF", "false").env("GIT_LITERAL_PATHSPECS", "1");
    command.env("GIT_TRACE", "1").env("LANGUAGE", "de").env("LC_ALL", "de_DE.UTF-8");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn without_git_the_error_says_what_to_install() {
    let mut command = command(std::env::current_exe().unwrap());
    command.args(["--exact", "base::told_without_git", "--ignored"]).env("PATH", "/nonexistent");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
#[ignore = "run by the test above, on a PATH without git"]
fn told_without_git() {
    let error = Checkout::discover(Path::new("/")).unwrap_err();
    assert!(matches!(error, TreeError::Git(anyorder_runner::tree::GitError::Missing(_))), "{error}");
    assert!(error.to_string().contains("install"), "{error}");
}

#[test]
fn a_project_without_git_can_be_run_but_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    fs::write(root.join("pyproject.toml"), "").unwrap();
    fs::create_dir_all(root.join("tests/unit")).unwrap();
    fs::write(root.join("tests/unit/test_a.py"), "def test(): pass\n").unwrap();
    let checkout = Checkout::plain(&root.join("tests/unit")).unwrap();
    assert_eq!((checkout.root(), checkout.has_git()), (root.as_path(), false));
    let scratch = tempfile::tempdir().unwrap();
    let before = checkout.working(scratch.path()).unwrap();
    fs::create_dir_all(root.join("tests/unit/__pycache__")).unwrap();
    fs::write(root.join("tests/unit/__pycache__/x.pyc"), "x").unwrap();
    assert_eq!(checkout.working(scratch.path()).unwrap().digest, before.digest);
    fs::write(root.join("tests/unit/test_a.py"), "def test(): fail\n").unwrap();
    assert_ne!(checkout.working(scratch.path()).unwrap().digest, before.digest);
    assert!(matches!(checkout.default_base(), Err(TreeError::NotGit { .. })));
    assert!(matches!(checkout.head(), Err(TreeError::NotGit { .. })));
}
