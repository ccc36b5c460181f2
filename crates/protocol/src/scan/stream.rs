use super::{Nesting, is_blank, plain_end};

/// Scans one JSON value that comes in pieces; looks at each byte once.
pub struct Scanner {
    state: State,
    open: Nesting,
}

/// What became of a piece; positions count from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All of it fits so far. (A number at the top ends only with the byte after it.)
    NeedMore,
    /// The value ended after `consumed` bytes; what follows was not looked at.
    Done { consumed: usize },
    /// Nothing that starts so can become JSON: not this byte, or not this deep.
    Wrong { at: usize },
}

#[derive(Clone, Copy)]
enum State {
    Value,
    /// After `[`: a value or the end.
    FirstElement,
    /// After `{`: a key or the end.
    FirstKey,
    Key,
    Colon,
    AfterValue,
    Text(Role, InText),
    Literal(&'static [u8]),
    Number(InNumber),
    Done,
    Wrong,
}

#[derive(Clone, Copy)]
enum Role {
    Key,
    Value,
}

#[derive(Clone, Copy)]
enum InText {
    Plain,
    Escape,
    /// Inside `\uXXXX`: digits left.
    Unit(u8),
    /// Inside a character: bytes left and the range the next one must be in.
    Utf8 {
        left: u8,
        from: u8,
        to: u8,
    },
}

#[derive(Clone, Copy)]
enum InNumber {
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

impl Default for Scanner {
    fn default() -> Self {
        Self::new()
    }
}

impl Scanner {
    pub fn new() -> Self {
        Self { state: State::Value, open: Nesting::new() }
    }

    pub fn feed(&mut self, piece: &[u8]) -> Progress {
        let mut at = 0;
        loop {
            match self.state {
                State::Done => return Progress::Done { consumed: at },
                State::Wrong => return Progress::Wrong { at: at.saturating_sub(1) },
                State::Text(_, InText::Plain) => at = plain_end(piece, at),
                _ => {}
            }
            let Some(&byte) = piece.get(at) else { return Progress::NeedMore };
            // The byte that ends a number belongs to what follows.
            if let State::Number(number) = self.state
                && !continues(number, byte)
                && ends(number)
            {
                self.state = self.ended();
                continue;
            }
            self.state = self.step(byte).unwrap_or(State::Wrong);
            at += 1;
        }
    }

    /// Returns the state after `byte`, or none if it cannot stand here.
    fn step(&mut self, byte: u8) -> Option<State> {
        match self.state {
            State::Value
            | State::FirstElement
            | State::FirstKey
            | State::Key
            | State::Colon
            | State::AfterValue
                if is_blank(byte) =>
            {
                Some(self.state)
            }
            State::FirstElement if byte == b']' => Some(self.close()),
            State::FirstKey if byte == b'}' => Some(self.close()),
            State::Value | State::FirstElement => self.value(byte),
            State::FirstKey | State::Key => (byte == b'"').then_some(State::Text(Role::Key, InText::Plain)),
            State::Colon => (byte == b':').then_some(State::Value),
            State::AfterValue => match (byte, self.open.in_object()) {
                (b',', true) => Some(State::Key),
                (b',', false) => Some(State::Value),
                (b'}', true) | (b']', false) => Some(self.close()),
                _ => None,
            },
            State::Text(role, InText::Plain) if byte == b'"' => Some(match role {
                Role::Key => State::Colon,
                Role::Value => self.ended(),
            }),
            State::Text(role, text) => Some(State::Text(role, in_text(text, byte)?)),
            State::Literal(rest) => match rest.split_first() {
                Some((&expected, [])) if expected == byte => Some(self.ended()),
                Some((&expected, rest)) if expected == byte => Some(State::Literal(rest)),
                _ => None,
            },
            State::Number(number) => Some(State::Number(in_number(number, byte)?)),
            State::Done | State::Wrong => None,
        }
    }

    fn value(&mut self, byte: u8) -> Option<State> {
        Some(match byte {
            b'{' => self.open.push(true).then_some(State::FirstKey)?,
            b'[' => self.open.push(false).then_some(State::FirstElement)?,
            b'"' => State::Text(Role::Value, InText::Plain),
            b't' => State::Literal(b"rue"),
            b'f' => State::Literal(b"alse"),
            b'n' => State::Literal(b"ull"),
            b'-' => State::Number(InNumber::Minus),
            b'0' => State::Number(InNumber::Zero),
            b'1'..=b'9' => State::Number(InNumber::Whole),
            _ => return None,
        })
    }

    fn close(&mut self) -> State {
        self.open.pop();
        self.ended()
    }

    fn ended(&self) -> State {
        if self.open.depth == 0 { State::Done } else { State::AfterValue }
    }
}

fn in_text(text: InText, byte: u8) -> Option<InText> {
    Some(match text {
        InText::Plain => match byte {
            b'\\' => InText::Escape,
            0x20..=0x7f => InText::Plain,
            0xc2..=0xdf => InText::Utf8 { left: 1, from: 0x80, to: 0xbf },
            0xe0 => InText::Utf8 { left: 2, from: 0xa0, to: 0xbf },
            0xed => InText::Utf8 { left: 2, from: 0x80, to: 0x9f },
            0xe1..=0xef => InText::Utf8 { left: 2, from: 0x80, to: 0xbf },
            0xf0 => InText::Utf8 { left: 3, from: 0x90, to: 0xbf },
            0xf1..=0xf3 => InText::Utf8 { left: 3, from: 0x80, to: 0xbf },
            0xf4 => InText::Utf8 { left: 3, from: 0x80, to: 0x8f },
            _ => return None,
        },
        InText::Utf8 { from, to, .. } if !(from..=to).contains(&byte) => return None,
        InText::Utf8 { left: 1, .. } => InText::Plain,
        InText::Utf8 { left, .. } => InText::Utf8 { left: left - 1, from: 0x80, to: 0xbf },
        InText::Escape => match byte {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => InText::Plain,
            b'u' => InText::Unit(4),
            _ => return None,
        },
        InText::Unit(left) if byte.is_ascii_hexdigit() => match left {
            2.. => InText::Unit(left - 1),
            _ => InText::Plain,
        },
        InText::Unit(_) => return None,
    })
}

fn in_number(number: InNumber, byte: u8) -> Option<InNumber> {
    use InNumber::*;
    Some(match (number, byte) {
        (Minus, b'0') => Zero,
        (Minus, b'1'..=b'9') | (Whole, b'0'..=b'9') => Whole,
        (Zero | Whole, b'.') => Point,
        (Point | Fraction, b'0'..=b'9') => Fraction,
        (Zero | Whole | Fraction, b'e' | b'E') => E,
        (E, b'+' | b'-') => Sign,
        (E | Sign | Exponent, b'0'..=b'9') => Exponent,
        _ => return None,
    })
}

fn continues(number: InNumber, byte: u8) -> bool {
    in_number(number, byte).is_some()
}

fn ends(number: InNumber) -> bool {
    matches!(number, InNumber::Zero | InNumber::Whole | InNumber::Fraction | InNumber::Exponent)
}
