//! Histograms by their properties, and what memory they take.

mod histogram_properties;
mod memory;
