//! Trees in folders of their own, for systems without overlays.

use std::path::PathBuf;

use crate::repo::{Repo, and, assert_seen, assert_untouched, everything, files, git_in};

#[test]
fn a_folder_of_its_own_has_the_tree_and_the_products() {
    let repo =
        Repo::with(&[("src/pkg/a.py", "1\n"), ("run.sh", "#!\n"), (".gitignore", "*.so\nbuild/\nmine/\n")]);
    repo.executable("run.sh");
    repo.link("link", "src");
    repo.git(&["tag", "v1.0"]);
    let first = repo.commit("mode and link");
    repo.write("src/pkg/a.py", "2\n");
    repo.write("src/pkg/gone.py", "2\n");
    repo.commit("second");
    repo.write("tests/test_new.py", "untracked\n");
    repo.write("src/pkg/_speed.so", "compiled");
    repo.write("build/lib/x.c", "made");
    repo.write(".env", "S=1");
    repo.write("mine/pyvenv.cfg", "home = /usr\n");
    repo.write("mine/lib/many.py", "1\n");

    let tree = repo.at(&first);
    let before = everything(&repo.root);
    let folder = repo.checkout().as_worktree(&tree, &repo.scratch()).unwrap();
    assert_untouched(&before, &repo.root);
    let (from, to) = folder.remap().unwrap();
    assert_eq!((from, to.file_name()), (repo.root.clone(), repo.root.file_name()));
    assert_eq!((&folder.digest, folder.lower()), (&tree.digest, Vec::<PathBuf>::new()));
    let products = [("src/pkg/_speed.so", "compiled"), ("build/lib/x.c", "made"), (".env", "S=1")];
    let mut expected = and(repo.as_git_has_it(&first), &products);
    let environment = repo.root.join("mine").to_str().unwrap().as_bytes().to_vec();
    expected.insert("mine".into(), ('l', false, environment));
    assert_seen(&folder, &expected);

    // Tools that ask git for a version or for the list of files get an answer.
    assert_eq!(git_in(&to, &["rev-parse", "HEAD"]), first);
    assert_eq!(git_in(&to, &["describe", "--tags"]), git_in(&repo.root, &["describe", "--tags", &first]));
    assert_eq!(git_in(&to, &["status", "--porcelain", "--untracked-files=no"]), "");
    assert_eq!(repo.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_patched_tree_and_the_checkout_itself_can_be_folders_too() {
    let repo = Repo::with(&[("a.py", "1\n"), ("b.py", "1\n")]);
    repo.write("b.py", "uncommitted\n");
    repo.write("new.py", "new\n");
    let patch = repo.patch("a.diff", "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-1\n+2\n");
    let tree = repo.patched(&patch);
    let folder = repo.checkout().as_worktree(&tree, &repo.scratch()).unwrap();
    let mut expected = repo.as_git_has_it("HEAD");
    expected.insert("a.py".into(), ('f', false, b"2\n".to_vec()));
    assert_seen(&tree, &expected);
    assert_seen(&folder, &expected);
    let working = repo.checkout().working(&repo.scratch()).unwrap();
    let folder = repo.checkout().as_worktree(&working, &repo.scratch()).unwrap();
    assert_seen(&folder, &files(&repo.root));
}
