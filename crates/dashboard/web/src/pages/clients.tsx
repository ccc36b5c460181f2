// Who is connected, and which programs of this machine could be.

import { useSignal } from "@preact/signals";
import { api } from "../api.ts";
import { age, counted } from "../format.ts";
import { href, route } from "../router.ts";
import { clients, type Heard, now } from "../store.ts";
import type { Client, Principal } from "../types.ts";
import { Button, Empty, Skeleton } from "../ui/basics.tsx";
import { confirm } from "../ui/dialog.tsx";
import { Filter, fits, keepFilter } from "../ui/filter.tsx";
import { Table } from "../ui/table.tsx";
import { toast } from "../ui/toast.tsx";
import { Setup } from "./setup.tsx";

export function Clients() {
  const filter = route.value.query.get("q") ?? "";
  const open = useSignal<number | null>(null);
  const all = clients.value;
  const rows = (all ?? []).filter((one) => fits(filter, one.name, one.version, one.namespace ?? "all servers", one.transport, one.cwd));
  const chosen = all?.find((one) => one.id === open.value);
  return (
    <div class="page">
      <div class="page-head">
        <h1>
          Clients {all && <span class="faint">{counted(all.length, "client")}</span>}
        </h1>
        <Filter label="Filter clients" value={filter} onChange={keepFilter} />
      </div>
      <div class="card">
        {!all ? (
          <Skeleton rows={4} />
        ) : (
          <Table
            label="Clients"
            rows={rows}
            rowKey={(one) => one.id}
            onOpen={(one) => (open.value = open.value === one.id ? null : one.id)}
            columns={[
              { title: "Id", isNumber: true, spare: 2, by: (one) => one.id, cell: (one) => <span class="faint">{one.id}</span> },
              {
                title: "Name",
                by: (one) => one.name ?? "",
                cell: (one) => (
                  <>
                    <b>{one.name ?? "(has not said)"}</b> <span class="faint">{one.version}</span>
                  </>
                ),
              },
              { title: "Folder", isWide: true, spare: 3, cell: (one) => <span class="soft mono">{one.cwd}</span> },
              { title: "By", spare: 1, by: (one) => one.transport ?? "", cell: (one) => <span class="soft">{one.transport}</span> },
              { title: "Namespace", spare: 1, by: (one) => one.namespace ?? "", cell: (one) => (one.namespace === null ? "all servers" : <a href={href("namespaces", one.namespace)}>{one.namespace}</a>) },
              { title: "Revision", spare: 2, cell: (one) => <span class="soft">{one.protocol?.revision}</span> },
              { title: "Calls", isNumber: true, spare: 2, by: (one) => one.callsInFlight ?? 0, cell: (one) => one.callsInFlight || "" },
              { title: "Since", isNumber: true, by: (one) => one.connectedMs, cell: (one) => <span class="faint">{since(one)}</span> },
              {
                title: "",
                cell: (one) => (
                  <Button look="small danger" needs="act" aria-label={`Disconnect ${one.name ?? "client"} ${one.id}`} run={() => disconnect(one)}>
                    Disconnect
                  </Button>
                ),
              },
            ]}
            empty={
              all.length === 0 ? (
                <Empty title="Nobody is connected">
                  <p>
                    <code>manifold install</code> puts Manifold into your clients.
                  </p>
                </Empty>
              ) : (
                <Empty title="No client fits the filter" />
              )
            }
          />
        )}
      </div>
      {chosen && <Detail client={chosen} />}
      <Setup />
    </div>
  );
}

function Detail({ client }: { client: Heard<Client> }) {
  const members: [string, unknown][] = [
    ["number", client.id],
    ["namespace", client.namespace ?? "all servers"],
    ["by", client.transport],
    ["revision", client.protocol?.revision],
    ["era", client.protocol?.era],
    ["pid", client.pid],
    ["folder", client.cwd],
    ["shim", client.shim],
    ["in flight", client.callsInFlight],
    ["who", client.principal && principalText(client.principal)],
    ["for", since(client)],
  ];
  return (
    <section class="card">
      <header>
        <h2>
          {client.name ?? "(has not said)"} {client.version}
        </h2>
      </header>
      <dl class="members body">
        {members.map(
          ([name, value]) =>
            value != null && (
              <>
                <dt>{name}</dt>
                <dd>{String(value)}</dd>
              </>
            ),
        )}
      </dl>
    </section>
  );
}

function since(one: Heard<Client>): string {
  return age(one.connectedMs + now.value - one.heardAt);
}

function principalText(principal: Principal): string {
  if (principal.type === "local") return "somebody on this machine";
  if (principal.type === "token") return `token ${principal.name ?? "without a name"}`;
  return principal.type === "subject" ? `${principal.subject} of ${principal.issuer}` : "unknown";
}

async function disconnect(one: Client): Promise<void> {
  const name = one.name ?? `client ${one.id}`;
  if (!(await confirm(`Disconnect ${name}?`, "Its calls in flight are cancelled. It may come back by itself.", "Disconnect"))) return;
  await api.del(`/v1/clients/${one.id}`);
  toast(`${name} is disconnected`);
}
