// The namespaces: which servers each shows, what of them, and by which rule.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api } from "../api.ts";
import { counted } from "../format.ts";
import { go, href, route } from "../router.ts";
import { config, namespaces, readItems, seenOf } from "../store.ts";
import type { ListedItem, Namespace, NamespacePermissions } from "../types.ts";
import { Button, Card, Empty, said, Skeleton } from "../ui/basics.tsx";
import { Filter, fits } from "../ui/filter.tsx";
import { Table } from "../ui/table.tsx";
import { toast } from "../ui/toast.tsx";
import { type Cell, cellsOf, decidesAny } from "./rules.ts";

export function Namespaces() {
  const all = namespaces.value;
  const { id } = route.value;
  const chosen = all?.find((one) => (one.id ?? "") === (id ?? "\0")) ?? all?.find((one) => one.id !== null);
  return (
    <div class="page">
      <div class="page-head">
        <h1>
          Namespaces {all && <span class="faint">{counted(all.length, "namespace")}</span>}
        </h1>
      </div>
      <div class="card">
        {!all ? (
          <Skeleton rows={4} />
        ) : (
          <Table
            label="Namespaces"
            rows={all}
            rowKey={(one) => one.id ?? ""}
            onOpen={(one) => one.id !== null && go("namespaces", one.id)}
            columns={[
              { title: "State", cell: (one) => <Served namespace={one} /> },
              { title: "Name", isWide: true, cell: (one) => (one.id === null ? <span class="soft">(all servers)</span> : <a href={href("namespaces", one.id)}>{one.id}</a>) },
              { title: "Servers", isNumber: true, cell: (one) => one.servers.length },
              { title: "Tools", isNumber: true, spare: 1, cell: (one) => one.lists?.tools },
              { title: "Clients", isNumber: true, spare: 1, cell: (one) => one.clients || "" },
              { title: "Rules", spare: 1, cell: (one) => <span class="soft">{rules(one)}</span> },
            ]}
            empty={<NoNamespaces />}
          />
        )}
      </div>
      {chosen ? <Matrix key={chosen.id} namespace={chosen} /> : all && all.length > 0 && <NoNamespaces />}
    </div>
  );
}

function NoNamespaces() {
  return (
    <Empty title="The config has no namespaces">
      <p>
        Every client sees every server. <code>manifold ns --help</code> says how to show some of them to some clients.
      </p>
    </Empty>
  );
}

function Served({ namespace }: { namespace: Namespace }) {
  const [sign, word, tone] = !namespace.enabled ? ["–", "disabled", "faint"] : namespace.served ? ["●", "served", "good"] : ["○", "not used", "faint"];
  return (
    <span class={`state ${tone}`}>
      <i aria-hidden="true">{sign}</i>
      {word}
    </span>
  );
}

function rules(one: Namespace): string {
  const { tools, prompts, resources, denyByDefault } = one.permissions;
  const allow = tools.allow + prompts.allow + resources.allow;
  const deny = tools.deny + prompts.deny + resources.deny;
  return `${denyByDefault ? "denies" : ""} ${allow + deny > 0 ? `+${allow} -${deny}` : ""}`.trim();
}

/** Tool by tool: may it be used, and which rule says so. */
function Matrix({ namespace }: { namespace: Namespace }) {
  const items = useSignal<ListedItem[] | null>(null);
  const permissions = useSignal<NamespacePermissions | null>(null);
  const filter = useSignal("");
  const id = namespace.id ?? "";
  const load = async () => {
    // Reading the list asks servers of which nothing is known; what they have is judged after that.
    const own = await readItems("tools", { namespace: id }).catch(() => null);
    const [found] = await api.get<NamespacePermissions[]>(`/v1/permissions?namespace=${encodeURIComponent(id)}`);
    items.value = own?.items ?? [];
    permissions.value = found ?? null;
  };
  const revision = config.value?.revision;
  useEffect(() => void load().catch(said), [id, revision, namespace.servers.length]);
  const cells = cellsOf(permissions.value, items.value ?? []);
  const unlisted = (permissions.value?.rules ?? []).filter((rule) => !decidesAny(rule, permissions.value, cells));
  const shown = cells.filter((one) => fits(filter.value, one.tool, one.server, one.isAllowed ? "allowed" : "denied"));
  const set = async (cell: Cell, allow: boolean | null) => {
    const { revision: current } = await api.get<{ revision: string }>("/v1/config").catch(() => ({ revision: "" }));
    const body = { namespace: id, item: "tool", server: cell.server, name: cell.tool, allow };
    await api.put("/v1/permissions", body, current ? { headers: { "If-Match": `"${current.replaceAll('"', "")}"` } } : {});
    toast(allow === null ? `${cell.tool} is as the default says` : `${cell.tool} is ${allow ? "allowed" : "denied"} in ${id}`);
    await load();
  };
  return (
    <Card
      title={
        <>
          {id || "(all servers)"} <span class="faint small">{permissions.value && (permissions.value.denyByDefault ? "what no rule allows is denied" : "what no rule denies is allowed")}</span>
        </>
      }
      side={<Filter label="Filter tools" value={filter.value} onChange={(text) => (filter.value = text)} />}
      flush
    >
      {namespace.description && <p class="body soft">{namespace.description}</p>}
      <div class="matrix">
        {!items.value ? (
          <Skeleton rows={6} />
        ) : (
          <Table
            label={`Permissions of ${id}`}
            rows={shown}
            rowKey={(one) => `${one.server} ${one.tool}`}
            columns={[
              { title: "May be used", spare: 1, by: (one) => Number(one.isAllowed), cell: (one) => <Verdict cell={one} /> },
              { title: "Tool", by: (one) => one.tool, isWide: true, cell: (one) => (
                  <>
                    {one.shown ? <a href={href("tools", one.shown)}>{one.tool}</a> : one.tool}
                    <span class="phone-only">
                      <Verdict cell={one} />
                    </span>
                  </>
                ),
              },
              { title: "Server", spare: 1, by: (one) => one.server, cell: (one) => one.server },
              { title: "Calls", isNumber: true, spare: 2, by: calls, cell: (one) => <span title="since this page was opened">{calls(one) || <span class="faint">none seen</span>}</span> },
              { title: "Because", spare: 1, by: (one) => one.by, cell: (one) => <span class="soft">{one.by}</span> },
              {
                title: "",
                cell: (one) => (
                  <span class="row-buttons">
                    <Button look="small" needs="edit" disabled={one.rule?.allow === true} aria-label={`Allow ${one.tool} of ${one.server}`} run={() => set(one, true)}>
                      Allow
                    </Button>
                    <Button look="small" needs="edit" disabled={one.rule?.allow === false} aria-label={`Deny ${one.tool} of ${one.server}`} run={() => set(one, false)}>
                      Deny
                    </Button>
                    <Button look="small p1" needs="edit" disabled={!one.rule} aria-label={`Default for ${one.tool} of ${one.server}`} run={() => set(one, null)}>
                      Default
                    </Button>
                  </span>
                ),
              },
            ]}
            empty={<Empty title={cells.length > 0 ? "No tool fits the filter" : "No tools are known of its servers"} />}
          />
        )}
      </div>
      {unlisted.length > 0 && (
        <p class="body soft small">
          Rules that decide about no tool that is known: {unlisted.map((rule) => `${rule.allow ? "allow" : "deny"} ${rule.item} ${rule.server}/${rule.name}`).join(", ")}
        </p>
      )}
    </Card>
  );
}

function Verdict({ cell }: { cell: Cell }) {
  return <span class={cell.isAllowed ? "allow" : "deny"}>{cell.isAllowed ? "✓ allowed" : "✗ denied"}</span>;
}

function calls(one: Cell): number {
  return seenOf(one.server, one.tool).calls;
}
