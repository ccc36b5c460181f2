// The config as text: what is wrong is marked as it is typed, and what saving would restart is said before.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { api, ApiError } from "../api.ts";
import { counted } from "../format.ts";
import { problemText } from "../problems.ts";
import { route } from "../router.ts";
import { mayEdit } from "../session.ts";
import { config } from "../store.ts";
import type { ConfigChanged, ConfigCheck, ConfigText, Problem, ReloadReport } from "../types.ts";
import { serverKey } from "../types.ts";
import { Badge, Button, Card, Empty, Prose, said, Skeleton } from "../ui/basics.tsx";
import { confirm } from "../ui/dialog.tsx";
import { toast } from "../ui/toast.tsx";

const CHECK_AFTER_MS = 250;
const LINE_PX = 20;

/** What came of an undo. */
interface Undone {
  left?: { file: string; why: string }[];
}

export function Config() {
  const read = useSignal<ConfigText | null>(null);
  const refusal = useSignal<ApiError | null>(null);
  const text = useSignal("");
  const check = useSignal<ConfigCheck | null>(null);
  /** What the last save from here is taken back by. */
  const undo = useSignal<string | null>(null);
  const isChanged = read.value !== null && text.value !== read.value.text;

  const load = async () => {
    try {
      const found = await api.get<ConfigText>("/v1/config");
      read.value = found;
      text.value = found.text;
      check.value = { problems: found.problems };
      refusal.value = null;
    } catch (error) {
      if (error instanceof ApiError) refusal.value = error;
    }
  };
  const revision = config.value?.revision;
  useEffect(() => {
    if (!mayEdit.value) return;
    // Somebody else's change is read, unless it would take away what is being typed.
    if (!isChanged) void load();
  }, [revision]);
  useEffect(() => {
    if (!isChanged) return;
    const wanted = new AbortController();
    const timer = setTimeout(() => {
      api
        .post<ConfigCheck>("/v1/config/check", { text: text.value }, { signal: wanted.signal })
        .then((found) => (check.value = found))
        .catch((error: unknown) => !wanted.signal.aborted && said(error));
    }, CHECK_AFTER_MS);
    return () => {
      clearTimeout(timer);
      wanted.abort();
    };
  }, [text.value, isChanged]);

  const save = async (next: string) => {
    const current = read.value;
    if (!current) return;
    try {
      const changed = await api.put<ConfigChanged>("/v1/config", { text: next }, { headers: { "If-Match": `"${current.revision}"` } });
      toast(`saved: ${planText(changed.report)}`);
      undo.value = changed.undo ?? null;
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 412)) throw error;
      const goesOn = await confirm("The config has changed meanwhile", "Somebody else has saved it. Read it anew and lose what you have typed, or stay and copy it first.", "Read anew");
      if (goesOn) await load();
      return;
    }
    await load();
  };

  // Taken back as the command line would, so that the next undo is that of the change before.
  const takeBack = async () => {
    const { left } = await api.post<Undone>("/v1/setup/undo", { id: undo.value });
    undo.value = null;
    for (const one of left ?? []) toast(`${one.file} is left as it is: ${one.why}`, true);
    await load();
  };

  if (!mayEdit.value) return <MayNotEdit />;
  if (refusal.value) return <Refused error={refusal.value} />;
  const found = check.value?.problems ?? [];
  const isRefused = found.some((one) => one.severity === "error" && one.place === "") || Boolean(check.value?.refused);
  return (
    <div class="page">
      <div class="page-head">
        <h1>
          Config {read.value?.path && <span class="faint mono">{read.value.path}</span>}
        </h1>
        <Button needs="edit" disabled={undo.value === null || isChanged} title="Takes back the last save from this page" run={takeBack}>
          Undo
        </Button>
        <Button disabled={!isChanged} run={load}>
          Discard
        </Button>
        <Button needs="edit" look="primary" disabled={!isChanged || isRefused} run={() => save(text.value)}>
          Save
        </Button>
      </div>
      <div class="columns">
        <section class="card" aria-label="Text of the config">{read.value ? <Editor text={text.value} problems={found} onChange={(next) => (text.value = next)} /> : <Skeleton rows={14} />}</section>
        <div class="page">
          <Found problems={found} refused={check.value?.refused ?? null} />
          <Plan check={check.value} isChanged={isChanged} />
        </div>
      </div>
    </div>
  );
}

/** The text may hold secrets, so only a page that may edit it sees it; what is wrong with it everybody may know. */
function MayNotEdit() {
  const source = config.value;
  return (
    <div class="page">
      <div class="page-head">
        <h1>
          Config {source?.path && <span class="faint mono">{source.path}</span>}
        </h1>
      </div>
      <div class="card">
        <Empty title="This page may not edit the config">
          <p>
            <code>manifold open --edit</code> opens one that may, <code>manifold config show</code> prints the config.
          </p>
        </Empty>
      </div>
      <Found problems={source?.problems ?? []} refused={source?.refused ?? null} />
    </div>
  );
}

function Refused({ error }: { error: ApiError }) {
  return (
    <Empty title="The config cannot be read">
      <p class="soft">
        <Prose text={error.message} />
      </p>
      {error.hint && (
        <p>
          <Prose text={error.hint} />
        </p>
      )}
    </Empty>
  );
}

/** Text beside its line numbers. The box scrolls both, so they cannot drift apart. */
function Editor({ text, problems, onChange }: { text: string; problems: Problem[]; onChange: (text: string) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const lines = text.split("\n");
  const longest = lines.reduce((most, line) => Math.max(most, line.length), 0);
  const marks = new Map<number, Problem[]>();
  for (const one of problems) if (one.line) marks.set(one.line, [...(marks.get(one.line) ?? []), one]);
  const wanted = Number(route.value.query.get("line") ?? 0);
  useEffect(() => {
    if (wanted > 0 && box.current) box.current.scrollTop = (wanted - 4) * LINE_PX;
  }, [wanted]);
  return (
    <div ref={box} class="editor">
      <div class="gutter" aria-hidden="true">
        {lines.map((_, index) => {
          const found = marks.get(index + 1);
          const tone = found?.some((one) => one.severity === "error") ? "error" : found ? "warning" : "";
          return (
            <div key={index} class={tone} title={found?.map((one) => one.what).join("\n")}>
              {index + 1}
            </div>
          );
        })}
      </div>
      <textarea
        aria-label="Config"
        aria-invalid={problems.some((one) => one.severity === "error")}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        readOnly={!mayEdit.value}
        value={text}
        style={{ minInlineSize: `calc(${longest + 2}ch + 1.5rem)`, minBlockSize: `calc(${lines.length * LINE_PX}px + 1.5rem)` }}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </div>
  );
}

function Found({ problems, refused }: { problems: Problem[]; refused: string | null }) {
  const errors = problems.filter((one) => one.severity === "error").length;
  return (
    <Card title="Problems" side={problems.length > 0 && <Badge tone={errors > 0 ? "bad" : "busy"}>{counted(problems.length, "problem")}</Badge>} flush>
      <div aria-live="polite">
        {refused && <p class="fine bad">{refused}</p>}
        {problems.length === 0 && !refused && (
          <p class="fine good">
            <span aria-hidden="true">✓</span> nothing is wrong with it
          </p>
        )}
        <ul class="marks">
          {problems.map((one) => (
            <li key={problemText(one)}>
              <span class={one.severity === "error" ? "bad" : "busy"}>{one.severity === "error" ? "✗ error" : "◌ warning"}</span> <Prose text={problemText(one)} />
              {one.hint && (
                <p class="soft small">
                  → <Prose text={one.hint} />
                </p>
              )}
            </li>
          ))}
        </ul>
      </div>
    </Card>
  );
}

function Plan({ check, isChanged }: { check: ConfigCheck | null; isChanged: boolean }) {
  const plan = check?.plan;
  return (
    <Card title="What saving would do">
      {!isChanged ? (
        <p class="faint">nothing has been changed</p>
      ) : !plan ? (
        <p class="faint">it cannot be saved like this</p>
      ) : (
        <dl class="members">
          <Row title="start" of={plan.added} tone="good" />
          <Row title="start anew" of={plan.restarted} tone="busy" />
          <Row title="end" of={plan.removed} tone="bad" />
          <dt>leave alone</dt>
          <dd>{counted(plan.unchanged, "server")}</dd>
        </dl>
      )}
    </Card>
  );
}

function Row({ title, of, tone }: { title: string; of: ReloadReport["added"]; tone: string }) {
  return (
    <>
      <dt>{title}</dt>
      <dd class={of.length > 0 ? tone : "faint"}>{of.length > 0 ? of.map(serverKey).join(", ") : "none"}</dd>
    </>
  );
}

function planText(report: ReloadReport): string {
  const parts = [
    report.added.length > 0 && `${report.added.length} new`,
    report.restarted.length > 0 && `${report.restarted.length} started anew`,
    report.removed.length > 0 && `${report.removed.length} ended`,
    `${report.unchanged} left alone`,
  ];
  return parts.filter(Boolean).join(", ");
}
