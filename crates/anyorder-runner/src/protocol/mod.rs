//! Lines between the engine and the agent (docs/design/001-agent-protocol.md): decoding and encoding, no IO.

mod command;
mod event;
mod message;

pub(crate) use command::{Command, Job};
pub(crate) use event::{EndMark, RunEvent};
pub(crate) use message::{
    Collected, EnvironmentLine, Exit, Hello, Item, Marks, Message, OffLine, OneOrMany, Role,
};

/// The version that both sides must speak.
pub(crate) const VERSION: u32 = 2;

/// One line of an agent, with its place in the sequence.
#[derive(Debug, PartialEq)]
pub(crate) struct Numbered {
    /// 0 for a process's first line, then without gaps.
    pub(crate) n: u64,
    /// What it says.
    pub(crate) line: Line,
}

/// What a line says.
#[derive(Debug, PartialEq)]
pub(crate) enum Line {
    /// Of a run: the short arrays of the hot path.
    Run(RunEvent),
    /// Anything else.
    Message(Message),
}

/// Reads one line without its newline. An error means: this is no record.
pub(crate) fn decode(bytes: &[u8]) -> Result<Numbered, serde_json::Error> {
    if bytes.first() == Some(&b'[') {
        let (n, event) = event::decode(bytes)?;
        return Ok(Numbered { n, line: Line::Run(event) });
    }
    let (n, message) = message::decode(bytes)?;
    Ok(Numbered { n, line: Line::Message(message) })
}
