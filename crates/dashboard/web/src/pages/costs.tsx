// What the definitions of tools cost whoever reads them: bytes exactly, tokens about.

import { exact } from "../format.ts";
import { go, href, route, setQuery } from "../router.ts";
import { seenOf } from "../store.ts";
import type { ListedItem } from "../types.ts";
import { Bar, Card, Empty, Skeleton } from "../ui/basics.tsx";
import { Filter, fits } from "../ui/filter.tsx";
import { NamespaceChoice } from "../ui/namespace.tsx";
import { Table } from "../ui/table.tsx";
import { Missing, useTools } from "./tools.tsx";

/** A token is another thing to each model; a quarter of the bytes is near enough to compare by. */
const BYTES_PER_TOKEN = 4;

interface Share {
  server: string;
  tools: number;
  bytes: number;
}

export function Costs() {
  const { query } = route.value;
  const [filter, namespace] = [query.get("q") ?? "", query.get("namespace") ?? ""];
  const list = useTools(namespace);
  const items = list?.items ?? [];
  const total = items.reduce((sum, one) => sum + one.bytes, 0);
  const shares = byServer(items);
  const shown = items.filter((one) => fits(filter, one.name, one.server)).sort((a, b) => b.bytes - a.bytes);
  return (
    <div class="page">
      <div class="page-head">
        <h1>Costs</h1>
        <NamespaceChoice words="of a list for" name="Namespace" namespace={namespace} onChoose={(namespace) => setQuery({ q: filter, namespace })} />
      </div>
      {list && <Missing list={list} />}
      <div class="figures">
        <p class="figure">
          <b>{list ? exact(total) : "–"}</b>
          <span>bytes of definitions</span>
        </p>
        <p class="figure">
          <b>{list ? `≈ ${exact(tokens(total))}` : "–"}</b>
          <span>tokens, at bytes/{BYTES_PER_TOKEN}: an estimate</span>
        </p>
        <p class="figure">
          <b>{list ? exact(items.length) : "–"}</b>
          <span>tools in one list</span>
        </p>
        <p class="figure">
          <b>{list ? exact(items.length > 0 ? Math.round(total / items.length) : 0) : "–"}</b>
          <span>bytes per tool</span>
        </p>
      </div>
      <Card title="By server" flush>
        {!list ? (
          <Skeleton rows={4} />
        ) : (
          <Table
            label="Costs by server"
            rows={shares}
            rowKey={(one) => one.server}
            onOpen={(one) => go("servers", one.server)}
            columns={[
              { title: "Server", isWide: true, by: (one) => one.server, cell: (one) => <a href={href("servers", one.server)}>{one.server}</a> },
              { title: "Tools", isNumber: true, spare: 1, by: (one) => one.tools, cell: (one) => exact(one.tools) },
              { title: "Bytes", isNumber: true, by: (one) => one.bytes, cell: (one) => exact(one.bytes) },
              { title: "≈ Tokens", isNumber: true, by: (one) => one.bytes, cell: (one) => exact(tokens(one.bytes)) },
              { title: "Share", isNumber: true, spare: 1, cell: (one) => `${percent(one.bytes, total)}` },
              { title: "Part", spare: 2, cell: (one) => <span class="share"><Bar share={one.bytes / total} /></span> },
            ]}
            empty={<Nothing />}
          />
        )}
      </Card>
      <Card title="By tool" side={<Filter label="Filter tools" value={filter} onChange={(q) => setQuery({ q, namespace })} />} flush>
        {!list ? (
          <Skeleton rows={8} />
        ) : (
          <Table
            label="Costs by tool"
            rows={shown}
            rowKey={(one) => one.name}
            onOpen={(one) => go("tools", one.name)}
            columns={[
              { title: "Tool", isWide: true, by: (one) => one.name, cell: (one) => <a href={href("tools", one.name)}>{one.name}</a> },
              { title: "Server", spare: 2, by: (one) => one.server, cell: (one) => one.server },
              { title: "Bytes", isNumber: true, by: (one) => one.bytes, cell: (one) => exact(one.bytes) },
              { title: "≈ Tokens", isNumber: true, by: (one) => one.bytes, cell: (one) => exact(tokens(one.bytes)) },
              { title: "Share", isNumber: true, spare: 1, cell: (one) => percent(one.bytes, total) },
              { title: "Results", isNumber: true, spare: 2, by: results, cell: (one) => <span title="bytes it has answered with since this page was opened">{results(one) ? exact(results(one)) : ""}</span> },
              { title: "Part", spare: 2, cell: (one) => <span class="share"><Bar share={one.bytes / total} /></span> },
            ]}
            empty={items.length > 0 ? <Empty title="No tool fits the filter" /> : <Nothing />}
          />
        )}
      </Card>
    </div>
  );
}

function Nothing() {
  return (
    <Empty title="No tools, no costs">
      <p>
        <code>manifold add</code> puts a server into the config.
      </p>
    </Empty>
  );
}

function byServer(items: ListedItem[]): Share[] {
  const all = new Map<string, Share>();
  for (const one of items) {
    const share = all.get(one.server) ?? { server: one.server, tools: 0, bytes: 0 };
    all.set(one.server, { ...share, tools: share.tools + 1, bytes: share.bytes + one.bytes });
  }
  return [...all.values()].sort((a, b) => b.bytes - a.bytes);
}

function results(one: ListedItem): number {
  return seenOf(one.server, one.original).bytes;
}

function tokens(bytes: number): number {
  return Math.round(bytes / BYTES_PER_TOKEN);
}

function percent(part: number, total: number): string {
  return total === 0 ? "" : `${((100 * part) / total).toFixed(1)} %`;
}
