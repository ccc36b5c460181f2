//! The built-in `time` server (decision 36): the public `mcp-server-time`'s tools, with the zones on board.

use jiff::civil::Time as ClockTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use manifold_engine::BoxFuture;
use manifold_protocol::{Failure, Raw};
use serde::Serialize;

use super::{Toolbox, text_result};

pub(super) struct Time;

/// A moment somewhere.
#[derive(Debug, Serialize)]
struct Moment {
    timezone: String,
    datetime: String,
    is_dst: bool,
}

#[derive(Debug, Serialize)]
struct Conversion {
    source: Moment,
    target: Moment,
    time_difference: String,
}

impl Toolbox for Time {
    fn tools(&self) -> Vec<Raw> {
        vec![
            Raw::from_static(
                r#"{"name":"get_current_time","description":"Get the current time in a specified timezone","inputSchema":{"type":"object","properties":{"timezone":{"type":"string","description":"IANA timezone identifier (e.g., 'Asia/Shanghai'); the local timezone if left out"}}},"outputSchema":{"type":"object","properties":{"timezone":{"type":"string"},"datetime":{"type":"string"},"is_dst":{"type":"boolean"}},"required":["timezone","datetime","is_dst"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}}"#,
            ),
            Raw::from_static(
                r#"{"name":"convert_time","description":"Convert a time of today between timezones","inputSchema":{"type":"object","properties":{"source_timezone":{"type":"string","description":"IANA timezone identifier of the given time (e.g., 'America/New_York')"},"time":{"type":"string","description":"Time to convert, 24-hour format (HH:MM)"},"target_timezone":{"type":"string","description":"IANA timezone identifier to convert to (e.g., 'Asia/Tokyo')"}},"required":["source_timezone","time","target_timezone"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}}"#,
            ),
        ]
    }

    fn call(&self, tool: &str, arguments: Option<Raw>) -> BoxFuture<Result<Raw, Failure>> {
        let text = |key: &str| {
            let value = arguments.as_ref()?.get(key)?;
            Some(value.to_text()?.into_owned())
        };
        let now = Timestamp::now();
        let result = match tool {
            "get_current_time" => current(text("timezone").as_deref(), now)
                .map(|moment| text_result(&moment.datetime.clone(), Some(Raw::serialize(&moment)), false)),
            _ => {
                let given = |key: &str| text(key).ok_or_else(|| format!("`{key}` is missing"));
                let converted = given("source_timezone")
                    .and_then(|source| convert(&source, &given("time")?, &given("target_timezone")?, now));
                converted.map(|conversion| {
                    let structured = Raw::serialize(&conversion);
                    text_result(structured.as_str(), Some(structured.clone()), false)
                })
            }
        };
        // A wrong argument is the tool's own error: the model reads it and tries again.
        let result = result.unwrap_or_else(|why| text_result(&why, None, true));
        Box::pin(std::future::ready(Ok(result)))
    }
}

fn current(timezone: Option<&str>, now: Timestamp) -> Result<Moment, String> {
    let zone = match timezone {
        Some(name) => zone(name)?,
        None => TimeZone::try_system().unwrap_or(TimeZone::UTC),
    };
    Ok(moment(&now.to_zoned(zone)))
}

fn convert(source: &str, time: &str, target: &str, now: Timestamp) -> Result<Conversion, String> {
    let (source_zone, target_zone) = (zone(source)?, zone(target)?);
    let clock = ClockTime::strptime("%H:%M", time)
        .map_err(|_| format!("Invalid time '{time}': expected HH:MM in 24-hour format"))?;
    let today = now.to_zoned(source_zone.clone()).date();
    let from = today
        .to_datetime(clock)
        .to_zoned(source_zone)
        .map_err(|problem| format!("{time} does not exist today in {source}: {problem}"))?;
    let to = from.with_time_zone(target_zone);
    let hours = f64::from(to.offset().seconds() - from.offset().seconds()) / 3600.0;
    // Whole and half hours have one digit, Nepal's quarters two.
    let time_difference =
        if (hours * 2.0).fract() == 0.0 { format!("{hours:+.1}h") } else { format!("{hours:+.2}h") };
    Ok(Conversion { source: moment(&from), target: moment(&to), time_difference })
}

fn zone(name: &str) -> Result<TimeZone, String> {
    TimeZone::get(name).map_err(|_| format!("Invalid timezone '{name}': no such IANA timezone"))
}

fn moment(zoned: &Zoned) -> Moment {
    let is_dst = zoned.time_zone().to_offset_info(zoned.timestamp()).dst().is_dst();
    Moment {
        timezone: zoned.time_zone().iana_name().unwrap_or("UTC").to_owned(),
        datetime: zoned.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string(),
        is_dst,
    }
}

#[cfg(test)]
mod tests;
