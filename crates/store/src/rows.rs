//! Values on their way into and out of a statement, the same for every engine.

use crate::{Error, Result};

/// A parameter of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Param<'a> {
    Null,
    Integer(i64),
    Text(&'a str),
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Param<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<u64> for Param<'_> {
    fn from(number: u64) -> Self {
        // Counters stay far below; saturating keeps order should one ever not.
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<domain::times::Timestamp> for Param<'_> {
    fn from(at: domain::times::Timestamp) -> Self {
        Self::Integer(at.as_ms())
    }
}

impl<'a, T: Into<Param<'a>>> From<Option<T>> for Param<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Parameters in the order of their first use.
macro_rules! params {
    ($($value:expr),* $(,)?) => { &[$($crate::rows::Param::from($value)),*] };
}
pub(crate) use params;

#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Text(String),
}

/// A row, read from left to right.
#[derive(Debug)]
pub(crate) struct Row(std::vec::IntoIter<Value>);

impl Row {
    pub(crate) fn new(values: Vec<Value>) -> Self {
        Self(values.into_iter())
    }

    fn next(&mut self) -> Result<Value> {
        self.0.next().ok_or_else(|| Error::BadRow("a column is missing".into()))
    }

    pub(crate) fn optional_integer(&mut self) -> Result<Option<i64>> {
        match self.next()? {
            Value::Null => Ok(None),
            Value::Integer(number) => Ok(Some(number)),
            Value::Text(_) => Err(Error::BadRow("text where a number belongs".into())),
        }
    }

    pub(crate) fn integer(&mut self) -> Result<i64> {
        self.optional_integer()?.ok_or_else(|| Error::BadRow("a number is missing".into()))
    }

    pub(crate) fn count(&mut self) -> Result<u64> {
        u64::try_from(self.integer()?).map_err(|_| Error::BadRow("a count is negative".into()))
    }

    pub(crate) fn optional_text(&mut self) -> Result<Option<String>> {
        match self.next()? {
            Value::Null => Ok(None),
            Value::Text(text) => Ok(Some(text)),
            Value::Integer(_) => Err(Error::BadRow("a number where text belongs".into())),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String> {
        self.optional_text()?.ok_or_else(|| Error::BadRow("text is missing".into()))
    }

    pub(crate) fn time(&mut self) -> Result<domain::times::Timestamp> {
        self.integer().map(domain::times::Timestamp::from_ms)
    }

    pub(crate) fn optional_time(&mut self) -> Result<Option<domain::times::Timestamp>> {
        Ok(self.optional_integer()?.map(domain::times::Timestamp::from_ms))
    }

    pub(crate) fn json<T: serde::de::DeserializeOwned>(&mut self) -> Result<T> {
        from_json(&self.text()?)
    }

    pub(crate) fn optional_json<T: serde::de::DeserializeOwned>(&mut self) -> Result<Option<T>> {
        self.optional_text()?.map(|text| from_json(&text)).transpose()
    }
}

pub(crate) fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::BadRow(error.to_string()))
}

pub(crate) fn to_json<T: serde::Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::BadRow(error.to_string()))
}
