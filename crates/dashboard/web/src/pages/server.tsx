// All there is to say of one server.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api } from "../api.ts";
import { age, clock, counted, day, exact, size, took } from "../format.ts";
import { orderServer, signedIn, signIn, signOut, wantsSignIn } from "../orders.ts";
import { problemText } from "../problems.ts";
import { go, href } from "../router.ts";
import { mayEdit } from "../session.ts";
import { catalogChanges, clientsOf, type Heard, histories, logs, namespaces, now, pulseOf, readItems, serverOf, servers, type ToolList, toolsOf } from "../store.ts";
import type { ConfigText, Instance, Server, Target } from "../types.ts";
import { serverKey } from "../types.ts";
import { Button, Card, Empty, Prose, said, Skeleton, StateMark } from "../ui/basics.tsx";
import { Spark } from "../ui/spark.tsx";
import { Table } from "../ui/table.tsx";
import { LogBox, useLogs } from "./logs.tsx";
import { Orders } from "./servers.tsx";

export function ServerPage({ id }: { id: string }) {
  useLogs(servers.value ? [id] : []);
  const server = serverOf(id);
  if (!servers.value) return <Skeleton rows={10} />;
  if (!server)
    return (
      <Empty title={`There is no server '${id}'`}>
        <p>
          <a href={href("servers")}>The servers there are</a>, or <code>manifold add {id}</code>.
        </p>
      </Empty>
    );
  const lines = logs.value.filter((one) => one.server === id);
  return (
    <div class="page">
      <div class="page-head">
        <h1>
          {id} <StateMark state={server.state} silent={server.unresponsive} />
          {server.sinceMs != null && <span class="faint">for {age(server.sinceMs + now.value - server.heardAt)}</span>}
        </h1>
        <Orders server={server} isAlone />
        <Button needs="edit" run={() => orderServer(server, server.enabled ? "disable" : "enable")}>
          {server.enabled ? "Disable" : "Enable"}
        </Button>
        <Button needs="act" title="Read its lists anew" disabled={!server.enabled} run={() => orderServer(server, "refresh")}>
          Refresh
        </Button>
      </div>
      <Trouble server={server} />
      <div class="columns">
        <div class="page">
          <Offers server={server} />
          <LogBox lines={lines} height="18rem" isOne />
        </div>
        <div class="page">
          <About server={server} />
          <SignedIn server={server} />
          <Minute id={id} />
          <Instances server={server} />
          <History id={id} />
        </div>
      </div>
    </div>
  );
}

function Trouble({ server }: { server: Server }) {
  const wrong = server.fault ?? server.error;
  const last = (server.instances ?? []).map((one) => one.lastError).find((one) => one != null);
  const error = wrong ?? last;
  return (
    <>
      {error && (
        <div class={wrong ? "note is-bad" : "note"}>
          <h3>{wrong ? "Wrong now" : "Last error"}</h3>
          <p>
            <Prose text={error.text} />
          </p>
          {error.hint && (
            <p class="soft">
              → <Prose text={error.hint} />
            </p>
          )}
        </div>
      )}
      {(server.problems ?? []).filter((one) => !server.fault || one.severity !== "error").map((one) => (
        <div key={one.what} class={one.severity === "error" ? "note is-bad" : "note is-busy"}>
          <p>
            <Prose text={problemText(one)} />
          </p>
          {one.hint && (
            <p class="soft">
              → <Prose text={one.hint} />
            </p>
          )}
        </div>
      ))}
    </>
  );
}

function About({ server }: { server: Heard<Server> }) {
  const users = clientsOf(server);
  return (
    <Card title="Definition" side={<Source id={server.id} />}>
      <dl class="members">
        <dt>{server.kind}</dt>
        <dd class="mono">{targetText(server.target)}</dd>
        <dt>start</dt>
        <dd>{server.start}</dd>
        <dt>sharing</dt>
        <dd>{server.sharing === "shared" ? "one process for all clients" : server.sharing === "per-client" ? "each client has its own" : "–"}</dd>
        <dt>tools begin with</dt>
        <dd class="mono">{server.exposedId}</dd>
        {users.length > 0 && (
          <>
            <dt>clients</dt>
            <dd>
              {users.length} <span class="soft">{[...new Set(users.map((one) => one.name ?? "(has not said)"))].join(", ")}</span>
            </dd>
          </>
        )}
        <Names title="env" names={server.env} />
        <Names title="headers" names={server.headers} />
        {server.calls?.total ? (
          <>
            <dt>calls</dt>
            <dd>
              {exact(server.calls.total)}, <span class={server.calls.failed ? "bad" : ""}>{exact(server.calls.failed ?? 0)} failed</span>
              {server.calls.p50Us != null && <span class="soft"> · p50 {took(server.calls.p50Us)}</span>}
              {server.calls.p95Us != null && <span class="soft"> · p95 {took(server.calls.p95Us)}</span>}
            </dd>
          </>
        ) : null}
      </dl>
    </Card>
  );
}

/** How one is signed in to it, for how long, and what is lacking. */
function SignedIn({ server }: { server: Heard<Server> }) {
  const one = server.signIn;
  if (!one || one.state === "unknown") return null;
  const rows: [string, string | null | undefined][] = [
    ["issuer", one.issuer],
    ["account", one.account === "default" ? null : one.account],
    ["scopes", one.scopes.join(" ")],
    ["good until", one.until && day(one.until)],
    ["last renewed", one.lastRefresh && day(one.lastRefresh)],
    ["stored in", one.store],
  ];
  const tone = one.state === "ready" ? "good" : "busy";
  return (
    <Card
      title="Sign-in"
      side={
        <span class="buttons">
          <Button look="small" needs="act" run={() => signIn(server)}>
            {wantsSignIn(server) ? "Sign in" : "Sign in again"}
          </Button>
          {signedIn(server) && (
            <Button look="small" needs="act" run={() => signOut(server)}>
              Log out
            </Button>
          )}
        </span>
      }
    >
      <dl class="members">
        <dt>state</dt>
        <dd>
          <span class={tone}>{one.state}</span> {one.detail && <span class="soft">{one.detail}</span>}
        </dd>
        {rows.map(
          ([name, value]) =>
            value && (
              <>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </>
            ),
        )}
      </dl>
    </Card>
  );
}

/** Names of what it is given; the values are secrets. */
function Names({ title, names }: { title: string; names: string[] | undefined }) {
  if (!names?.length) return null;
  return (
    <>
      <dt>{title}</dt>
      <dd class="mono">{names.join(" ")}</dd>
    </>
  );
}

export function targetText(target: Target): string {
  if (target.type === "program") return target.arguments === 0 ? target.command : `${target.command} (and ${counted(target.arguments, "argument")})`;
  if (target.type === "address") return target.origin;
  return target.type === "builtin" ? `built in: ${target.name}` : "–";
}

/** Leads to the line of the config where it stands, if this page may read that. */
function Source({ id }: { id: string }) {
  const line = useSignal<number | null>(null);
  useEffect(() => {
    if (!mayEdit.value) return;
    api
      .get<ConfigText>("/v1/config")
      .then(({ text }) => (line.value = lineOf(text, id)))
      .catch(() => {});
  }, [id]);
  if (!line.value) return null;
  return <a href={href("config", undefined, { line: String(line.value) })}>config, line {line.value}</a>;
}

/** Returns the line where an entry of this name begins. */
export function lineOf(text: string, id: string): number | null {
  const key = JSON.stringify(id);
  const index = text.split("\n").findIndex((line) => line.trimStart().startsWith(key) && /^\s*:/.test(line.trimStart().slice(key.length)));
  return index < 0 ? null : index + 1;
}

const KINDS = ["tools", "resources", "prompts"] as const;

function Offers({ server }: { server: Heard<Server> }) {
  const kind = useSignal<(typeof KINDS)[number]>("tools");
  const list = useSignal<ToolList | null>(null);
  const changes = catalogChanges.value;
  const id = serverKey(server);
  // Reading the list of a server that is not running would start it; this page only looks.
  const isAsked = server.state === "ready";
  useEffect(() => {
    let isWanted = true;
    if (!isAsked) return;
    readOf(kind.value, id)
      .then((found) => isWanted && (list.value = found))
      .catch((error: unknown) => isWanted && said(error));
    return () => {
      isWanted = false;
    };
  }, [id, kind.value, isAsked, changes, server.lists?.[kind.value]]);
  const lists = server.lists;
  const total = server.toolBytes;
  return (
    <Card
      title={`${counted(toolsOf(server) ?? 0, "tool")}${total ? `, ${size(total)} in all` : ""}`}
      side={
        <div class="tabs">
          {KINDS.map((one) => (
            <Button
              key={one}
              look="small"
              aria-pressed={kind.value === one}
              run={() => {
                list.value = null;
                kind.value = one;
              }}
            >
              {one}
              {lists ? ` ${lists[one]}` : ""}
            </Button>
          ))}
        </div>
      }
      flush
    >
      {!isAsked && !list.value ? (
        <Empty title={server.state === "disabled" ? "It is disabled" : "It is not running"}>
          <p class="soft">Its {kind.value} are read once it is ready.</p>
          {server.enabled && (
            <Button needs="act" look="primary" aria-label={`Start it to read its ${kind.value}`} run={() => orderServer(server, "start")}>
              Start it
            </Button>
          )}
        </Empty>
      ) : !list.value ? (
        <Skeleton rows={toolsOf(server) ?? 4} />
      ) : (
        <Table
          label={`${kind.value} of ${id}`}
          rows={list.value.items}
          rowKey={(one) => one.name}
          {...(kind.value === "tools" ? { onOpen: (one: { name: string }) => go("tools", one.name) } : {})}
          columns={[
            { title: "Name", by: (one) => one.original, cell: (one) => (kind.value === "tools" ? <a href={href("tools", one.name)}>{one.original}</a> : one.original) },
            { title: "Size", isNumber: true, by: (one) => one.bytes, cell: (one) => size(one.bytes) },
            { title: "Description", isWide: true, spare: 1, cell: (one) => <span class="soft">{one.description}</span> },
          ]}
          empty={
            lists?.[kind.value] ? (
              <Empty title={`No client sees its ${kind.value}`}>
                <p>
                  No namespace shows it, or a rule hides them: <a href={href("namespaces")}>namespaces</a>, <code>manifold ns</code>.
                </p>
              </Empty>
            ) : (
              <Empty title={`It has no ${kind.value}`} />
            )
          }
        />
      )}
    </Card>
  );
}

/** Reads what a server offers as clients see it that name no namespace, or else as those of a namespace that has it. */
async function readOf(kind: (typeof KINDS)[number], id: string): Promise<ToolList> {
  const having = (namespaces.value ?? []).filter((one) => one.id && one.servers.some((each) => serverKey(each) === id));
  let found = await readItems(kind, { server: id });
  for (const one of having) {
    if (found.items.length > 0) break;
    found = await readItems(kind, { server: id, namespace: one.id ?? "" });
  }
  return found;
}

function Minute({ id }: { id: string }) {
  const { calls, errors, slowest } = pulseOf(id);
  const total = calls.reduce((sum, one) => sum + one, 0);
  return (
    <Card title="Last minute">
      <Spark values={calls} errors={errors} label={`Calls of ${id} in the last minute: ${total}`} />
      <p class="legend">
        <span>{counted(total, "call")}</span>
        <span>slowest {took(Math.max(0, ...slowest))}</span>
      </p>
    </Card>
  );
}

function Instances({ server }: { server: Heard<Server> }) {
  const all = server.instances ?? [];
  const passed = now.value - server.heardAt;
  return (
    <Card title={all.length === 1 ? "Instance" : "Instances"}>
      {all.length === 0 ? (
        <p class="faint">nothing runs</p>
      ) : (
        <ul class="instances">
          {all.map((one, index) => (
            <li key={one.key ?? index}>
              <StateMark state={one.state} silent={one.unresponsive} /> <span class="soft">{instanceText(one, passed)}</span>
              {one.differs?.length ? <p class="faint small">differs in {one.differs.join(", ")}</p> : null}
              {one.retryInMs != null && <p class="faint small">tried again in {age(Math.max(0, one.retryInMs - passed))}</p>}
              {one.error && <p class="bad small break">{one.error.text}</p>}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function instanceText(one: Instance, passed: number): string {
  const parts = [
    one.pid != null && `pid ${one.pid}`,
    one.memoryBytes != null && size(one.memoryBytes),
    one.clients != null && counted(one.clients, "client"),
    `for ${age(one.sinceMs + passed)}`,
    one.restarts && counted(one.restarts, "restart"),
    one.protocol?.revision,
  ];
  return parts.filter(Boolean).join(" · ");
}

function History({ id }: { id: string }) {
  const states = histories.value.get(id) ?? [];
  return (
    <Card title="States" side={<span class="faint small">since this page was opened</span>}>
      <ul class="history">
        {states.map((one) => (
          <li key={one.at}>
            <span class="faint">{clock(one.at)}</span> <StateMark state={one.state} />
          </li>
        ))}
      </ul>
    </Card>
  );
}
