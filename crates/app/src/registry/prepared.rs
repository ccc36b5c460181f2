//! A server that could be added, once its questions are answered.

use std::path::PathBuf;

use manifold_registry::{Answers, Bundle, Plan, Question, Unpacked};

use super::bundle_failure;
use crate::output::Failure;

/// What would be added. Nothing is written before `make`.
pub(crate) struct Prepared {
    name: String,
    plan: Plan,
    remarks: Vec<String>,
    bundle: Option<(Bundle, PathBuf)>,
}

/// An entry for the config.
pub(crate) struct Made {
    /// A JSON object.
    pub(crate) entry: String,
    /// The bundle that was unpacked for it: if the entry cannot be written, `Unpacked::remove` takes it away again.
    pub(crate) unpacked: Option<Unpacked>,
}

impl Prepared {
    pub(super) fn new(name: String, plan: Plan, mut remarks: Vec<String>) -> Self {
        remarks.extend(plan.remarks().iter().cloned());
        Self { name, plan, remarks, bundle: None }
    }

    pub(super) fn with_bundle(self, bundle: Bundle, bundles: PathBuf) -> Self {
        Self { bundle: Some((bundle, bundles)), ..self }
    }

    /// Returns an id for the entry, if the user names none.
    pub(crate) fn suggested_id(&self) -> &str {
        self.plan.suggested_id()
    }

    /// Returns what has to be answered, and what may be.
    pub(crate) fn questions(&self) -> &[Question] {
        self.plan.questions()
    }

    /// Returns what to say before the user agrees; foreign words among them.
    pub(crate) fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Returns what would be started or asked; foreign text.
    pub(crate) fn summary(&self) -> String {
        self.plan.summary()
    }

    /// Returns whether it comes in a bundle, which is unpacked for it.
    pub(crate) fn is_bundle(&self) -> bool {
        self.bundle.is_some()
    }

    /// Returns the entry that these answers make, with nothing unpacked for it.
    pub(crate) fn entry(&self, answers: &Answers) -> Result<String, Failure> {
        self.plan.entry(answers).map_err(|error| Failure::usage(error.to_string()))
    }

    /// Checks the answers, and only if they are good unpacks what has to be.
    pub(crate) fn make(&mut self, answers: &Answers) -> Result<Made, Failure> {
        let entry = self.entry(answers)?;
        let unpacked = match &mut self.bundle {
            Some((bundle, bundles)) => {
                Some(bundle.unpack(bundles).map_err(|error| bundle_failure(&self.name, &error))?)
            }
            None => None,
        };
        Ok(Made { entry, unpacked })
    }
}
