//! Which part of the terminal shows what.

use ratatui::layout::Rect;

use super::{Focus, Pane};

/// Below this nothing can be shown.
pub(crate) const MIN: (u16, u16) = (40, 8);

/// Below this there is a list and nothing else.
const ROOMY: (u16, u16) = (60, 15);

/// From here on the detail stands beside the list.
const WIDE: (u16, u16) = (120, 20);

/// From here on the last calls are shown below both.
const TALL: u16 = 40;
const STRIP: u16 = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) is_too_small: bool,
    /// One line instead of two at head and foot.
    pub(crate) is_narrow: bool,
    pub(crate) head: Rect,
    pub(crate) list: Option<Rect>,
    pub(crate) detail: Option<Rect>,
    /// Whether both are there, and a line between them.
    pub(crate) is_split: bool,
    pub(crate) strip: Option<Rect>,
    pub(crate) foot: Rect,
}

impl Layout {
    pub(crate) fn of((width, height): (u16, u16), focus: Focus, pane: Pane) -> Self {
        let is_narrow = width < ROOMY.0 || height < ROOMY.1;
        let edge = if is_narrow { 1 } else { 2 };
        let head = Rect::new(0, 0, width, edge.min(height));
        let foot = Rect::new(0, height.saturating_sub(edge), width, edge.min(height));
        let mut body = Rect::new(0, head.height, width, height.saturating_sub(2 * edge));
        let is_wide = width >= WIDE.0 && height >= WIDE.1;
        let mut strip = None;
        if is_wide && height >= TALL && pane != Pane::Full {
            body.height -= STRIP;
            strip = Some(Rect::new(0, body.y + body.height, width, STRIP));
        }
        let (list, detail) = if is_wide && pane != Pane::Full {
            let left = width * if pane == Pane::Wide { 40 } else { 60 } / 100;
            let list = Rect { width: left, ..body };
            (Some(list), Some(Rect { x: left + 1, width: width - left - 1, ..body }))
        } else if focus == Focus::Detail || pane == Pane::Full && is_wide {
            (None, Some(body))
        } else {
            (Some(body), None)
        };
        let is_split = list.is_some() && detail.is_some();
        let is_too_small = width < MIN.0 || height < MIN.1;
        Self { is_too_small, is_narrow, head, list, detail, is_split, strip, foot }
    }

    /// Returns how many rows of a list are seen, below the names of its columns.
    pub(crate) fn list_rows(&self) -> u16 {
        self.list.map_or(1, |list| list.height.saturating_sub(1)).max(1)
    }

    /// Returns the window of the detail.
    pub(crate) fn detail_size(&self) -> (usize, usize) {
        self.detail.map_or((1, 1), |area| (area.width.into(), area.height.into()))
    }
}
