//! The configuration file.

mod checks;
mod files;
mod format;
mod nodes;
mod parsing;
mod problems;
mod schemas;
mod shapes;
