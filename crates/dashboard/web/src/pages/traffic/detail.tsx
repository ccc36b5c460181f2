// One row in full: what passed on both hops, and what can be done with it.

import { took } from "../../format.ts";
import { diff } from "../../json/diff.ts";
import { JsonView, Plain } from "../../json/view.tsx";
import { go } from "../../router.ts";
import { mayAct } from "../../session.ts";
import { Button, Card } from "../../ui/basics.tsx";
import { handed } from "../tester/run.ts";
import { bodyOf, callOf, messageOf, tookOf, type Frame, type Row } from "./log.ts";
import { toneOf, Waterfall } from "./rows.tsx";

interface Props {
  row: Row;
  isMarked: boolean;
  onMark: () => void;
  onPin: () => void;
  onClose: () => void;
}

export function Detail({ row, isMarked, onMark, onPin, onClose }: Props) {
  const again = callOf(row);
  const [client, server] = [row.clientHop, row.serverHop];
  const facts: [string, string | undefined][] = [
    ["client", row.client],
    ["server", row.server],
    ["status", row.status],
    ["took", client && `${took(client.took / 1000)} for the client`],
    ["", server && `${took(server.took / 1000)} at the server`],
    ["", client && server && `${took(Math.max(0, client.took - server.took) / 1000)} in the gateway`],
  ];
  return (
    <Card
      title={row.call === undefined ? row.kind : `Call ${row.call}`}
      side={
        <span class="buttons">
          <Button look="small" aria-pressed={row.isPinned} title="p" run={onPin}>
            {row.isPinned ? "Unpin" : "Pin"}
          </Button>
          <Button look="small" aria-pressed={isMarked} title="m" run={onMark}>
            {isMarked ? "Unmark" : "Mark to compare"}
          </Button>
          {again && (
            <Button
              look="small"
              needs="act"
              run={() => {
                handed.set(again.tool, again.text);
                go("tools", again.tool);
              }}
            >
              Replay …
            </Button>
          )}
          <Button look="quiet small" aria-label="Close the details" run={onClose}>
            ✕
          </Button>
        </span>
      }
    >
      <div class="traffic-detail">
        <p class="mono break">{row.what}</p>
        <p class="t-bar is-large" aria-hidden="true">
          <Waterfall row={row} scale={tookOf(row) ?? 0} />
        </p>
        <dl class="members">
          {facts
            .filter(([, value]) => value)
            .map(([name, value], at) => (
              <div key={at} class="traffic-fact">
                <dt>{name}</dt>
                <dd class={name === "status" ? toneOf(value ?? "") : undefined}>{value}</dd>
              </div>
            ))}
        </dl>
        {!mayAct.value && (
          <p class="note">
            What the messages say is shown to pages opened with <code>manifold open --act</code>.
          </p>
        )}
        {row.frames.map((frame) => (
          <FrameView key={frame.n} frame={frame} start={row.start} />
        ))}
      </div>
    </Card>
  );
}

const WAYS: Record<string, string> = { "client in": "client →", "client out": "client ←", "server out": "→ server", "server in": "← server" };

function FrameView({ frame, start }: { frame: Frame; start: number }) {
  const body = bodyOf(frame);
  const way = WAYS[`${frame.hop} ${frame.dir}`] ?? frame.hop;
  return (
    <details open={frame.hop === "client" || frame.kind === "error"}>
      <summary>
        <b class="mono">{way}</b> {frame.kind} <span class="faint">{frame.tool ?? frame.method ?? ""}</span>{" "}
        <span class="faint small">
          +{took((frame.t - start) / 1000)}, {frame.bytes} bytes
          {frame.cut ? `, ${frame.cut} of them left out` : ""}
          {frame.redacted ? ", secrets were taken out" : ""}
        </span>
      </summary>
      {!body ? mayAct.value && <p class="faint small">Its message is no longer kept.</p> : "json" in body ? <JsonView label={`${way} ${frame.kind}`} text={body.json} lines={16} /> : <Plain label={`${way} ${frame.kind}`} text={body.text} />}
    </details>
  );
}

export function Compared({ rows, onClose }: { rows: [Row, Row]; onClose: () => void }) {
  const [one, other] = rows;
  return (
    <Card
      title={`Call ${one.call ?? one.number} and call ${other.call ?? other.number}`}
      side={
        <Button look="quiet small" aria-label="Close the comparison" run={onClose}>
          ✕
        </Button>
      }
    >
      <div class="traffic-detail">
        <Differences title="Requests" before={messageOf(one, "request")} after={messageOf(other, "request")} />
        <Differences title="Answers" before={messageOf(one, "answer")} after={messageOf(other, "answer")} />
      </div>
    </Card>
  );
}

function Differences({ title, before, after }: { title: string; before: string | undefined; after: string | undefined }) {
  if (before === undefined || after === undefined) return <p class="faint">{title}: not both are kept.</p>;
  const found = diff(before, after).filter((one) => one.path !== "$.id" && !one.path.includes("progressToken"));
  return (
    <section>
      <h3>
        {title} <span class="faint small">{found.length === 0 ? "are alike" : `differ in ${found.length === 1 ? "one place" : `${found.length} places`}`}</span>
      </h3>
      <ul class="traffic-diff">
        {found.map((one) => (
          <li key={one.path}>
            <code>{one.path}</code>
            {one.before !== undefined && <del>{cut(one.before)}</del>}
            {one.after !== undefined && <ins>{cut(one.after)}</ins>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function cut(text: string): string {
  return text.length > 2000 ? `${text.slice(0, 2000)} … ${text.length - 2000} more` : text;
}
