//! What needs `unsafe`, and nothing else.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process;

/// Makes the command's process the leader of a session and group of its own, and (on Linux) has the kernel kill it
/// when the thread that starts it goes away, so that nothing survives a killed engine.
#[expect(unsafe_code, reason = "a hook between fork and exec is unsafe by signature")]
pub(crate) fn lead_own_session(command: &mut Command) {
    #[cfg(target_os = "linux")]
    let parent = process::getpid();
    let hook = move || -> io::Result<()> {
        process::setsid()?;
        #[cfg(target_os = "linux")]
        {
            process::set_parent_process_death_signal(Some(process::Signal::KILL))?;
            // The parent may have died before the line above took effect.
            if process::getppid() != Some(parent) {
                return Err(io::Error::from(io::ErrorKind::BrokenPipe));
            }
        }
        Ok(())
    };
    // SAFETY: the hook runs in the forked child before exec, where only async-signal-safe calls are allowed. It makes
    // three system calls (setsid, prctl, getppid) through rustix, allocates nothing and takes no lock; an error is
    // built from a number or a kind, without allocation.
    unsafe {
        command.pre_exec(hook);
    }
}
