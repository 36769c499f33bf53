//! The short arrays of a run, decoded straight from the bytes: four a test, so this is the hot path.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use anyorder_core::model::{Failure, Outcome, Phase, Signature};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, SeqAccess, Visitor};

use super::message::{Excerpted, Exit};

/// What a run says. Times are nanoseconds of the run's monotonic clock.
#[derive(Debug, PartialEq)]
pub(crate) enum RunEvent {
    /// A test starts: its place in the order that was sent, its index in that process's collection.
    Start { position: usize, index: u32, at: u64 },
    /// Its call starts.
    Call,
    /// Its teardown starts.
    Teardown,
    /// It ended.
    End { position: usize, index: u32, outcome: Outcome, at: u64, failure: Option<Failure> },
    /// The run is over.
    Finished(EndMark),
    /// A child was forked for a peek. `threads` are those of the run.
    PeekForked { peek: usize, pid: i32, threads: u32 },
    /// That child is gone; `None` where nobody knows how.
    PeekGone { peek: usize, exit: Option<Exit> },
    /// No child could be forked for it.
    PeekRefused { peek: usize, why: String },
}

impl RunEvent {
    /// Whether a run tells of a child that it forks.
    pub(crate) fn is_of_peek(&self) -> bool {
        matches!(self, Self::PeekForked { .. } | Self::PeekGone { .. } | Self::PeekRefused { .. })
    }
}

/// The end marker, the only thing that means a run went through.
#[derive(Debug, PartialEq)]
pub(crate) struct EndMark {
    /// Who wrote it.
    pub(crate) pid: i32,
    /// How many tests ended.
    pub(crate) count: usize,
    /// How many fixtures were set up.
    pub(crate) fixtures: Option<u32>,
    /// Project modules that came from elsewhere: name and file.
    pub(crate) foreign: Vec<(String, PathBuf)>,
}

#[derive(Deserialize)]
struct FailureDetail {
    phase: String,
    sig: String,
    text: Excerpted,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct EndDetail {
    fixtures: Option<u32>,
    foreign: Vec<(String, PathBuf)>,
}

pub(super) fn decode(bytes: &[u8]) -> Result<(u64, RunEvent), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let event = EventSeed.deserialize(&mut reader)?;
    reader.end()?;
    Ok(event)
}

struct EventSeed;

impl<'de> DeserializeSeed<'de> for EventSeed {
    type Value = (u64, RunEvent);

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for EventSeed {
    type Value = (u64, RunEvent);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event of a run")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let n: u64 = next(&mut seq)?;
        let tag: &'de str = next(&mut seq)?;
        let event = match tag {
            "s" => {
                let (position, index, at) = (next(&mut seq)?, next(&mut seq)?, next(&mut seq)?);
                RunEvent::Start { position, index, at }
            }
            "c" => {
                next::<u64, _>(&mut seq)?;
                RunEvent::Call
            }
            "t" => {
                next::<u64, _>(&mut seq)?;
                RunEvent::Teardown
            }
            "e" => ended(&mut seq)?,
            "ps" => {
                let (peek, pid, threads) = (next(&mut seq)?, next(&mut seq)?, next(&mut seq)?);
                RunEvent::PeekForked { peek, pid, threads }
            }
            "pe" => {
                let (peek, status): (_, Option<i32>) = (next(&mut seq)?, next(&mut seq)?);
                let exit =
                    status.map(|s| if s < 0 { Exit::Signal(s.saturating_neg()) } else { Exit::Code(s) });
                RunEvent::PeekGone { peek, exit }
            }
            "pn" => {
                let (peek, why) = (next(&mut seq)?, next(&mut seq)?);
                RunEvent::PeekRefused { peek, why }
            }
            "end" => {
                let (pid, count) = (next(&mut seq)?, next(&mut seq)?);
                let detail: EndDetail = seq.next_element()?.unwrap_or_default();
                let EndDetail { fixtures, foreign } = detail;
                RunEvent::Finished(EndMark { pid, count, fixtures, foreign })
            }
            _ => return Err(A::Error::custom("an event of no known kind")),
        };
        if seq.next_element::<IgnoredAny>()?.is_some() {
            return Err(A::Error::custom("an event with more in it than belongs there"));
        }
        Ok((n, event))
    }
}

fn next<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(seq: &mut A) -> Result<T, A::Error> {
    seq.next_element()?.ok_or_else(|| A::Error::custom("an event that ends too early"))
}

fn ended<'de, A: SeqAccess<'de>>(seq: &mut A) -> Result<RunEvent, A::Error> {
    let (position, index) = (next(seq)?, next(seq)?);
    let letter: &'de str = next(seq)?;
    let outcome = match letter {
        "P" => Outcome::Passed,
        "F" => Outcome::Failed,
        "E" => Outcome::Error,
        "s" => Outcome::Skipped,
        "x" => Outcome::Xfailed,
        "X" => Outcome::Xpassed,
        _ => return Err(A::Error::custom("an outcome that no test can report")),
    };
    let at = next(seq)?;
    let failure = match seq.next_element::<Option<FailureDetail>>()?.flatten() {
        None => None,
        Some(detail) => Some(Failure {
            phase: Phase::from_word(&detail.phase).ok_or_else(|| A::Error::custom("no such phase"))?,
            signature: Signature(Arc::from(detail.sig)),
            text: detail.text.into(),
        }),
    };
    Ok(RunEvent::End { position, index, outcome, at, failure })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(u64, RunEvent)> {
        decode(text.as_bytes()).ok()
    }

    #[test]
    fn a_test_is_told_in_four_arrays() {
        assert_eq!(read(r#"[1,"s",0,17,99]"#), Some((1, RunEvent::Start { position: 0, index: 17, at: 99 })));
        assert_eq!(read(r#"[2, "c", 5]"#), Some((2, RunEvent::Call)));
        assert_eq!(read(r#"[3,"t",6]"#), Some((3, RunEvent::Teardown)));
        let end = RunEvent::End { position: 0, index: 17, outcome: Outcome::Passed, at: 100, failure: None };
        assert_eq!(read(r#"[4,"e",0,17,"P",100]"#), Some((4, end)));
    }

    #[test]
    fn a_failure_carries_its_phase_signature_and_text() {
        let line = r#"[9,"e",3,1,"E",7,{"phase":"setup","sig":"KeyError @ a.py: x","text":{"head":"h","tail":"t","bytes":9}}]"#;
        let Some((9, RunEvent::End { failure: Some(failure), .. })) = read(line) else {
            panic!("not an end")
        };
        assert_eq!(failure.phase, Phase::Setup);
        assert_eq!(&*failure.signature.0, "KeyError @ a.py: x");
        assert_eq!((failure.text.head.as_str(), failure.text.total_bytes), ("h", 9));
    }

    #[test]
    fn the_end_marker_names_its_writer() {
        let Some((5, RunEvent::Finished(mark))) =
            read(r#"[5,"end",42,6,{"fixtures":3,"foreign":[["m","/x/m.py"]]}]"#)
        else {
            panic!("no end marker")
        };
        assert_eq!((mark.pid, mark.count, mark.fixtures), (42, 6, Some(3)));
        assert_eq!(mark.foreign, [("m".to_owned(), PathBuf::from("/x/m.py"))]);
    }

    #[test]
    fn peeks_are_told_by_the_run() {
        assert_eq!(
            read(r#"[1,"ps",3,99,1]"#),
            Some((1, RunEvent::PeekForked { peek: 3, pid: 99, threads: 1 }))
        );
        for (status, exit) in [("0", Some(Exit::Code(0))), ("-9", Some(Exit::Signal(9))), ("null", None)] {
            let told = read(&format!(r#"[2,"pe",3,{status}]"#));
            assert_eq!(told, Some((2, RunEvent::PeekGone { peek: 3, exit })));
        }
        let refused = RunEvent::PeekRefused { peek: 0, why: "EAGAIN".to_owned() };
        assert_eq!(read(r#"[3,"pn",0,"EAGAIN"]"#), Some((3, refused)));
    }

    #[test]
    fn what_is_not_exactly_an_event_is_none() {
        for text in [
            r#"[1,"s",0,17]"#,
            r#"[1,"s",0,17,99,1]"#,
            r#"[1,"s",-1,17,99]"#,
            r#"[1,"e",0,17,"T",99]"#,
            r#"[1,"e",0,17,"-",99]"#,
            r#"[1,"z",0]"#,
            r#"[1,"s",0,17,99]x"#,
            r#"[1,"s",0,17,99"#,
            r#"["s",0,17,99]"#,
            "[]",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
