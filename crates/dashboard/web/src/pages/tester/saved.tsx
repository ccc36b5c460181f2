// Arguments to come back to: those the user named, for as long as the tab lives, and those of the last calls.

import { useState } from "preact/hooks";
import { Badge, Button, Card } from "../../ui/basics.tsx";
import { span } from "./result.tsx";
import { runs, type Run } from "./run.ts";

interface Saved {
  name: string;
  text: string;
}

const key = (tool: string) => `manifold.arguments.${tool}`;

function read(tool: string): Saved[] {
  try {
    const list = JSON.parse(sessionStorage.getItem(key(tool)) ?? "[]") as Saved[];
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

interface Props {
  tool: string;
  text: string;
  onText: (text: string) => void;
  onShow: (run: Run) => void;
}

export function Kept({ tool, text, onText, onShow }: Props) {
  const [saved, setSaved] = useState(() => read(tool));
  const [name, setName] = useState("");
  const keep = (list: Saved[]) => {
    sessionStorage.setItem(key(tool), JSON.stringify(list));
    setSaved(list);
  };
  const mine = runs.value.filter((one) => one.tool === tool);
  return (
    <Card title="Arguments to come back to">
      <div class="kept">
        <form
          class="kept-new"
          onSubmit={(event) => {
            event.preventDefault();
            keep([{ name: name.trim() || `arguments ${saved.length + 1}`, text }, ...saved.filter((one) => one.name !== name.trim())]);
            setName("");
          }}
        >
          <input class="input" aria-label="Save under" placeholder="save these as …" value={name} onInput={(event) => setName(event.currentTarget.value)} />
          <button class="button" type="submit">
            Save
          </button>
        </form>
        {saved.length + mine.length === 0 && <p class="faint small">What you save stays until the tab is closed; what you call is listed here as well.</p>}
        <ul class="kept-list">
          {saved.map((one) => (
            <li key={one.name}>
              <Badge>saved</Badge>
              <span class="clip" title={one.text}>
                {one.name}
              </span>
              <Button look="small" aria-label={`Use ${one.name}`} run={() => onText(one.text)}>
                Use
              </Button>
              <Button look="quiet small" aria-label={`Forget ${one.name}`} run={() => keep(saved.filter((other) => other !== one))}>
                ✕
              </Button>
            </li>
          ))}
          {mine.map((one, at) => (
            <li key={runs.value.length - at}>
              <Badge tone={one.outcome?.is === "result" ? "good" : "bad"}>{one.outcome?.is ?? ""}</Badge>
              <code class="clip" title={one.text}>
                {one.text.replace(/\s+/g, " ")}
              </code>
              <span class="faint small">{span(one.tookMs ?? 0)}</span>
              <Button look="small" aria-label={`Use the arguments of call ${mine.length - at}`} run={() => onText(one.text)}>
                Use
              </Button>
              <Button look="small" aria-label={`Show the result of call ${mine.length - at}`} run={() => onShow(one)}>
                Show
              </Button>
            </li>
          ))}
        </ul>
      </div>
    </Card>
  );
}
