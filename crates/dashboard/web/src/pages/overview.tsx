// What is wrong comes first, with what mends it; then how much there is and how busy it is.

import { age, clock, counted, exact, took } from "../format.ts";
import { orderServer, signIn } from "../orders.ts";
import { problems, type Wrong } from "../problems.ts";
import { go, href } from "../router.ts";
import { about, audit, clients, gateway, lastCalls, now, pulseOf, servers, toolCount } from "../store.ts";
import { serverKey } from "../types.ts";
import { Badge, Button, Card, Empty, Prose, Skeleton } from "../ui/basics.tsx";
import { Spark } from "../ui/spark.tsx";
import { Table } from "../ui/table.tsx";

export function Overview() {
  const isKnown = servers.value !== null;
  return (
    <div class="page">
      <div class="page-head">
        <h1>Overview</h1>
      </div>
      <Problems isKnown={isKnown} />
      <Figures />
      <div class="columns">
        <div class="page">
          <Busy />
          <LastCalls />
        </div>
        <div class="page">
          <Daemon />
          <Changes />
        </div>
      </div>
    </div>
  );
}

function Problems({ isKnown }: { isKnown: boolean }) {
  const found = problems.value;
  const errors = found.filter((one) => one.isError).length;
  const side = found.length > 0 && <Badge tone={errors > 0 ? "bad" : "busy"}>{counted(found.length, "problem")}</Badge>;
  return (
    <Card title="Problems" side={side} flush>
      {!isKnown ? (
        <p class="fine">
          <span class="skeleton" />
        </p>
      ) : servers.value?.length === 0 ? (
        <Empty title="No servers yet">
          <p>
            <code>manifold add</code> puts one into the config, <code>manifold import</code> takes over those of your other programs.
          </p>
        </Empty>
      ) : found.length === 0 ? (
        <p class="fine good">
          <span aria-hidden="true">✓</span> nothing is wrong
        </p>
      ) : (
        <ul class="wrongs">
          {found.map((one) => (
            <li key={`${one.whose} ${one.what}`}>
              <span class={`state sign ${one.isError ? "bad" : "busy"}`}>
                <i aria-hidden="true">{one.isError ? "✗" : "◌"}</i>
                {one.isError ? "error" : "warning"}
              </span>
              <div>
                <p>
                  {one.server ? <a href={href("servers", one.whose)}>{one.whose}</a> : <b>{one.whose}</b>}
                  {one.server?.sinceMs != null && <span class="faint small"> for {age(one.server.sinceMs + now.value - one.server.heardAt)}</span>}
                </p>
                <p>
                  <Prose text={one.what} />
                </p>
                {one.hint && (
                  <p class="soft small">
                    → <Prose text={one.hint} />
                  </p>
                )}
              </div>
              <Mending wrong={one} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Mending({ wrong }: { wrong: Wrong }) {
  const { server, mend, whose } = wrong;
  if (mend === "restart" && server)
    return (
      <Button run={() => orderServer(server, "restart")} needs="act" look="primary">
        Restart {whose}
      </Button>
    );
  if (mend === "login" && server)
    return (
      <Button run={() => signIn(server)} needs="act" look="primary">
        Sign in to {whose}
      </Button>
    );
  if (mend === "logs")
    return (
      <Button run={() => go("logs", undefined, { server: whose })} aria-label={`See what it wrote: ${whose}`}>
        See what it wrote
      </Button>
    );
  if (mend === "recordings") return <Button run={() => go("recordings")}>Open the recordings</Button>;
  if (mend === "config") return <Button run={() => go("config", undefined, wrong.line ? { line: String(wrong.line) } : undefined)}>Open the config</Button>;
  return null;
}

function Figures() {
  const known = servers.value;
  const ready = known?.filter((one) => one.state === "ready").length ?? 0;
  const pulse = pulseOf();
  const perSecond = pulse.calls.slice(-10).reduce((sum, one) => sum + one, 0) / 10;
  const total = known?.reduce((sum, one) => sum + (one.calls?.total ?? 0), 0) ?? 0;
  const failed = known?.reduce((sum, one) => sum + (one.calls?.failed ?? 0), 0) ?? 0;
  return (
    <div class="figures">
      <Figure href={href("servers")} number={known && known.length} what={`servers, ${ready} ready`} />
      <Figure href={href("tools")} number={known && toolCount.value} what="tools" />
      <Figure href={href("clients")} number={clients.value && clients.value.length} what="clients" />
      <Figure href={href("traffic")} number={known && perSecond.toFixed(1)} what="calls/s" />
      <Figure href={href("traffic")} number={known && exact(total)} what={`calls, ${exact(failed)} failed`} />
    </div>
  );
}

function Figure({ href: address, number, what }: { href: string; number: number | string | null; what: string }) {
  return (
    <a class="figure" href={address}>
      <b>{number ?? "–"}</b>
      <span>{what}</span>
    </a>
  );
}

function Busy() {
  const { calls, errors, slowest } = pulseOf();
  const [total, failed] = [calls, errors].map((row) => row.reduce((sum, one) => sum + one, 0));
  return (
    <Card title="Last minute">
      <Spark values={calls} errors={errors} height={88} label={`Calls of the last minute: ${total}, ${failed} failed`} />
      <p class="legend">
        <span>
          {counted(total ?? 0, "call")}, <span class={failed ? "bad" : ""}>{failed} failed</span>
        </span>
        <span>slowest {took(Math.max(0, ...slowest))}</span>
        <span>most {Math.max(...calls)}/s</span>
      </p>
    </Card>
  );
}

function LastCalls() {
  return (
    <Card title="Last calls" side={<a href={href("traffic")}>Traffic</a>} flush>
      <Table
        label="Last calls"
        rows={lastCalls.value}
        rowKey={(one) => one.number}
        onOpen={(one) => go("traffic", undefined, { call: String(one.number) })}
        columns={[
          { title: "Time", spare: 1, cell: (one) => <span class="faint">{clock(one.heardAt)}</span> },
          { title: "What", isWide: true, cell: (one) => one.tool ?? one.method },
          { title: "Server", spare: 2, cell: (one) => one.server && serverKey(one.server) },
          { title: "Status", cell: (one) => <span class={one.outcome === "ok" ? "good" : "bad"}>{one.outcome}</span> },
          { title: "Took", isNumber: true, cell: (one) => took(one.tookUs) },
        ]}
        empty={
          <Empty title="No calls since this page was opened">
            <p>
              <a href={href("tools")}>Try a tool</a>, or let a client call one.
            </p>
          </Empty>
        }
      />
    </Card>
  );
}

function Daemon() {
  const [one, more] = [gateway.value, about.value];
  if (!one) return <Card title="Gateway" flush children={<Skeleton rows={4} />} />;
  const old = (clients.value ?? []).filter((each) => each.shim && each.shim !== one.version);
  return (
    <Card title="Gateway">
      <dl class="members">
        <dt>version</dt>
        <dd>
          {one.version}
          {one.build && <span class="faint"> {one.build}</span>}
        </dd>
        <dt>runs as</dt>
        <dd>
          {more?.kind ?? "gateway"}
          {one.pid && <span class="faint"> pid {one.pid}</span>}
        </dd>
        <dt>for</dt>
        <dd>{one.uptimeMs != null ? age(one.uptimeMs + now.value - one.heardAt) : "–"}</dd>
        <dt>config</dt>
        <dd>
          <a href={href("config")}>{more?.config ?? "built in"}</a>
        </dd>
        {old.length > 0 && (
          <>
            <dt>old shims</dt>
            <dd>
              <a href={href("clients")}>{old.map((each) => `${each.name ?? `client ${each.id}`} (${each.shim})`).join(", ")}</a>
            </dd>
          </>
        )}
        {one.listeners.map((each) => (
          <>
            <dt>{each.transport}</dt>
            <dd>
              {each.address ?? "this machine"}
              {each.needsToken && <span class="faint"> wants a token</span>}
            </dd>
          </>
        ))}
      </dl>
    </Card>
  );
}

function Changes() {
  return (
    <Card title="Last changes" flush>
      <Table
        label="Last changes"
        rows={audit.value.slice(0, 8)}
        rowKey={(one) => `${one.time} ${one.verb} ${one.target}`}
        columns={[
          { title: "Time", cell: (one) => <span class="faint">{clock(one.time)}</span> },
          { title: "What", isWide: true, cell: (one) => `${one.verb} ${one.target ?? ""}` },
          { title: "By", spare: 1, cell: (one) => <span class="soft">{one.actor.face}</span> },
          { title: "", cell: (one) => <span class={one.outcome === "done" ? "good" : "bad"}>{one.outcome}</span> },
        ]}
        empty={<Empty title="Nobody has changed anything yet" />}
      />
    </Card>
  );
}
