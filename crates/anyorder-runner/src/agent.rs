//! The agent: one Python file, carried inside the binary.

/// Its source, as handed to the interpreter.
pub const SOURCE: &str = include_str!("../python/anyorder_agent.py");
