//! Patch files: every kind that git makes, and those that do not fit.

use std::path::{Path, PathBuf};

use anyorder_runner::tree::{ChangeKind, PreparedTree, TreeError, TreeKind};
use fs_err as fs;

use crate::repo::{Repo, assert_seen, assert_untouched, everything};

const BASE: &[(&str, &str)] = &[
    ("src/a.py", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"),
    ("src/gone.py", "gone\n"),
    ("src/moved.py", "a\nb\nc\nd\ne\nf\ng\n"),
    ("run.sh", "#!/bin/sh\n"),
    ("crlf.py", "one\r\ntwo\r\n"),
];

/// A repository at the base, whose branch `wanted` has every kind of change.
fn scene() -> Repo {
    let repo = Repo::with(BASE);
    repo.link("link", "old");
    repo.write("bytes.bin", [0, 159, 146, 150, 10, 0]);
    repo.commit("rest of the base");
    repo.git(&["checkout", "-q", "-b", "wanted"]);
    repo.write("src/a.py", "one\nTWO\nthree\nfour\nfive\nsix\nseven\neight\nNINE\nten\n");
    repo.write("crlf.py", "one\r\nTWO\r\n");
    repo.remove("src/gone.py");
    repo.git(&["mv", "src/moved.py", "src/there.py"]);
    repo.executable("run.sh");
    repo.remove("link");
    repo.link("link", "new");
    repo.write("bytes.bin", [0, 1, 2, 3, 255, 10, 0]);
    repo.write("tests/test new.py", "no newline at the end");
    repo.write("empty.py", "");
    repo.commit("every kind of change");
    repo.git(&["checkout", "-q", "main"]);
    repo
}

fn refused(repo: &Repo, patch: &Path) -> TreeError {
    let before = everything(&repo.root);
    let checkout = repo.checkout();
    let error = checkout.with_patch(&checkout.head().unwrap(), patch, &repo.scratch()).unwrap_err();
    assert_untouched(&before, &repo.root);
    error
}

fn assert_wanted(repo: &Repo, tree: &PreparedTree) {
    assert_seen(tree, &repo.as_git_has_it("wanted"));
    assert_eq!(tree.digest, repo.at("wanted").digest);
}

#[test]
fn each_form_in_which_git_writes_a_change_gives_the_same_tree() {
    let repo = scene();
    // Uncommitted changes of the checkout are in neither tree.
    repo.write("src/a.py", "something else\n");
    repo.write("tests/untracked.py", "1\n");
    let forms: [&[&str]; 6] = [
        &["diff", "--binary", "main", "wanted"],
        &["diff", "--binary", "--full-index", "--no-renames", "main", "wanted"],
        &["diff", "--binary", "--src-prefix=i/", "--dst-prefix=w/", "main", "wanted"],
        &["format-patch", "--stdout", "main..wanted"],
        &["show", "--binary", "wanted"],
        &["diff", "--binary", "-U1", "--irreversible-delete", "main", "wanted"],
    ];
    for (at, form) in forms.iter().enumerate() {
        let patch = repo.patch(&format!("{at}.diff"), raw(&repo, form));
        if form.contains(&"--irreversible-delete") {
            assert!(matches!(refused(&repo, &patch), TreeError::PatchDoesNotApply { .. }));
            continue;
        }
        let tree = repo.patched(&patch);
        assert!(matches!(tree.kind, TreeKind::Overlay { .. }));
        assert_wanted(&repo, &tree);
        let kind = |path: &str| {
            tree.changed.iter().find(|changed| changed.path == Path::new(path)).map(|found| &found.kind)
        };
        assert_eq!(kind("src/there.py"), Some(&ChangeKind::Renamed { from: PathBuf::from("src/moved.py") }));
        assert_eq!(kind("tests/test new.py"), Some(&ChangeKind::Added));
        assert_eq!(kind("src/gone.py"), Some(&ChangeKind::Deleted));
        assert_eq!(kind("run.sh"), Some(&ChangeKind::Modified));
    }
}

/// Output of git to the byte.
fn raw(repo: &Repo, arguments: &[&str]) -> Vec<u8> {
    crate::repo::command("git").current_dir(&repo.root).args(arguments).output().unwrap().stdout
}

#[test]
fn a_series_of_mails_is_applied_in_order() {
    let repo = Repo::with(BASE);
    repo.git(&["checkout", "-q", "-b", "wanted"]);
    for word in ["ONE", "UNO", "EINS"] {
        repo.write("src/a.py", BASE[0].1.replacen("one", word, 1));
        repo.commit(word);
    }
    repo.git(&["mv", "src/a.py", "src/b.py"]);
    repo.commit("moved");
    repo.write("src/b.py", "rewritten\n");
    repo.commit("rewritten");
    repo.git(&["checkout", "-q", "main"]);
    let patch = repo
        .patch("series.mbox", raw(&repo, &["format-patch", "--stdout", "--cover-letter", "main..wanted"]));
    assert_wanted(&repo, &repo.patched(&patch));
}

#[test]
fn a_patch_with_windows_line_ends_applies() {
    let repo = Repo::with(BASE);
    repo.git(&["checkout", "-q", "-b", "wanted"]);
    repo.write("src/a.py", BASE[0].1.replacen("two", "TWO", 1));
    repo.commit("changed");
    repo.git(&["checkout", "-q", "main"]);
    let text = String::from_utf8(raw(&repo, &["diff", "main", "wanted"])).unwrap();
    let patch = repo.patch("crlf.diff", text.replace('\n', "\r\n"));
    assert_wanted(&repo, &repo.patched(&patch));
}

#[test]
fn a_patch_is_named_from_where_the_user_stands() {
    let repo = scene();
    repo.write("src/c.diff", raw(&repo, &["diff", "--binary", "main", "wanted"]));
    let checkout = anyorder_runner::tree::Checkout::discover(&repo.root.join("src")).unwrap();
    let tree = checkout.with_patch(&checkout.head().unwrap(), Path::new("c.diff"), &repo.scratch()).unwrap();
    assert_wanted(&repo, &tree);
}

#[test]
fn a_patch_that_does_not_fit_names_file_and_hunk() {
    let repo = Repo::with(BASE);
    let text = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n@@ -8,3 +8,3 @@\n eight\n-not nine\n+NINE\n ten\n";
    let error = refused(&repo, &repo.patch("p.diff", text));
    let TreeError::PatchDoesNotApply { misfits, .. } = &error else { panic!("{error}") };
    assert_eq!((misfits.len(), misfits[0].file.as_str(), misfits[0].hunk), (1, "src/a.py", Some((2, 8))));
    let said = error.to_string();
    assert!(
        said.contains("p.diff") && said.contains("`src/a.py` hunk 2 (line 8)") && said.contains("`HEAD`"),
        "{said}"
    );

    let missing = "--- a/none.py\n+++ b/none.py\n@@ -1 +1 @@\n-1\n+2\n";
    let said = refused(&repo, &repo.patch("p.diff", missing)).to_string();
    assert!(said.contains("`none.py`: does not exist"), "{said}");
    let twice = "--- /dev/null\n+++ b/src/a.py\n@@ -0,0 +1 @@\n+1\n";
    let said = refused(&repo, &repo.patch("p.diff", twice)).to_string();
    assert!(said.contains("`src/a.py`: already exists"), "{said}");
    let torn = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,5 +1,5 @@\n-one\n";
    let said = refused(&repo, &repo.patch("p.diff", torn)).to_string();
    assert!(said.contains("corrupt patch"), "{said}");
}

#[test]
fn what_is_no_patch_is_said_to_be_none() {
    let repo = Repo::with(BASE);
    for text in ["", "just words\n", "From: a\nSubject: nothing\n\nno change\n-- \n2.4\n"] {
        assert!(
            matches!(refused(&repo, &repo.patch("p.diff", text)), TreeError::PatchEmpty { .. }),
            "{text:?}"
        );
    }
    assert!(matches!(refused(&repo, Path::new("/nonexistent.diff")), TreeError::PatchUnreadable { .. }));
    assert!(matches!(refused(&repo, &repo.beside("")), TreeError::PatchUnreadable { .. }));
    let mail = "From: a\nContent-Transfer-Encoding: quoted-printable\n\n--- a/src/a.py\n";
    let error = refused(&repo, &repo.patch("p.diff", mail));
    assert!(
        matches!(&error, TreeError::PatchEncoded { encoding, .. } if encoding == "quoted-printable"),
        "{error}"
    );
}

#[test]
fn a_patch_cannot_reach_outside_the_project() {
    let repo = Repo::with(BASE);
    let new = |path: &str| {
        format!(
            "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
        )
    };
    for path in [
        ".git/hooks/post-checkout",
        "../outside.py",
        "src/../../outside.py",
        "sub/.git/config",
        ".GIT/config",
    ] {
        let error = refused(&repo, &repo.patch("p.diff", new(path)));
        assert!(matches!(error, TreeError::PatchOutside { .. }), "{path}: {error}");
    }
    let absolute = "--- a//etc/x\n+++ b//tmp/anyorder-outside\n@@ -0,0 +1 @@\n+x\n";
    refused(&repo, &repo.patch("p.diff", absolute));
    // Through a link that the patch itself makes.
    let link = "diff --git a/way b/way\nnew file mode 120000\n--- /dev/null\n+++ b/way\n@@ -0,0 +1 @@\n+/tmp\n\\ No newline at end of file\n";
    let error = refused(&repo, &repo.patch("p.diff", format!("{link}{}", new("way/anyorder-outside"))));
    assert!(matches!(error, TreeError::PatchDoesNotApply { .. }), "{error}");
    assert!(!Path::new("/tmp/anyorder-outside").exists() && !repo.beside("outside.py").exists());
    // A link that leads outside is the project's own business, and is not followed here.
    let tree = repo.patched(&repo.patch("p.diff", link));
    let mut expected = repo.as_git_has_it("HEAD");
    expected.insert("way".into(), ('l', false, b"/tmp".to_vec()));
    assert_seen(&tree, &expected);
}

#[test]
fn several_patches_stand_side_by_side_on_one_base() {
    let repo = scene();
    let one = repo.patch("one.diff", raw(&repo, &["diff", "--binary", "main", "wanted"]));
    let two = repo.patch("two.diff", "--- a/run.sh\n+++ b/run.sh\n@@ -1 +1,2 @@\n #!/bin/sh\n+true\n");
    let (first, second, base) = (repo.patched(&one), repo.patched(&two), repo.at("main"));
    assert_wanted(&repo, &first);
    assert_eq!(second.changed.len(), 1);
    assert_eq!(base.kind, TreeKind::Working);
    assert_eq!(fs::read_dir(repo.scratch()).unwrap().count(), 4, "each tree has its own folder");
}
