//! What is there to see costs little.

use super::*;

/// A machine on which every process has another beside it.
#[derive(Default)]
struct Machine {
    looks: std::sync::atomic::AtomicUsize,
}

impl ProcessTable for Machine {
    fn usage(&self, roots: &[u32]) -> std::collections::HashMap<u32, Usage> {
        self.looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let usage = |pid: &u32| (*pid, Usage { pids: vec![*pid, pid + 1], memory_bytes: 4096 });
        roots.iter().map(usage).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn what_processes_take_up_is_looked_at_seldom() {
    let world = World::new(CONFIG);
    let control = operator(&world);
    let machine = Arc::new(Machine::default());
    control.see_processes_by(Arc::clone(&machine) as _);
    world.fake("b").publish(&tools(&["x"]));
    let instance = control.snapshot().servers[1].instances.remove(0);
    assert_eq!((instance.pids, instance.memory_bytes), (vec![7, 8], Some(4096)));
    control.snapshot();
    let looks = || machine.looks.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(looks(), 1);
    tokio::time::advance(std::time::Duration::from_millis(501)).await;
    control.snapshot();
    assert_eq!(looks(), 2);
}

// B2: tools are paged, and no snapshot holds one
#[tokio::test(start_paused = true)]
async fn a_snapshot_of_many_servers_and_tools_is_short() {
    let ids: Vec<String> = (0..100).map(|at| format!("server-{at}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let world = World::new(&fake::servers(&ids, ""));
    let names: Vec<String> = (0..100).map(|at| format!("tool-{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for id in &ids {
        world.fake(id).publish(&tools(&names));
    }
    let snapshot = operator(&world).snapshot();
    let all: usize = snapshot.servers.iter().filter_map(|server| Some(server.lists?.tools)).sum();
    assert_eq!((snapshot.servers.len(), all), (100, 10_000));
    assert!(snapshot.servers[0].tool_bytes.is_some_and(|bytes| bytes > 1000));
    let bytes = serde_json::to_vec(&snapshot).unwrap().len();
    assert!(bytes < 3 << 20, "{bytes} bytes");
}
