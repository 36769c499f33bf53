//! Checkouts that are not the plain kind: monorepos, linked and nested worktrees, sparse, filters, submodules.

use std::path::{Path, PathBuf};

use anyorder_runner::tree::{Checkout, TreeError, TreeKind};
use fs_err as fs;

use crate::repo::{Repo, and, assert_seen, assert_untouched, everything, files, git_in};

#[test]
fn a_project_below_the_top_of_its_repository_is_prepared_as_a_whole() {
    let repo = Repo::with(&[("libs/one/a.py", "1\n"), ("libs/two/b.py", "1\n")]);
    repo.write("libs/one/a.py", "2\n");
    repo.write("libs/two/new.py", "2\n");
    let checkout = Checkout::discover(&repo.root.join("libs/one")).unwrap();
    assert_eq!(checkout.root(), repo.root);
    let tree = checkout.at(&checkout.head().unwrap(), &repo.scratch()).unwrap();
    assert_seen(&tree, &repo.as_git_has_it("HEAD"));
}

#[test]
fn a_linked_worktree_is_a_checkout_of_its_own() {
    let repo = Repo::with(&[("a.py", "1\n")]);
    repo.write("a.py", "2\n");
    repo.commit("second");
    let linked = repo.beside("linked");
    repo.git(&["worktree", "add", "-q", "--detach", linked.to_str().unwrap()]);
    fs::write(linked.join("a.py"), "3\n").unwrap();
    let checkout = Checkout::discover(&linked).unwrap();
    assert_eq!(checkout.root(), linked);
    let before = (everything(&repo.root), everything(&linked));
    let tree = checkout.at(&checkout.resolve("HEAD~1").unwrap(), &repo.scratch()).unwrap();
    let folder = checkout.as_worktree(&tree, &repo.scratch()).unwrap();
    assert_untouched(&before.0, &repo.root);
    assert_untouched(&before.1, &linked);
    assert_seen(&tree, &repo.as_git_has_it("HEAD~1"));
    assert_seen(&folder, &repo.as_git_has_it("HEAD~1"));
}

#[test]
fn a_repository_that_borrows_objects_itself_is_read_through() {
    let origin = Repo::with(&[("a.py", "1\n")]);
    origin.write("a.py", "2\n");
    origin.commit("second");
    let repo = Repo::empty();
    fs::remove_dir_all(&repo.root).unwrap();
    let (from, to) = (origin.root.to_str().unwrap(), repo.root.to_str().unwrap());
    git_in(
        &repo.beside(""),
        &[
            "clone",
            "-q",
            "--shared",
            &format!("--separate-git-dir={}", repo.beside("odd: dir.git").display()),
            from,
            to,
        ],
    );
    repo.write("a.py", "3\n");
    let tree = repo.at("HEAD~1");
    assert_seen(&tree, &origin.as_git_has_it("HEAD~1"));
    let folder = repo.checkout().as_worktree(&tree, &repo.scratch()).unwrap();
    assert_seen(&folder, &origin.as_git_has_it("HEAD~1"));
    assert_eq!(git_in(&folder.remap().unwrap().1, &["log", "--format=%s"]), "first");
}

#[test]
fn a_repository_inside_is_left_alone() {
    let repo = Repo::with(&[("a.py", "1\n")]);
    repo.git(&["worktree", "add", "-q", "--detach", "inner"]);
    fs::create_dir(repo.root.join("other")).unwrap();
    git_in(&repo.root.join("other"), &["init", "-q"]);
    repo.write("other/x.py", "1\n");
    repo.write("a.py", "2\n");
    let tree = repo.at("HEAD");
    assert_eq!(tree.untracked.shared, [PathBuf::from("inner"), PathBuf::from("other")]);
    let expected = and(repo.as_git_has_it("HEAD"), &[("inner/a.py", "1\n"), ("other/x.py", "1\n")]);
    assert_seen(&tree, &expected);
}

#[test]
fn a_sparse_checkout_gets_no_files_that_it_left_out() {
    let repo = Repo::with(&[("in/a.py", "1\n"), ("out/b.py", "1\n"), ("top.py", "1\n")]);
    repo.write("in/a.py", "2\n");
    repo.write("out/b.py", "2\n");
    repo.write("out/new.py", "2\n");
    repo.commit("second");
    repo.git(&["sparse-checkout", "set", "in"]);
    assert!(!repo.root.join("out").exists());
    let tree = repo.at("HEAD~1");
    let mut expected = repo.as_git_has_it("HEAD~1");
    expected.retain(|path, _| !path.starts_with("out"));
    assert_seen(&tree, &expected);
    assert_seen(&repo.checkout().as_worktree(&tree, &repo.scratch()).unwrap(), &expected);
}

#[test]
fn line_ends_and_filters_are_those_of_a_checkout() {
    let repo = Repo::empty();
    repo.git(&["config", "filter.shout.clean", "tr A-Z a-z"]);
    repo.git(&["config", "filter.shout.smudge", "tr a-z A-Z"]);
    repo.write(".gitattributes", "*.txt text eol=crlf\n*.loud filter=shout\n*.id ident\n");
    repo.write("a.txt", "one\r\n");
    repo.write("a.loud", "OLD\n");
    repo.write("a.id", "$Id$\n");
    repo.commit("first");
    let first = [("a.txt", "one\r\n"), ("a.loud", "OLD\n")];
    repo.write("a.txt", "two\r\n");
    repo.write("a.loud", "NEW\n");
    repo.write("a.id", "$Id$ more\n");
    let tree = repo.at("HEAD");
    let TreeKind::Overlay { delta } = &tree.kind else { panic!("no overlay") };
    for (path, content) in first {
        assert_eq!(fs::read_to_string(delta.join(path)).unwrap(), content);
    }
    assert!(fs::read_to_string(delta.join("a.id")).unwrap().starts_with("$Id: "));
    // A touched file with equal content is no difference.
    repo.git(&["checkout", "-q", "."]);
    repo.write("a.txt", "one\r\n");
    assert_eq!(repo.at("HEAD").kind, TreeKind::Working);
}

#[test]
fn changed_attributes_change_files_whose_blobs_are_equal() {
    let repo = Repo::with(&[
        (".gitattributes", "*.txt text eol=lf\n"),
        ("a.txt", "one\n"),
        ("b.py", "1\n"),
        ("c.py", "1\n"),
    ]);
    repo.executable("b.py");
    repo.commit("mode");
    repo.write(".gitattributes", "*.txt text eol=crlf\n");
    repo.remove("a.txt");
    repo.commit("crlf");
    repo.write("a.txt", "one\r\n");
    repo.commit("and the file");
    let tree = repo.at("HEAD~2");
    assert_seen(&tree, &repo.as_git_has_it("HEAD~2"));
    let TreeKind::Overlay { delta } = &tree.kind else { panic!("no overlay") };
    assert_eq!(files(delta).len(), 2, "only what differs is in the delta");
}

#[test]
fn a_repository_with_long_object_names_is_read_too() {
    let repo = Repo::empty_as("sha256");
    repo.write("a.py", "1\n");
    repo.commit("first");
    repo.write("a.py", "2\n");
    let tree = repo.at("HEAD");
    assert_seen(&tree, &repo.as_git_has_it("HEAD"));
    let folder = repo.checkout().as_worktree(&tree, &repo.scratch()).unwrap();
    assert_eq!(git_in(&folder.remap().unwrap().1, &["rev-parse", "HEAD"]), repo.git(&["rev-parse", "HEAD"]));
}

#[test]
fn settings_of_the_user_change_nothing() {
    let repo = Repo::with(&[("a.py", "1\n"), ("b.py", "  x \n")]);
    let hook = repo.beside("hooks/post-index-change");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", repo.beside("hooked").display())).unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    repo.write("a.py", "2\n");
    repo.write("tests/test_new.py", "new\n");
    let settings = [
        ("color.ui", "always"),
        ("column.ui", "always"),
        ("status.showUntrackedFiles", "no"),
        ("status.short", "true"),
        ("status.branch", "true"),
        ("diff.noprefix", "true"),
        ("diff.renames", "copies"),
        ("diff.external", "false"),
        ("diff.orderFile", "/nonexistent"),
        ("apply.whitespace", "error-all"),
        ("apply.ignoreWhitespace", "change"),
        ("core.pager", "false"),
        ("core.fsmonitor", "/bin/false"),
        ("core.safecrlf", "true"),
        ("core.hooksPath", hook.parent().unwrap().to_str().unwrap()),
        ("submodule.recurse", "true"),
        ("core.quotePath", "true"),
        ("core.abbrev", "7"),
    ];
    for (key, value) in settings {
        repo.git(&["config", key, value]);
    }
    assert_seen(&repo.at("HEAD"), &repo.as_git_has_it("HEAD"));
    assert_eq!(repo.checkout().default_base().unwrap().oid, repo.rev("HEAD").oid);
    let patch = repo.patch("p.diff", "--- a/b.py\n+++ b/b.py\n@@ -1 +1,2 @@\n   x \n+y \t \n");
    assert_eq!(repo.patched(&patch).changed.len(), 1);
    let loose = repo.patch("p.diff", "--- a/b.py\n+++ b/b.py\n@@ -1 +1,2 @@\n x\n+y\n");
    let head = repo.rev("HEAD");
    repo.checkout().with_patch(&head, &loose, &repo.scratch()).unwrap_err();
    assert!(!repo.beside("hooked").exists(), "no hook ran");
}

#[test]
fn special_bits_of_the_index_do_not_mislead() {
    let repo = Repo::with(&[("a.py", "1\n"), ("b.py", "1\n"), ("c.py", "1\n")]);
    repo.write("a.py", "2\n");
    repo.commit("second");
    repo.git(&["update-index", "--split-index"]);
    repo.git(&["update-index", "--untracked-cache"]);
    repo.write("b.py", "2\n");
    assert_seen(&repo.at("HEAD~1"), &repo.as_git_has_it("HEAD~1"));
}

#[test]
fn a_change_within_one_tick_of_the_index_is_seen() {
    let repo = Repo::with(&[("a.py", "1\n")]);
    for round in 0..5 {
        // Same size, written at once after the index.
        repo.write("a.py", format!("{}\n", round + 2));
        repo.git(&["add", "a.py"]);
        repo.write("a.py", "9\n");
        let changed = repo.checkout().patched_working(&repo.rev("HEAD"), &repo.scratch()).unwrap();
        repo.git(&["commit", "-q", "-a", "-m", "nine"]);
        assert_eq!(changed.digest, repo.at("HEAD").digest);
        repo.write("a.py", "1\n");
        repo.commit("one");
    }
}

#[test]
fn an_unfinished_merge_counts_as_it_stands() {
    let repo = Repo::with(&[("a.py", "1\n")]);
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("a.py", "side\n");
    repo.commit("side");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("a.py", "main\n");
    repo.commit("main");
    let merge =
        crate::repo::command("git").current_dir(&repo.root).args(["merge", "-q", "side"]).output().unwrap();
    assert!(!merge.status.success());
    assert_seen(&repo.at("HEAD"), &repo.as_git_has_it("HEAD"));
}

/// A repository with a submodule `sub` at a commit that has one file.
fn with_submodule() -> (Repo, Repo) {
    let module = Repo::with(&[("m.py", "1\n")]);
    let repo = Repo::with(&[("a.py", "1\n")]);
    repo.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        module.root.to_str().unwrap(),
        "sub",
    ]);
    repo.commit("with submodule");
    repo.write("a.py", "2\n");
    (module, repo)
}

#[test]
fn a_clean_submodule_is_there_in_both_trees() {
    let (_module, repo) = with_submodule();
    let tree = repo.at("HEAD");
    let mut expected = and(repo.as_git_has_it("HEAD"), &[("sub/m.py", "1\n")]);
    assert_seen(&tree, &expected);
    assert_seen(&repo.checkout().as_worktree(&tree, &repo.scratch()).unwrap(), &expected);
    // The base is older than the submodule: git would have left nothing of it.
    expected.retain(|path, _| path == Path::new("a.py"));
    expected.insert("a.py".into(), ('f', false, b"1\n".to_vec()));
    assert_seen(&repo.at("HEAD~1"), &expected);
}

#[test]
fn a_submodule_with_changes_or_at_another_commit_is_refused_by_name() {
    let (_module, repo) = with_submodule();
    let checkout = repo.checkout();
    let head = checkout.head().unwrap();
    fs::write(repo.root.join("sub/m.py"), "changed\n").unwrap();
    let clean = checkout.working(&repo.scratch()).unwrap();
    for error in [checkout.at(&head, &repo.scratch()), checkout.patched_working(&head, &repo.scratch())] {
        let error = error.unwrap_err();
        assert!(matches!(&error, TreeError::DirtySubmodule { path } if path == Path::new("sub")), "{error}");
    }
    fs::write(repo.root.join("sub/m.py"), "changed again\n").unwrap();
    assert_ne!(clean.digest, checkout.working(&repo.scratch()).unwrap().digest, "one tree may still be run");
    git_in(
        &repo.root.join("sub"),
        &["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-a", "-m", "moved"],
    );
    let error = checkout.at(&head, &repo.scratch()).unwrap_err();
    assert!(matches!(&error, TreeError::MovedSubmodule { path, .. } if path == Path::new("sub")), "{error}");
}

#[test]
fn a_submodule_that_was_never_checked_out_is_an_empty_folder_everywhere() {
    let (module, repo) = with_submodule();
    repo.commit("second");
    repo.git(&["submodule", "--quiet", "deinit", "-f", "sub"]);
    module.write("m.py", "2\n");
    let moved = module.commit("moved");
    repo.git(&["update-index", "--cacheinfo", &format!("160000,{moved},sub")]);
    repo.git(&["commit", "-q", "-m", "moved"]);
    assert_seen(&repo.at("HEAD~2"), &repo.as_git_has_it("HEAD~2"));
}

#[test]
fn scratch_inside_the_project_is_refused() {
    let repo = Repo::with(&[("a.py", "1\n")]);
    let inside = repo.root.join("target/scratch");
    let error = repo.checkout().at(&repo.rev("HEAD"), &inside).unwrap_err();
    assert!(matches!(error, TreeError::ScratchInside { .. }), "{error}");
}
