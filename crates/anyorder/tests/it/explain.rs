//! `anyorder check --explain`.

use crate::fixture::Project;

#[test]
fn a_finding_is_explained_without_a_repository_or_an_interpreter() {
    let project = Project::plain(&[]);
    let answer = project.anyorder(["check", "--explain", "pre_existing"]).python(None).answer();
    answer.shows("pre_existing depends on order on both trees").shows("action `freeze`");
    answer.shows("evidence no").shows("anyorder freeze");
    assert_eq!(answer.err, "");
    // As keys of a configuration may be spelt.
    project.anyorder(["check", "--explain", "pre-existing"]).python(None).answer().shows("pre_existing");
}

#[test]
fn the_action_in_force_is_that_of_the_configuration() {
    let project = Project::plain(&[("anyorder.toml", "[verdict]\nmasked = \"block\"\n")]);
    let explain = ["check", "--explain", "masked"];
    project.anyorder(explain).python(None).answer().shows("set in `[verdict]`, the default is `review`");
    let document = project.anyorder(explain).args(["--format", "json"]).python(None).answer().json();
    assert_eq!((&document["action"], &document["default_action"]), (&"block".into(), &"review".into()));
    assert_eq!(document["evidence"], false);
}

#[test]
fn an_unknown_finding_is_refused_with_all_that_there_are_and_the_likely_one() {
    let project = Project::plain(&[]);
    let explain = |word: &str| project.anyorder(["check", "--explain", word]).python(None).status(2).answer();
    explain("preexisting").refuses("`preexisting` is no finding").refuses("did you mean `pre_existing`?");
    let answer = explain("zzz");
    answer.refuses("regressed, introduced").refuses("repaired");
    assert!(!answer.err.contains("did you mean"), "{answer}");
}
