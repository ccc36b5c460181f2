// What a server asks in the middle of a call, answered where the call was made.

import { useMemo, useState } from "preact/hooks";
import { shapeOf } from "../../form/model.ts";
import { beginning, readBox } from "../../form/values.ts";
import { Form } from "../../form/form.tsx";
import { JsonView } from "../../json/view.tsx";
import { Button, Card } from "../../ui/basics.tsx";
import { answer, type Question, type Running } from "./run.ts";

export function Questions({ running }: { running: Running }) {
  return (
    <>
      {running.run.value.questions.map((one) => (
        <Asked key={one.id} running={running} question={one} />
      ))}
    </>
  );
}

function Asked({ running, question }: { running: Running; question: Question }) {
  const { params } = question;
  const isElicitation = question.method === "elicitation/create";
  const message = typeof params.message === "string" ? params.message : "";
  const decline = () => answer(running, question, isElicitation ? '{"action":"decline"}' : undefined);
  const title = `${question.server ?? "The server"} asks`;
  if (!isElicitation) return <Other running={running} question={question} title={title} />;
  if (typeof params.url === "string") {
    return (
      <Card title={title}>
        <div class="asked">
          <p class="break">{message}</p>
          <p>
            It wants you to visit <code class="break">{params.url}</code>. Open it yourself if you trust the server.
          </p>
          <div class="buttons">
            <Button look="primary" needs="act" run={() => answer(running, question, '{"action":"accept"}')}>
              I was there
            </Button>
            <Button run={decline}>Decline</Button>
          </div>
        </div>
      </Card>
    );
  }
  return <Fields running={running} question={question} title={title} message={message} decline={decline} />;
}

interface Props {
  running: Running;
  question: Question;
  title: string;
}

function Fields({ running, question, title, message, decline }: Props & { message: string; decline: () => Promise<void> }) {
  const shape = useMemo(() => shapeOf(question.params.requestedSchema), [question.id]);
  const [text, setText] = useState(() => beginning(shape, true));
  const [flaws, setFlaws] = useState<ReadonlyMap<string, string>>(new Map());
  const onFlaw = (path: string, flaw: string | undefined) =>
    setFlaws((known) => {
      const next = new Map(known);
      if (flaw) next.set(path, flaw);
      else next.delete(path);
      return next;
    });
  return (
    <Card title={title}>
      <div class="asked">
        <p class="break">{message}</p>
        <Form shape={shape} text={text} onText={setText} onFlaw={onFlaw} />
        <div class="buttons">
          <Button look="primary" needs="act" disabled={flaws.size > 0} run={() => answer(running, question, `{"action":"accept","content":${text}}`)}>
            Answer
          </Button>
          <Button run={decline}>Decline</Button>
          <Button look="quiet" run={() => answer(running, question, '{"action":"cancel"}')}>
            Not now
          </Button>
        </div>
      </div>
    </Card>
  );
}

/** A question that has no form: a model is to be asked, say. The answer is typed as JSON. */
function Other({ running, question, title }: Props) {
  const [text, setText] = useState("");
  const read = readBox(text);
  return (
    <Card title={title} side={<code>{question.method}</code>}>
      <div class="asked">
        <JsonView label="What is asked" text={JSON.stringify(question.params)} lines={12} />
        <label class="field">
          <span>Result, as JSON</span>
          <textarea class="area" rows={4} value={text} aria-invalid={text !== "" && "flaw" in read} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        {text !== "" && "flaw" in read && <p class="bad small">{read.flaw}</p>}
        <div class="buttons">
          <Button look="primary" needs="act" disabled={"flaw" in read} run={() => answer(running, question, "raw" in read ? read.raw : undefined)}>
            Answer
          </Button>
          <Button run={() => answer(running, question)}>Decline</Button>
        </div>
      </div>
    </Card>
  );
}
