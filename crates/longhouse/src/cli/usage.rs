//! A command that cannot be meant as it was typed, noticed only after its words were read. It exits with 2, as what the
//! parser refuses does.

use std::fmt;

#[derive(Debug)]
pub(crate) struct Usage(pub(crate) &'static str);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Usage {}
