//! One line of the document: a figure, what it is compared with, and whether its bar holds. Pure.

use super::samples::Sample;

pub(crate) struct Row {
    pub(crate) figure: String,
    pub(crate) measured: Sample,
    pub(crate) peer: Option<Peer>,
    pub(crate) bar: Bar,
}

pub(crate) struct Peer {
    pub(crate) name: &'static str,
    /// The reason where it could not be measured.
    pub(crate) measured: Result<Sample, String>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Bar {
    /// Shown for itself; nothing is demanded.
    None,
    AtMost(f64),
    AtLeast(f64),
    /// At least so many times the peer.
    AtLeastTimes(f64),
    /// At most so many times the peer.
    AtMostTimes(f64),
    /// At most the peer and so much more.
    AtMostOver(f64),
}

impl Row {
    pub(crate) fn new(figure: impl Into<String>, measured: Option<Sample>, bar: Bar) -> anyhow::Result<Self> {
        let figure = figure.into();
        let measured = measured.ok_or_else(|| anyhow::anyhow!("{figure}: no round was measured"))?;
        Ok(Self { figure, measured, peer: None, bar })
    }

    pub(crate) fn beside(mut self, name: &'static str, measured: Option<Sample>) -> Self {
        self.peer = Some(Peer { name, measured: measured.ok_or_else(|| "no round was measured".to_owned()) });
        self
    }

    pub(crate) fn without(mut self, name: &'static str, reason: String) -> Self {
        self.peer = Some(Peer { name, measured: Err(reason) });
        self
    }

    fn peer_median(&self) -> Option<f64> {
        self.peer.as_ref().and_then(|peer| peer.measured.as_ref().ok()).map(|sample| sample.median)
    }

    /// The medians' ratio: product to peer.
    pub(crate) fn ratio(&self) -> Option<f64> {
        self.peer_median().filter(|peer| *peer > 0.0).map(|peer| self.measured.median / peer)
    }

    /// `None` where nothing is demanded or the peer is missing.
    pub(crate) fn holds(&self) -> Option<bool> {
        let measured = self.measured.median;
        match self.bar {
            Bar::None => None,
            Bar::AtMost(limit) => Some(measured <= limit),
            Bar::AtLeast(limit) => Some(measured >= limit),
            Bar::AtLeastTimes(times) => self.peer_median().map(|peer| measured >= times * peer),
            Bar::AtMostTimes(times) => self.peer_median().map(|peer| measured <= times * peer),
            Bar::AtMostOver(more) => self.peer_median().map(|peer| measured <= peer + more),
        }
    }

    pub(crate) fn bar_text(&self) -> String {
        let unit = self.measured.unit.symbol();
        match self.bar {
            Bar::None => "–".to_owned(),
            Bar::AtMost(limit) => format!("≤ {limit} {unit}"),
            Bar::AtLeast(limit) => format!("≥ {limit} {unit}"),
            Bar::AtLeastTimes(times) => format!("≥ {times} ×"),
            Bar::AtMostTimes(times) => format!("≤ {times} ×"),
            Bar::AtMostOver(more) => format!("≤ peer + {more} {unit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bar, Row};
    use crate::bench::samples::{Sample, Unit};

    fn row(measured: f64, peer: f64, bar: Bar) -> Row {
        let sample = |value| Sample::of(vec![value], Unit::Milliseconds);
        Row::new("a figure", sample(measured), bar).unwrap().beside("a peer", sample(peer))
    }

    #[test]
    fn a_bar_holds_up_to_its_edge_and_no_further() {
        let table = [
            (row(20.0, 0.0, Bar::AtMost(20.0)), Some(true)),
            (row(20.1, 0.0, Bar::AtMost(20.0)), Some(false)),
            (row(20.0, 0.0, Bar::AtLeast(20.0)), Some(true)),
            (row(19.9, 0.0, Bar::AtLeast(20.0)), Some(false)),
            (row(25.0, 100.0, Bar::AtLeastTimes(0.25)), Some(true)),
            (row(24.9, 100.0, Bar::AtLeastTimes(0.25)), Some(false)),
            (row(150.0, 100.0, Bar::AtMostTimes(1.5)), Some(true)),
            (row(151.0, 100.0, Bar::AtMostTimes(1.5)), Some(false)),
            (row(0.5, 0.25, Bar::AtMostOver(0.25)), Some(true)),
            (row(0.6, 0.25, Bar::AtMostOver(0.25)), Some(false)),
            (row(1.0, 1.0, Bar::None), None),
            (row(1.0, 1.0, Bar::AtLeastTimes(1.0)).without("a peer", "not installed".to_owned()), None),
        ];
        for (row, expected) in table {
            assert_eq!(row.holds(), expected, "{} {:?}", row.measured, row.bar);
        }
    }

    #[test]
    fn there_is_no_ratio_without_a_measured_peer() {
        assert_eq!(row(1.0, 2.0, Bar::None).ratio(), Some(0.5));
        assert_eq!(row(1.0, 2.0, Bar::None).without("a peer", "gone".to_owned()).ratio(), None);
    }
}
