// The servers and how they do.

import { age, count, counted, size, took } from "../format.ts";
import { orderServer, restartable, signIn, startable, stoppable, wantsSignIn } from "../orders.ts";
import { go, href, route } from "../router.ts";
import { mayAct } from "../session.ts";
import { clientsOf, type Heard, now, servers, toolsOf } from "../store.ts";
import type { Server } from "../types.ts";
import { serverKey } from "../types.ts";
import { Button, Empty, said, Skeleton, StateMark } from "../ui/basics.tsx";
import { Filter, fits, keepFilter } from "../ui/filter.tsx";
import { type Column, Table } from "../ui/table.tsx";

const COLUMNS: Column<Heard<Server>>[] = [
  { title: "State", spare: 1, by: (one) => one.state, cell: (one) => <StateMark state={one.state} silent={one.unresponsive} /> },
  {
    title: "Name",
    isWide: true,
    by: serverKey,
    cell: (one) => (
      <>
        <a href={href("servers", serverKey(one))}>{serverKey(one)}</a>
        <span class="phone-only">
          <StateMark state={one.state} silent={one.unresponsive} />
        </span>
        {why(one) && (
          <span class="faint p1" title={why(one)}>
            {" "}
            {why(one)}
          </span>
        )}
      </>
    ),
  },
  { title: "Tools", isNumber: true, spare: 1, by: (one) => toolsOf(one) ?? -1, cell: (one) => toolsOf(one) },
  { title: "Calls", isNumber: true, spare: 1, by: (one) => one.calls?.total ?? 0, cell: (one) => some(one.calls?.total, count) },
  { title: "Err", isNumber: true, spare: 2, by: (one) => one.calls?.failed ?? 0, cell: (one) => <span class="bad">{some(one.calls?.failed, count)}</span> },
  { title: "P95", isNumber: true, spare: 2, by: (one) => one.calls?.p95Us ?? 0, cell: (one) => some(one.calls?.p95Us, took) },
  { title: "Mem", isNumber: true, spare: 2, by: memory, cell: (one) => some(memory(one), size) },
  { title: "Restarts", isNumber: true, spare: 3, by: restarts, cell: (one) => some(restarts(one), count) },
  { title: "Clients", isNumber: true, spare: 3, by: (one) => clientsOf(one).length, cell: (one) => some(clientsOf(one).length, count) },
  { title: "Since", isNumber: true, spare: 1, by: (one) => one.sinceMs ?? 0, cell: (one) => <span class="faint">{one.sinceMs != null && age(one.sinceMs + now.value - one.heardAt)}</span> },
  { title: "", cell: (one) => <Orders server={one} /> },
];

export function Servers() {
  const filter = route.value.query.get("q") ?? "";
  const all = servers.value;
  const rows = (all ?? []).filter((one) => fits(filter, serverKey(one), one.name, one.state, one.kind));
  const key = (pressed: string, one: Server) => {
    if (!mayAct.value) return;
    const order = { s: "start", x: "stop", r: "restart" }[pressed] as "start" | "stop" | "restart" | undefined;
    if (order) orderServer(one, order).catch(said);
  };
  return (
    <div class="page">
      <div class="page-head">
        <h1>
          Servers {all && <span class="faint">{counted(all.length, "server")}</span>}
        </h1>
        <Filter label="Filter servers" value={filter} onChange={keepFilter} />
      </div>
      <div class="card">
        {!all ? (
          <Skeleton rows={8} />
        ) : (
          <Table
            label="Servers"
            columns={COLUMNS}
            rows={rows}
            rowKey={serverKey}
            onOpen={(one) => go("servers", serverKey(one))}
            onKey={key}
            empty={
              all.length === 0 ? (
                <Empty title="No servers yet">
                  <p>
                    <code>manifold add</code> or <code>manifold import</code> puts some into the config.
                  </p>
                </Empty>
              ) : (
                <Empty title="No server fits the filter" />
              )
            }
          />
        )}
      </div>
    </div>
  );
}

/** The buttons of a server; in a list they bear its name, for who hears them one by one. */
export function Orders({ server, isAlone = false }: { server: Server; isAlone?: boolean }) {
  const key = serverKey(server);
  const look = isAlone ? "" : "small";
  const name = (word: string) => (isAlone ? word : `${word} ${key}`);
  if (!isAlone && !server.enabled)
    return (
      <Button look="small" needs="edit" aria-label={name("Enable")} run={() => orderServer(server, "enable")}>
        Enable
      </Button>
    );
  const buttons = [
    wantsSignIn(server) && (
      <Button key="login" look={isAlone ? "primary" : "small primary"} needs="act" aria-label={name("Sign in")} run={() => signIn(server)}>
        Sign in
      </Button>
    ),
    isAlone || startable(server) ? (
      <Button key="start" look={look} needs="act" disabled={!startable(server)} aria-label={name("Start")} run={() => orderServer(server, "start")}>
        Start
      </Button>
    ) : (
      <Button key="stop" look={look} needs="act" disabled={!stoppable(server)} aria-label={name("Stop")} run={() => orderServer(server, "stop")}>
        Stop
      </Button>
    ),
    isAlone && (
      <Button key="stop" needs="act" disabled={!stoppable(server)} run={() => orderServer(server, "stop")}>
        Stop
      </Button>
    ),
    <Button key="restart" look={look} needs="act" disabled={!restartable(server)} aria-label={name("Restart")} run={() => orderServer(server, "restart")}>
      Restart
    </Button>,
  ];
  return <span class="row-buttons">{buttons}</span>;
}

export function memory(server: Server): number {
  return (server.instances ?? []).reduce((sum, one) => sum + (one.memoryBytes ?? 0), 0);
}

function restarts(server: Server): number {
  return (server.instances ?? []).reduce((sum, one) => sum + (one.restarts ?? 0), 0);
}

/** Why it does not work, or why it has several processes. */
function why(server: Server): string | undefined {
  if (server.state === "disabled") return undefined;
  const error = server.fault ?? server.error;
  if (error) return error.text;
  const number = server.instances?.length ?? 0;
  return number > 1 ? counted(number, "instance") : undefined;
}

function some(number: number | null | undefined, text: (number: number) => string): string {
  return number ? text(number) : "";
}
