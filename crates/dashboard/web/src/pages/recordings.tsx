// Traffic in files: begun, ended, taken home.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api } from "../api.ts";
import { counted, day, exact } from "../format.ts";
import { recordingChanges } from "../store.ts";
import type { Recording } from "../types.ts";
import { Badge, Button, Card, Empty, said, Skeleton } from "../ui/basics.tsx";
import { Table } from "../ui/table.tsx";
import { toast } from "../ui/toast.tsx";

const REFRESH_MS = 2000;
const FORMATS = ["json", "har", "text"] as const;

export function Recordings() {
  const all = useSignal<Recording[] | null>(null);
  const load = async () => {
    all.value = await api.get<Recording[]>("/v1/recordings");
  };
  const isRunning = all.value?.some((one) => one.isRunning) ?? false;
  useEffect(() => void load().catch(said), [recordingChanges.value]);
  useEffect(() => {
    // A recording that runs grows without an event.
    if (!isRunning) return;
    const timer = setInterval(() => !document.hidden && void load().catch(() => {}), REFRESH_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
  return (
    <div class="page">
      <div class="page-head">
        <h1>
          Recordings {all.value && <span class="faint">{counted(all.value.length, "recording")}</span>}
        </h1>
      </div>
      <Start onStarted={load} />
      <div class="card">
        {!all.value ? (
          <Skeleton rows={4} />
        ) : (
          <Table
            label="Recordings"
            rows={all.value}
            rowKey={(one) => one.name}
            columns={[
              { title: "State", cell: (one) => <RecordingState one={one} /> },
              {
                title: "Name",
                isWide: true,
                by: (one) => one.name,
                cell: (one) => (
                  <>
                    <b title={one.file}>{one.name}</b> <span class="faint">{one.problem ?? one.filter ?? ""}</span>
                  </>
                ),
              },
              { title: "Frames", isNumber: true, spare: 1, by: (one) => one.frames, cell: (one) => exact(one.frames) },
              { title: "Lost", isNumber: true, spare: 2, by: (one) => one.lost, cell: (one) => (one.lost ? <span class="bad">{exact(one.lost)}</span> : "") },
              { title: "Bytes", isNumber: true, spare: 1, by: (one) => one.bytes, cell: (one) => exact(one.bytes) },
              { title: "Started", spare: 2, by: (one) => one.started ?? "", cell: (one) => <span class="faint">{one.started && day(one.started)}</span> },
              { title: "", cell: (one) => <Actions one={one} onChange={load} /> },
            ]}
            empty={
              <Empty title="No recordings">
                <p>
                  Begin one above, or with <code>manifold record start NAME</code>. It keeps every message of both hops, without secrets.
                </p>
              </Empty>
            }
          />
        )}
      </div>
      <p class="faint small">
        <code>manifold replay</code> plays a recording again, stands in for the server it was made with, or compares.
      </p>
    </div>
  );
}

function Start({ onStarted }: { onStarted: () => Promise<void> }) {
  const name = useSignal("");
  const filter = useSignal("");
  const begin = async () => {
    await api.post("/v1/recordings", { ...(name.value ? { name: name.value } : {}), ...(filter.value ? { filter: filter.value } : {}) });
    toast(`recording ${name.value} has begun`.replace("  ", " "));
    name.value = "";
    await onStarted();
  };
  return (
    <Card title="Start a recording">
      <form class="inline-form" onSubmit={(event) => event.preventDefault()}>
        <label class="field">
          <span>Name</span>
          <input class="input" value={name.value} placeholder="bug" onInput={(event) => (name.value = event.currentTarget.value)} />
        </label>
        <label class="field">
          <span>Filter</span>
          <input class="input mono" value={filter.value} placeholder="server:git status:error" onInput={(event) => (filter.value = event.currentTarget.value)} />
        </label>
        <Button look="primary" needs="act" run={begin}>
          Start recording
        </Button>
      </form>
    </Card>
  );
}

function RecordingState({ one }: { one: Recording }) {
  if (one.isRunning) return <Badge tone="busy">● running</Badge>;
  return one.problem ? <Badge tone="bad">✗ problem</Badge> : <Badge>■ ended</Badge>;
}

function Actions({ one, onChange }: { one: Recording; onChange: () => Promise<void> }) {
  const stop = async () => {
    await api.del(`/v1/recordings/${encodeURIComponent(one.name)}`);
    toast(`recording ${one.name} has ended`);
    await onChange();
  };
  if (one.isRunning)
    return (
      <Button look="small" needs="act" aria-label={`Stop ${one.name}`} run={stop}>
        Stop
      </Button>
    );
  return (
    <span class="row-buttons">
      {FORMATS.map((format) => (
        <Button key={format} look="small" needs="act" aria-label={`Download ${one.name} as ${format}`} run={() => download(one.name, format)}>
          {format}
        </Button>
      ))}
    </span>
  );
}

/** Reads a recording with the token, which a plain link could not send, and hands it to the browser as a file. */
async function download(name: string, format: (typeof FORMATS)[number]): Promise<void> {
  const answer = await api.raw("GET", `/v1/recordings/${encodeURIComponent(name)}?format=${format}`);
  save(await answer.blob(), `${name}.${format === "text" ? "txt" : format}`);
}

export function save(blob: Blob, file: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
