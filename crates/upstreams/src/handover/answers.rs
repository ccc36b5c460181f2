//! Answers that have come, and whose askers have not come back yet.

use manifold_engine::ReturnAddress;
use manifold_protocol::{Answer, CodeSet, Failure, Mark, Raw, Reply};
use serde::{Deserialize, Serialize};

use super::Handover;
use super::encoding::Json;
use super::saved::SavedAddress;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SavedAnswer {
    address: SavedAddress,
    #[serde(default)]
    result: Option<Json>,
    #[serde(default)]
    mark: SavedMark,
    /// Structured content of any kind passes.
    #[serde(default)]
    is_loose: bool,
    /// What there is instead of a result.
    #[serde(default)]
    error: Option<Json>,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum SavedMark {
    #[default]
    None,
    Complete,
    InputRequired,
    Extension,
    /// One that a later release has.
    #[serde(other)]
    Unknown,
}

impl Handover {
    /// Adds answers for the program that takes our place, to which their askers come back. Faults get these codes.
    pub fn add_answers(&mut self, answers: Vec<(ReturnAddress, Reply)>, codes: CodeSet) {
        self.answers
            .extend(answers.into_iter().map(|(address, reply)| SavedAnswer::new(address, reply, codes)));
    }

    /// Takes the answers that were added.
    pub fn take_answers(&mut self) -> Vec<(ReturnAddress, Reply)> {
        std::mem::take(&mut self.answers).into_iter().filter_map(SavedAnswer::read).collect()
    }
}

impl SavedAnswer {
    fn new(address: ReturnAddress, reply: Reply, codes: CodeSet) -> Self {
        let nothing = Self {
            address: address.into(),
            result: None,
            mark: SavedMark::None,
            is_loose: false,
            error: None,
        };
        let error = |error: Raw| Some(Json(error));
        match reply {
            Ok(Answer::Result { body, mark, loose }) => {
                Self { result: Some(Json(body)), mark: mark.into(), is_loose: loose, ..nothing }
            }
            Ok(list @ Answer::List(_)) => Self { result: Some(Json(list.plain())), ..nothing },
            Err(Failure::Fault(fault)) => Self { error: error(fault.to_error(codes)), ..nothing },
            Err(Failure::Peer(own)) => Self { error: error(own), ..nothing },
        }
    }

    /// Returns whose it is and what; `None` where a later release has said something that we know nothing of.
    fn read(self) -> Option<(ReturnAddress, Reply)> {
        let reply = match (self.result, self.error) {
            (Some(body), _) => {
                Ok(Answer::Result { body: body.0, mark: self.mark.read()?, loose: self.is_loose })
            }
            (None, Some(error)) => Err(Failure::Peer(error.0)),
            (None, None) => return None,
        };
        Some((self.address.read()?, reply))
    }
}

impl From<Mark> for SavedMark {
    fn from(mark: Mark) -> Self {
        match mark {
            Mark::None => Self::None,
            Mark::Complete => Self::Complete,
            Mark::InputRequired => Self::InputRequired,
            Mark::Extension => Self::Extension,
        }
    }
}

impl SavedMark {
    fn read(self) -> Option<Mark> {
        Some(match self {
            Self::None => Mark::None,
            Self::Complete => Mark::Complete,
            Self::InputRequired => Mark::InputRequired,
            Self::Extension => Mark::Extension,
            Self::Unknown => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use manifold_protocol::Fault;

    use super::*;

    #[test]
    fn answers_come_back_as_they_were() {
        let address = ReturnAddress { session: "s/7".to_owned(), id: Raw::number(1), steps: Vec::new() };
        let body = Raw::from_static(r#"{ "content":[], "x" : 1.0 }"#);
        let own = Raw::from_static(r#"{"code":-1,"message":"no"}"#);
        let replies: Vec<Reply> = vec![
            Ok(Answer::Result { body: body.clone(), mark: Mark::Complete, loose: true }),
            Err(Failure::Peer(own.clone())),
            Err(Fault::ShuttingDown.into()),
        ];
        for reply in replies {
            let saved = SavedAnswer::new(address.clone(), reply.clone(), CodeSet::Own);
            let text = serde_json::to_string(&saved).unwrap();
            let (whose, read) = serde_json::from_str::<SavedAnswer>(&text).unwrap().read().unwrap();
            assert_eq!(whose, address);
            match (reply, read) {
                (Ok(_), Ok(Answer::Result { body: read, mark: Mark::Complete, loose: true })) => {
                    assert_eq!(read.as_str(), body.as_str());
                }
                (Err(Failure::Peer(_)), Err(Failure::Peer(read))) => assert_eq!(read.as_str(), own.as_str()),
                (Err(Failure::Fault(fault)), Err(Failure::Peer(read))) => {
                    assert_eq!(read.as_str(), fault.to_error(CodeSet::Own).as_str());
                }
                (_, read) => panic!("{read:?}"),
            }
        }
    }
}
