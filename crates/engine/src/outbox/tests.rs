use bytes::Bytes;

use super::*;

#[tokio::test]
async fn a_crowded_outbox_refuses_droppable_messages_only() {
    let outbox = Outbox::new(8);
    assert!(outbox.push(Bytes::from_static(b"0123456789")));
    assert!(!outbox.push_droppable(Bytes::from_static(b"x")));
    assert!(outbox.push(Bytes::from_static(b"y")));

    let mut batch = Vec::new();
    assert!(outbox.take(&mut batch).await);
    assert_eq!(batch.len(), 2);
    assert!(outbox.crowded(), "what is being written is still owed");
    outbox.written(11);
    outbox.uncrowded().await;
    outbox.flushed().await;
}

#[tokio::test]
async fn closing_lets_the_writer_finish() {
    let outbox = Outbox::new(8);
    outbox.push(Bytes::from_static(b"last"));
    outbox.close();
    assert!(!outbox.push(Bytes::from_static(b"late")));
    let mut batch = Vec::new();
    assert!(outbox.take(&mut batch).await);
    batch.clear();
    assert!(!outbox.take(&mut batch).await);
}
