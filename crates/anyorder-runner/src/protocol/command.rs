//! What the engine tells a main process.

use std::collections::BTreeMap;

use serde::Serialize;

/// One line to a main process.
#[derive(Debug, Serialize)]
#[serde(tag = "c", rename_all = "lowercase")]
pub(crate) enum Command<'a> {
    /// Run this order in this process, then end.
    Here(Job<'a>),
    /// Fork a child that runs it.
    Fork(Job<'a>),
    /// Signal the process group of a run's child.
    Kill {
        /// Which run.
        run: u64,
        /// The signal's number.
        signal: i32,
    },
    /// End at once.
    Quit,
}

/// An order to run.
#[derive(Debug, Serialize)]
pub(crate) struct Job<'a> {
    /// Which run.
    pub(crate) run: u64,
    /// Indices of collected items, as the addressed process numbered them.
    pub(crate) order: &'a [u32],
    /// A private folder for this run.
    pub(crate) dir: &'a str,
    /// Variables of this run.
    pub(crate) env: BTreeMap<&'a str, String>,
    /// Peeks by place: number, how many tests of the order come before, index of the item.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) peeks: &'a [(usize, usize, u32)],
    /// Modules to import first.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) imports: &'a [String],
}

impl Command<'_> {
    /// The line, with its newline.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_spelt_as_the_protocol_says() {
        let spelt = |command: Command<'_>| String::from_utf8(command.encode().unwrap()).unwrap();
        let env = BTreeMap::from([("A", "b".to_owned())]);
        let job = Job { run: 7, order: &[2, 0], dir: "/d", env, peeks: &[], imports: &[] };
        assert_eq!(
            spelt(Command::Fork(job)),
            "{\"c\":\"fork\",\"run\":7,\"order\":[2,0],\"dir\":\"/d\",\"env\":{\"A\":\"b\"}}\n"
        );
        let imports = ["m.n".to_owned()];
        let env = BTreeMap::new();
        let job = Job { run: 7, order: &[2], dir: "/d", env, peeks: &[(0, 1, 5)], imports: &imports };
        assert_eq!(
            spelt(Command::Here(job)),
            "{\"c\":\"here\",\"run\":7,\"order\":[2],\"dir\":\"/d\",\"env\":{},\"peeks\":[[0,1,5]],\"imports\":[\"m.n\"]}\n"
        );
        assert_eq!(
            Command::Kill { run: 7, signal: 15 }.encode().unwrap(),
            b"{\"c\":\"kill\",\"run\":7,\"signal\":15}\n"
        );
        assert_eq!(Command::Quit.encode().unwrap(), b"{\"c\":\"quit\"}\n");
    }
}
