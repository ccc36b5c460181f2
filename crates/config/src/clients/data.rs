//! Our own data files, read whole: a key that nobody takes is a mistake.

use indexmap::IndexMap;

use crate::file::{Node, Object, Value};

/// A table of a data file. Its members are taken one by one, and `finish` refuses what is left.
pub(super) struct Data {
    /// Where it stands, for who has to mend it.
    place: String,
    members: IndexMap<String, Node>,
}

impl Data {
    pub(super) fn of(place: &str, object: &Object) -> Self {
        Self { place: place.to_owned(), members: object.members.clone() }
    }

    fn wrong(&self, key: &str, what: &str) -> String {
        format!("{}: `{key}` {what}", self.place)
    }

    pub(super) fn needed(&mut self, key: &str) -> Result<String, String> {
        self.text(key)?.ok_or_else(|| self.wrong(key, "is missing"))
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, String> {
        let Some(node) = self.members.shift_remove(key) else { return Ok(None) };
        node.written().map(|text| Some(text.to_owned())).ok_or_else(|| self.wrong(key, "is no text"))
    }

    /// Takes a word of which each means something.
    pub(super) fn word<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Result<T, String> {
        let said = self.needed(key)?;
        let found = words.iter().find(|(word, _)| *word == said);
        found.map(|(_, meant)| *meant).ok_or_else(|| self.wrong(key, "is none of the words it may be"))
    }

    /// Takes a list of texts; none where it is missing.
    pub(super) fn texts(&mut self, key: &str) -> Result<Vec<String>, String> {
        Ok(self.maybe_texts(key)?.unwrap_or_default())
    }

    pub(super) fn maybe_texts(&mut self, key: &str) -> Result<Option<Vec<String>>, String> {
        let Some(node) = self.members.shift_remove(key) else { return Ok(None) };
        texts(&node).map(Some).ok_or_else(|| self.wrong(key, "is no list of texts"))
    }

    pub(super) fn flag(&mut self, key: &str) -> Result<bool, String> {
        match self.members.shift_remove(key).map(|node| node.value) {
            None => Ok(false),
            Some(Value::Flag(flag)) => Ok(flag),
            Some(_) => Err(self.wrong(key, "is neither true nor false")),
        }
    }

    pub(super) fn number(&mut self, key: &str) -> Result<Option<usize>, String> {
        match self.members.shift_remove(key).map(|node| node.value) {
            None => Ok(None),
            Some(Value::Number(number)) => {
                number.parse().map(Some).map_err(|_| self.wrong(key, "is no whole number"))
            }
            Some(_) => Err(self.wrong(key, "is no number")),
        }
    }

    pub(super) fn object(&mut self, key: &str) -> Result<Option<Object>, String> {
        match self.members.shift_remove(key).map(|node| node.value) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(_) => Err(self.wrong(key, "is no table")),
        }
    }

    pub(super) fn table(&mut self, key: &str) -> Result<Option<Self>, String> {
        let place = format!("{}: {key}", self.place);
        Ok(self.object(key)?.map(|object| Self { place, members: object.members }))
    }

    /// Takes a table of texts by key.
    pub(super) fn pairs(&mut self, key: &str) -> Result<Vec<(String, String)>, String> {
        let read = |node: &Node| node.written().map(str::to_owned);
        self.each(key, read, "has something else than texts")
    }

    /// Takes a table of lists of texts by key.
    pub(super) fn lists(&mut self, key: &str) -> Result<Vec<(String, Vec<String>)>, String> {
        self.each(key, texts, "has something else than lists of texts")
    }

    /// Takes a list of lists of texts.
    pub(super) fn list_of_texts(&mut self, key: &str) -> Result<Vec<Vec<String>>, String> {
        let node = self.members.shift_remove(key).ok_or_else(|| self.wrong(key, "is missing"))?;
        let lists = node.list().and_then(|lists| lists.iter().map(texts).collect());
        lists.ok_or_else(|| self.wrong(key, "is no list of lists of texts"))
    }

    fn each<T>(
        &mut self,
        key: &str,
        read: impl Fn(&Node) -> Option<T>,
        wrong: &str,
    ) -> Result<Vec<(String, T)>, String> {
        let members = self.object(key)?.unwrap_or_default().members;
        let read = members.into_iter().map(|(name, node)| Some((name, read(&node)?)));
        read.collect::<Option<_>>().ok_or_else(|| self.wrong(key, wrong))
    }

    /// Sees to it that nothing is left.
    pub(super) fn finish(self) -> Result<(), String> {
        match self.members.keys().next() {
            Some(key) => Err(self.wrong(key, "is not known")),
            None => Ok(()),
        }
    }
}

fn texts(node: &Node) -> Option<Vec<String>> {
    node.list()?.iter().map(|item| item.written().map(str::to_owned)).collect()
}
