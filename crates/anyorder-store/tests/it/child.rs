//! This test binary again, as another process.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const VARIABLE: &str = "ANYORDER_STORE_TEST_CHILD";
/// What a child says stands behind this word: the test harness writes to the same stream.
pub(crate) const SAYS: &str = "says: ";

/// The folder that a child was given; `None` in the process that people started.
#[expect(clippy::disallowed_methods, reason = "tells the tests' own child processes what to do")]
pub(crate) fn folder() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).map(PathBuf::from)
}

/// The command that runs one test of this binary in a child process that is given a folder.
pub(crate) fn command(test: &str, folder: &Path) -> Command {
    command_of(&std::env::current_exe().unwrap(), test, folder)
}

#[expect(clippy::disallowed_methods, reason = "the tests of the store need other processes to meet in it")]
fn command_of(program: &Path, test: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["--exact", test, "--nocapture"]).env(VARIABLE, folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    command
}

/// The same command as a user who may not write what only its owner may write. `public` is a folder that everybody
/// may look into, which the folder of this binary need not be.
pub(crate) fn command_as_nobody(test: &str, folder: &Path, public: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return command(test, folder);
    }
    let program = public.join("tests");
    fs_err::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = command_of(&program, test, folder);
    command.uid(65_534);
    command
}

/// Says something to the parent process.
pub(crate) fn say(what: &str) {
    use std::io::Write;
    writeln!(std::io::stdout().lock(), "\n{SAYS}{what}").unwrap();
}

/// What a child said, whole lines only.
pub(crate) fn said(stdout: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(stdout);
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().filter_map(|l| l.strip_prefix(SAYS)).map(ToOwned::to_owned).collect()
}
