//! As much of protobuf's wire format as is written here.

/// A message that is being written.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const LENGTH: u32 = 2;
const FIXED32: u32 = 5;

impl Message {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(super) fn varint(&mut self, field: u32, value: u64) {
        self.tag(field, VARINT);
        self.raw_varint(value);
    }

    pub(super) fn fixed64(&mut self, field: u32, value: u64) {
        self.tag(field, FIXED64);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn fixed32(&mut self, field: u32, value: u32) {
        self.tag(field, FIXED32);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.tag(field, LENGTH);
        self.raw_varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn text(&mut self, field: u32, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    pub(super) fn message(&mut self, field: u32, message: &Self) {
        self.bytes(field, &message.0);
    }

    pub(super) fn packed_fixed64(&mut self, field: u32, values: impl Iterator<Item = u64>) {
        let bytes: Vec<u8> = values.flat_map(u64::to_le_bytes).collect();
        self.bytes(field, &bytes);
    }

    fn tag(&mut self, field: u32, kind: u32) {
        self.raw_varint(u64::from(field << 3 | kind));
    }

    fn raw_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}
