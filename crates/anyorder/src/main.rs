//! The `anyorder` command.

fn main() -> std::process::ExitCode {
    anyorder::run(std::env::args_os()).into()
}
