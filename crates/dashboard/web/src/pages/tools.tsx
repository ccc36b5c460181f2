// The tools, as clients see them. A row leads to the tester.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { counted, size } from "../format.ts";
import { go, href, route, setQuery } from "../router.ts";
import { catalogChanges, readItems, type ToolList } from "../store.ts";
import { Badge, Button, Empty, Prose, said, Skeleton } from "../ui/basics.tsx";
import { Filter, fits } from "../ui/filter.tsx";
import { NamespaceChoice } from "../ui/namespace.tsx";
import { Table } from "../ui/table.tsx";

export function Tools() {
  const { query } = route.value;
  const [filter, namespace] = [query.get("q") ?? "", query.get("namespace") ?? ""];
  const list = useTools(namespace);
  const rows = (list?.items ?? []).filter((one) => fits(filter, one.name, one.server, one.description));
  return (
    <div class="page">
      <div class="page-head">
        <h1>
          Tools {list && <span class="faint">{counted(list.items.length, "tool")}</span>}
        </h1>
        <NamespaceChoice words="as" name="Namespace" namespace={namespace} onChoose={(namespace) => setQuery({ q: filter, namespace })} />
        <Filter label="Filter tools" value={filter} onChange={(q) => setQuery({ q, namespace })} />
      </div>
      {list && <Missing list={list} />}
      <div class="card">
        {!list ? (
          <Skeleton rows={10} />
        ) : (
          <Table
            label="Tools"
            rows={rows}
            rowKey={(one) => one.name}
            onOpen={(one) => go("tools", one.name)}
            columns={[
              { title: "Name", by: (one) => one.name, cell: (one) => <a href={href("tools", one.name)}>{one.name}</a> },
              { title: "Server", spare: 1, by: (one) => one.server, cell: (one) => <a href={href("servers", one.server)}>{one.server}</a> },
              { title: "Size", isNumber: true, spare: 1, by: (one) => one.bytes, cell: (one) => <span title={`${one.bytes} bytes of definition`}>{size(one.bytes)}</span> },
              { title: "Description", isWide: true, spare: 2, cell: (one) => <span class="soft">{one.description}</span> },
            ]}
            empty={
              list.items.length > 0 ? (
                <Empty title="No tool fits the filter" />
              ) : (
                <Empty title="No tools">
                  <p>
                    No server has given any. <code>manifold doctor</code> says what is wrong, if anything is.
                  </p>
                </Empty>
              )
            }
          />
        )}
      </div>
    </div>
  );
}

/** Servers whose tools are not in the list, and why. */
export function Missing({ list }: { list: ToolList }) {
  if (list.failed.length + list.starting.length === 0) return null;
  return (
    <div class="note is-busy">
      {list.starting.length > 0 && (
        <p>
          <Badge tone="busy">starting</Badge> {list.starting.join(", ")}: their tools come when they are ready.
        </p>
      )}
      {list.failed.map((one) => (
        <p key={one.server}>
          <Badge tone="bad">failed</Badge> {one.server}: <Prose text={one.message} />{" "}
          <Button look="small" run={() => go("servers", one.server)}>
            Open {one.server}
          </Button>
        </p>
      ))}
    </div>
  );
}

/** Reads the tools of a namespace, and again when they change. */
export function useTools(namespace = ""): ToolList | null {
  const list = useSignal<ToolList | null>(null);
  const changes = catalogChanges.value;
  useEffect(() => {
    let isWanted = true;
    // Many changes come at once when servers start; the list is read when they have come.
    const timer = setTimeout(
      () => {
        readItems("tools", namespace ? { namespace } : {})
          .then((found) => {
            if (isWanted) list.value = found;
          })
          .catch((error: unknown) => isWanted && said(error));
      },
      list.value ? 400 : 0,
    );
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [namespace, changes]);
  return list.value;
}
