// Puts Manifold into other programs' files and takes their servers over: what the commands do, shown before it is done.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api, ApiError } from "../api.ts";
import { day } from "../format.ts";
import { mayEdit } from "../session.ts";
import { Badge, Button, Card, Empty, Prose, Skeleton } from "../ui/basics.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Table } from "../ui/table.tsx";
import { toast } from "../ui/toast.tsx";

/** A program whose file we know, as `install --all --dry-run` tells of it. */
interface Program {
  client: string;
  file: string;
  /** Installing would change the file: we do not stand in it yet. */
  changed: boolean;
  diff?: string;
}

interface ImportReport {
  added: string[];
  same: string[];
  skipped: { id: string; why: string }[];
  unread?: { file: string; why: string }[];
}

interface UndoRow {
  id: string;
  at: string;
  command: string;
  files: string[];
  undone: boolean;
}

type Shown = { verb: "install" | "uninstall"; program: Program } | { verb: "import"; report: ImportReport } | { verb: "undo"; rows: UndoRow[] };

export function Setup() {
  const programs = useSignal<Program[] | null>(null);
  const problem = useSignal<ApiError | null>(null);
  const shown = useSignal<Shown | null>(null);
  const load = async () => {
    try {
      const found = await api.get<Program[] | Program>("/v1/setup/clients");
      programs.value = Array.isArray(found) ? found : [found];
      problem.value = null;
    } catch (error) {
      if (error instanceof ApiError) problem.value = error;
    }
  };
  useEffect(() => void (mayEdit.value && load()), [mayEdit.value]);
  const preview = async (verb: "install" | "uninstall", client: string) => {
    shown.value = { verb, program: await api.post<Program>(`/v1/setup/${verb}`, { client, dryRun: true }) };
  };
  const close = () => (shown.value = null);
  const done = async () => {
    close();
    toast("done; Undo takes it back");
    await load();
  };
  const buttons = mayEdit.value && !problem.value && (
    <div class="buttons">
      <Button run={async () => (shown.value = { verb: "import", report: await api.post<ImportReport>("/v1/setup/import", { dryRun: true }) })}>Import servers</Button>
      <Button run={async () => (shown.value = { verb: "undo", rows: await api.get<UndoRow[]>("/v1/setup/undo") })}>Undo</Button>
    </div>
  );
  return (
    <Card title="Programs on this machine" side={buttons} flush>
      {!mayEdit.value || problem.value ? <ByCommand problem={problem.value} /> : !programs.value ? <Skeleton rows={4} /> : <Programs all={programs.value} preview={preview} />}
      {shown.value?.verb === "undo" && <Undo rows={shown.value.rows} onClose={close} onDone={done} />}
      {shown.value?.verb === "import" && <Import report={shown.value.report} onClose={close} onDone={done} />}
      {(shown.value?.verb === "install" || shown.value?.verb === "uninstall") && <Change verb={shown.value.verb} program={shown.value.program} onClose={close} onDone={done} />}
    </Card>
  );
}

function ByCommand({ problem }: { problem: ApiError | null }) {
  return (
    <Empty title="Your editors and agents">
      {problem && problem.status !== 404 && (
        <p class="soft">
          <Prose text={problem.message} />
        </p>
      )}
      <p>
        <code>manifold install</code> puts Manifold into them, <code>manifold import</code> takes their servers over, <code>manifold undo</code> takes either back.
      </p>
      {!mayEdit.value && (
        <p class="soft">
          <code>manifold open --edit</code> opens a page that does so.
        </p>
      )}
    </Empty>
  );
}

function Programs({ all, preview }: { all: Program[]; preview: (verb: "install" | "uninstall", client: string) => Promise<void> }) {
  return (
    <Table
      label="Programs"
      rows={all}
      rowKey={(one) => one.client}
      columns={[
        { title: "Program", by: (one) => one.client, cell: (one) => <b>{one.client}</b> },
        { title: "File", isWide: true, spare: 1, cell: (one) => <span class="soft mono">{one.file}</span> },
        { title: "Manifold", cell: (one) => (one.changed ? <Badge>not in it</Badge> : <Badge tone="good">✓ in it</Badge>) },
        {
          title: "",
          cell: (one) => (
            <Button look="small" needs="edit" aria-label={`${one.changed ? "Install into" : "Uninstall from"} ${one.client}`} run={() => preview(one.changed ? "install" : "uninstall", one.client)}>
              {one.changed ? "Install" : "Uninstall"}
            </Button>
          ),
        },
      ]}
      empty={
        <Empty title="No program was found">
          <p>
            <code>manifold install --help</code> names those that are known.
          </p>
        </Empty>
      }
    />
  );
}

interface DialogProps {
  onClose: () => void;
  onDone: () => Promise<void>;
}

function Change({ verb, program, onClose, onDone }: DialogProps & { verb: "install" | "uninstall"; program: Program }) {
  const run = async () => {
    await api.post(`/v1/setup/${verb}`, { client: program.client });
    await onDone();
  };
  return (
    <Dialog title={`${verb === "install" ? "Put Manifold into" : "Take Manifold out of"} ${program.client}`} onClose={onClose}>
      <p class="mono soft break">{program.file}</p>
      {!program.changed && <p>Nothing would change.</p>}
      {program.diff && <DiffText text={program.diff} />}
      <Answer yes={verb === "install" ? "Install" : "Uninstall"} isUseless={!program.changed} run={run} onClose={onClose} />
    </Dialog>
  );
}

function Import({ report, onClose, onDone }: DialogProps & { report: ImportReport }) {
  const run = async () => {
    await api.post("/v1/setup/import", {});
    await onDone();
  };
  return (
    <Dialog title="Take servers over" onClose={onClose}>
      <p>{report.added.length > 0 ? `New: ${report.added.join(", ")}` : "There is nothing new to take over."}</p>
      {report.same.length > 0 && <p class="soft">Already there: {report.same.join(", ")}</p>}
      {report.skipped.map((one) => (
        <p key={one.id} class="soft small">
          Left out: {one.id}, {one.why}
        </p>
      ))}
      {report.unread?.map((one) => (
        <p key={one.file} class="bad small break">
          {one.file}: {one.why}
        </p>
      ))}
      <Answer yes="Import" isUseless={report.added.length === 0} run={run} onClose={onClose} />
    </Dialog>
  );
}

function Undo({ rows, onClose, onDone }: DialogProps & { rows: UndoRow[] }) {
  const undo = async (id: string) => {
    await api.post("/v1/setup/undo", { id });
    await onDone();
  };
  return (
    <Dialog title="Take a change back" onClose={onClose}>
      <ul class="instances">
        {rows.map((one) => (
          <li key={one.id} class="undo-row">
            <div>
              <b>{one.command}</b> <span class="faint small">{day(one.at)}</span>
              <p class="soft small break">{one.files.join(", ")}</p>
            </div>
            {one.undone ? (
              <Badge>undone</Badge>
            ) : (
              <Button look="small" needs="edit" aria-label={`Undo ${one.command}`} run={() => undo(one.id)}>
                Undo
              </Button>
            )}
          </li>
        ))}
      </ul>
      {rows.length === 0 && <p class="faint">Nothing has been changed yet.</p>}
      <div class="buttons">
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

function Answer({ yes, isUseless, run, onClose }: { yes: string; isUseless: boolean; run: () => Promise<void>; onClose: () => void }) {
  return (
    <div class="buttons">
      <button type="button" class="button" onClick={onClose}>
        Cancel
      </button>
      <Button look="primary" needs="edit" disabled={isUseless} run={run}>
        {yes}
      </Button>
    </div>
  );
}

function DiffText({ text }: { text: string }) {
  return (
    <div class="diff" tabIndex={0} role="region" aria-label="What changes">
      {text.split("\n").map((line, index) => (
        <div key={index} class={line.startsWith("+") ? "add" : line.startsWith("-") ? "del" : ""}>
          {line || " "}
        </div>
      ))}
    </div>
  );
}
