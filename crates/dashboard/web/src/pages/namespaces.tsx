// The namespaces: which servers each shows, what of them, and by which rule.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api } from "../api.ts";
import { counted } from "../format.ts";
import { go, href, route } from "../router.ts";
import { config, namespaces, readItems } from "../store.ts";
import type { ListedItem, Namespace, NamespacePermissions, PermissionRule } from "../types.ts";
import { serverKey } from "../types.ts";
import { Button, Card, Empty, said, Skeleton } from "../ui/basics.tsx";
import { Filter, fits } from "../ui/filter.tsx";
import { Table } from "../ui/table.tsx";
import { toast } from "../ui/toast.tsx";

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

interface Cell {
  item: ListedItem;
  rule: PermissionRule | undefined;
  isAllowed: boolean;
  /** What decided. */
  by: string;
}

/** Tool by tool: may it be used, and which rule says so. */
function Matrix({ namespace }: { namespace: Namespace }) {
  const items = useSignal<ListedItem[] | null>(null);
  const permissions = useSignal<NamespacePermissions | null>(null);
  /** The names that clients of the namespace are shown, where all of them are known. */
  const listed = useSignal<Set<string> | null>(null);
  const filter = useSignal("");
  const id = namespace.id ?? "";
  const load = async () => {
    const [found, own, all] = await Promise.all([
      // What a namespace hides is not in its own list, so all tools are read and those of its servers are kept.
      readItems("tools").catch(() => null),
      readItems("tools", id ? { namespace: id } : {}).catch(() => null),
      api.get<NamespacePermissions[]>(`/v1/permissions?namespace=${encodeURIComponent(id)}`),
    ]);
    const having = new Set(namespace.servers.flatMap((one) => [one.id, serverKey(one)]));
    const known = new Map([...(found?.items ?? []), ...(own?.items ?? [])].filter((one) => having.has(one.server)).map((one) => [one.name, one]));
    listed.value = own && own.failed.length + own.starting.length === 0 ? new Set(own.items.map((one) => one.name)) : null;
    items.value = [...known.values()];
    permissions.value = all.find((one) => one.namespace === id) ?? all[0] ?? null;
    // What a rule denies everywhere stands in no list; the rule itself says that there is such a tool.
    for (const rule of permissions.value?.rules ?? []) {
      const isSeen = items.value.some((one) => one.server === rule.server && one.original === rule.name);
      if (rule.item === "tool" && !isSeen && having.has(rule.server)) items.value = [...items.value, { name: `${rule.server}__${rule.name}`, original: rule.name, server: rule.server, bytes: 0 }];
    }
  };
  const revision = config.value?.revision;
  useEffect(() => void load().catch(said), [id, revision, namespace.servers.length]);
  const cells = (items.value ?? []).map((item) => checked(decide(item, permissions.value), listed.value));
  const unlisted = (permissions.value?.rules ?? []).filter((rule) => !cells.some((one) => one.rule === rule));
  const shown = cells.filter((one) => fits(filter.value, one.item.name, one.item.server, one.isAllowed ? "allowed" : "denied"));
  const set = async (cell: Cell, allow: boolean | null) => {
    const { revision: current } = await api.get<{ revision: string }>("/v1/config").catch(() => ({ revision: "" }));
    const body = { namespace: id, item: "tool", server: cell.item.server, name: cell.item.original, allow };
    await api.put("/v1/permissions", body, current ? { headers: { "If-Match": `"${current.replaceAll('"', "")}"` } } : {});
    toast(allow === null ? `${cell.item.original} is as the default says` : `${cell.item.original} is ${allow ? "allowed" : "denied"} in ${id}`);
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
            rowKey={(one) => `${one.item.server} ${one.item.name}`}
            columns={[
              { title: "May be used", spare: 1, by: (one) => Number(one.isAllowed), cell: (one) => <Verdict cell={one} /> },
              { title: "Tool", by: (one) => one.item.original, isWide: true, cell: (one) => (
                  <>
                    <a href={href("tools", one.item.name)}>{one.item.original}</a>
                    <span class="phone-only">
                      <Verdict cell={one} />
                    </span>
                  </>
                ),
              },
              { title: "Server", spare: 1, by: (one) => one.item.server, cell: (one) => one.item.server },
              { title: "Because", spare: 1, by: (one) => one.by, cell: (one) => <span class="soft">{one.by}</span> },
              {
                title: "",
                cell: (one) => (
                  <span class="row-buttons">
                    <Button look="small" needs="edit" disabled={one.rule?.allow === true} aria-label={`Allow ${one.item.original} of ${one.item.server}`} run={() => set(one, true)}>
                      Allow
                    </Button>
                    <Button look="small" needs="edit" disabled={one.rule?.allow === false} aria-label={`Deny ${one.item.original} of ${one.item.server}`} run={() => set(one, false)}>
                      Deny
                    </Button>
                    <Button look="small p1" needs="edit" disabled={!one.rule} aria-label={`Default for ${one.item.original} of ${one.item.server}`} run={() => set(one, null)}>
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
          Rules for what no server offers now: {unlisted.map((rule) => `${rule.allow ? "allow" : "deny"} ${rule.item} ${rule.server}/${rule.name}`).join(", ")}
        </p>
      )}
    </Card>
  );
}

function Verdict({ cell }: { cell: Cell }) {
  return <span class={cell.isAllowed ? "allow" : "deny"}>{cell.isAllowed ? "✓ allowed" : "✗ denied"}</span>;
}

/** A rule for the tool decides; else the default of its server; else that of the namespace. */
export function decide(item: ListedItem, permissions: NamespacePermissions | null): Cell {
  const rule = permissions?.rules.find((one) => one.item === "tool" && one.server === item.server && one.name === item.original);
  if (rule) return { item, rule, isAllowed: rule.allow, by: `a rule ${rule.allow ? "allows" : "denies"} ${rule.name}` };
  const byServer = permissions?.serverDefaults?.[item.server];
  if (byServer !== undefined) return { item, rule, isAllowed: byServer, by: `the default of ${item.server}` };
  return { item, rule, isAllowed: !permissions?.denyByDefault, by: "the default of the namespace" };
}

/** What the entry of a server hides, no rule of a namespace brings back. */
function checked(cell: Cell, listed: Set<string> | null): Cell {
  if (!listed || !cell.isAllowed || listed.has(cell.item.name)) return cell;
  return { ...cell, isAllowed: false, by: `allowedTools or deniedTools of ${cell.item.server}` };
}
