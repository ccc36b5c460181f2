//! The last calls, below everything else where there is room.

use manifold_admin::{CallOutcome, escaped_line};
use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::units::{age, size, took};
use crate::look::{BAD, BUSY, FAINT, GOOD, PLAIN};
use crate::state::State;

pub(super) fn draw(state: &State, area: Rect, canvas: &mut Canvas) {
    canvas.horizontal(area.x, area.y, area.width, FAINT);
    canvas.put(area.x + 2, area.y, 14, " last calls ", FAINT);
    let rows = usize::from(area.height.saturating_sub(1));
    if state.model.calls.is_empty() {
        canvas.put(area.x + 3, area.y + 1, area.width, "none since this was opened", FAINT);
    }
    for (at, one) in state.model.calls.iter().rev().take(rows).enumerate() {
        let y = area.y + 1 + u16::try_from(at).unwrap_or(0);
        let ended = &one.it;
        let (word, style) = match ended.outcome {
            CallOutcome::Ok => ("ok", GOOD),
            CallOutcome::ToolError => ("tool error", BAD),
            CallOutcome::ServerError => ("server error", BAD),
            CallOutcome::Fault => ("fault", BAD),
            CallOutcome::TimedOut => ("timed out", BAD),
            CallOutcome::Cancelled => ("cancelled", BUSY),
            CallOutcome::Other => ("", FAINT),
        };
        let client = ended.call.client.and_then(|id| state.model.clients.iter().find(|one| one.it.id == id));
        let client = client.and_then(|one| one.it.name.as_deref()).unwrap_or_default();
        let what = ended.call.tool.as_deref().unwrap_or(&ended.call.method);
        let width = area.width.saturating_sub(4);
        canvas.right(area.x + 3, y, 5, &age(state.now.saturating_sub(one.at)), FAINT);
        canvas.put(area.x + 10, y, 12, word, style);
        canvas.right(area.x + 23, y, 7, &took(ended.took_us), PLAIN);
        canvas.right(area.x + 31, y, 6, &ended.response_bytes.map(size).unwrap_or_default(), FAINT);
        canvas.put(area.x + 39, y, width.saturating_sub(72), &escaped_line(what), PLAIN);
        canvas.put(area.x + width.saturating_sub(30), y, 30, &escaped_line(client), FAINT);
    }
}
