use super::*;
use crate::name::Name;

fn written() -> Vec<u8> {
    let head = Head { name: Name::secret("TOKEN").unwrap(), generation: 7 };
    write(&head, &Value::new("hunter2-hunter2")).unwrap().to_vec()
}

#[test]
fn name_and_generation_stand_beside_the_value() {
    let file = written();
    let line = file.split(|byte| *byte == b'\n').next().unwrap();
    assert_eq!(
        std::str::from_utf8(line).unwrap(),
        r#"{"manifold":"plain credential 1","kind":"secret","name":"TOKEN","generation":7}"#
    );
    let (head, value) = read(&file).unwrap();
    assert_eq!((head.name.as_str(), head.generation), ("TOKEN", 7));
    assert_eq!(value.expose_text(), Some("hunter2-hunter2"));
}

#[test]
fn every_changed_bit_and_every_cut_is_found() {
    let file = written();
    for at in 0..file.len() {
        let mut changed = file.clone();
        changed[at] ^= 1;
        assert!(read(&changed).is_err(), "byte {at}");
        assert!(read(&file[..at]).is_err(), "{at} bytes");
    }
    assert!(read(&[file.as_slice(), b"x"].concat()).is_err());
}
