//! What is still to be done with the answer of a call that another process took, before its asker gets it.

use manifold_protocol::{Answer, Reply};

use super::Gateway;
use super::extensions::{expose_task, name_task};
use crate::exchange::AnswerStep;
use crate::principal::Principal;
use crate::router;

impl Gateway {
    /// Does with an answer what the exchange it was taken with would have done.
    pub fn finish_answer(&self, steps: &[AnswerStep], principal: &Principal, reply: Reply) -> Reply {
        let mut answer = reply?;
        for step in steps {
            answer = self.take_step(step, principal, answer);
        }
        Ok(answer)
    }

    fn take_step(&self, step: &AnswerStep, principal: &Principal, answer: Answer) -> Answer {
        match step {
            AnswerStep::AllowAnyStructured => answer.allow_any_structured(),
            AnswerStep::NameTask { server, is_shared } => {
                name_task(server, &self.task_owners, principal, *is_shared, answer)
            }
            AnswerStep::ExposeTask { server } => answer.map(|result| expose_task(server, result)),
            AnswerStep::RenameContents { original, exposed } => {
                answer.map(|result| router::rename_contents(&result, original, exposed))
            }
        }
    }
}
