// The form of a shape. It holds no values: fields show what stands in the text and hand back a changed text. Only what is
// half typed, and no value yet, is kept here.

import { useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { isInteger, isNumber, parse, remove, set, type Node, type Path } from "../json/text.ts";
import type { Field, Kind, Shape } from "./model.ts";
import { branchOf, fresh, others, readBox, same, shown, typed, type Shown } from "./values.ts";
import "./form.css";

export interface FormProps {
  shape: Shape;
  text: string;
  onText: (text: string) => void;
  /** Told what cannot be sent as it is typed, by the field's path; nothing once it can. */
  onFlaw?: (path: string, flaw: string | undefined) => void;
}

interface Context extends FormProps {
  root: Node | undefined;
  isOff: boolean;
}

export function Form({ shape, text, onText, onFlaw }: FormProps) {
  const parsed = useMemo(() => parse(text), [text]);
  // While the text is no JSON the form shows what it last was, and waits.
  const last = useRef({ text, root: parsed.root });
  if (parsed.root) last.current = { text, root: parsed.root };
  const { root } = last.current;
  const isObject = !root || root.kind === "object";
  const context: Context = { shape, onText, text: last.current.text, root, isOff: parsed.flaw !== undefined || !isObject };
  if (onFlaw) context.onFlaw = onFlaw;
  const unknown = others(shape, root);
  return (
    <div class="form">
      {parsed.flaw && (
        <p class="note is-bad" role="status">
          The JSON cannot be read, line {parsed.flaw.line}, column {parsed.flaw.column}: {parsed.flaw.what}. The fields wait until it can.
        </p>
      )}
      {!isObject && <p class="note is-bad">Arguments are an object; the JSON is something else.</p>}
      {shape.kind.is === "object" ? (
        <Members context={context} path={[]} fields={shape.kind.fields()} isInner={false} />
      ) : (
        <FieldRow context={context} path={[]} field={{ name: "arguments", isRequired: true, shape }} />
      )}
      {unknown.length > 0 && <p class="faint small">Only in the JSON: {unknown.join(", ")}</p>}
    </div>
  );
}

interface FieldProps {
  context: Context;
  path: Path;
  field: Field;
  /** How an item of a list is called. */
  label?: string;
  onRemove?: () => void;
}

function FieldRow({ context, path, field, label = field.name, onRemove }: FieldProps) {
  const id = useId();
  const { shape, isRequired } = field;
  const view = shown(shape, context.root, context.text, path);
  const [picked, setPicked] = useState<number | null>(null);
  const at = branchAt(shape.kind, view, picked, context.text);
  const inner = shape.kind.is === "branches" ? shape.kind.branches[at]?.shape() : shape;
  const isGroup = inner !== undefined && ["object", "array", "map"].includes(inner.kind.is) && view.is !== "strange";
  const isItem = onRemove !== undefined;
  const hasTick = !isItem && inner?.kind.is !== "boolean" && (!isRequired || (inner?.kind.is === "constant" && view.is === "absent"));
  const put = (raw: string) => context.onText(set(context.text, path, raw));
  const tick = (isSet: boolean) => {
    if (isSet) put((shape.fallback === "null" ? undefined : shape.fallback) ?? fresh(inner ?? shape));
    else context.onText(remove(context.text, path));
  };
  const pick = (next: number) => {
    setPicked(next);
    const branch = shape.kind.is === "branches" ? shape.kind.branches[next]?.shape() : undefined;
    if (branch && (view.is !== "absent" || isRequired)) put(fresh(branch));
  };
  const Whole = isGroup ? "fieldset" : "div";
  const name = isGroup ? <span class="form-name" aria-hidden="true">{label}</span> : <label class="form-name" for={id}>{label}</label>;
  return (
    <Whole class="form-field">
      {isGroup && <legend class="sr">{label}</legend>}
      <div class="form-head">
        {name}
        <span class="faint small" id={`${id}-takes`}>
          {inner && inner !== shape ? inner.takes : shape.takes}
          {isRequired && !isItem && ", required"}
        </span>
        <span class="form-ticks">
          {shape.kind.is === "branches" && (
            <select class="select small" aria-label="kind" aria-describedby={`${id}-takes`} value={String(at)} disabled={context.isOff} onChange={(event) => pick(Number(event.currentTarget.value))}>
              {shape.kind.branches.map((one, index) => (
                <option key={index} value={String(index)}>
                  {one.label}
                </option>
              ))}
            </select>
          )}
          {shape.isNullable && !["choice", "boolean"].includes(shape.kind.is) && <Tick word="null" isOn={view.is === "null"} isOff={context.isOff} about={`${id}-takes`} onTick={(isOn) => (isOn ? put("null") : tick(isRequired))} />}
          {hasTick && <Tick word="set" isOn={view.is !== "absent"} isOff={context.isOff} about={`${id}-takes`} onTick={tick} />}
          {onRemove && (
            <button type="button" class="button quiet small" disabled={context.isOff} onClick={onRemove}>
              <span class="sr">Remove {label}</span>
              <span aria-hidden="true">✕</span>
            </button>
          )}
        </span>
      </div>
      {shape.about && <p class="form-about" id={`${id}-about`}>{shape.about}</p>}
      {view.is === "strange" ? (
        <>
          <Box context={context} id={id} path={path} raw={view.raw} isRequired={isRequired} why="" />
          <p class="busy small">The schema takes another kind of value here: {shape.takes}.</p>
        </>
      ) : view.is === "null" ? (
        <input class="input" id={id} value="null" disabled aria-describedby={`${id}-takes`} />
      ) : (
        inner && <Editor context={context} shape={inner} path={path} id={id} label={label} isRequired={isRequired} outer={shape} />
      )}
    </Whole>
  );
}

function branchAt(kind: Kind, view: Shown, picked: number | null, text: string): number {
  if (kind.is !== "branches") return 0;
  if (view.is !== "value") return picked ?? 0;
  // What was chosen holds as long as it can: two branches may look alike.
  const found = branchOf(kind, view.node, text);
  if (picked === null || picked === found) return Math.max(0, found);
  const chosen = kind.branches[picked]?.shape();
  return chosen && branchOf({ is: "branches", branches: [{ label: "", shape: () => chosen }] }, view.node, text) === 0 ? picked : Math.max(0, found);
}

function Tick({ word, isOn, isOff, about, onTick }: { word: string; isOn: boolean; isOff: boolean; about: string; onTick: (isOn: boolean) => void }) {
  return (
    <label class="form-tick">
      <input type="checkbox" checked={isOn} disabled={isOff} aria-describedby={about} onChange={(event) => onTick(event.currentTarget.checked)} />
      {word}
    </label>
  );
}

interface EditorProps {
  context: Context;
  shape: Shape;
  path: Path;
  id: string;
  label: string;
  isRequired: boolean;
  /** The shape around a branch: its default is the one that counts. */
  outer?: Shape;
}

function Editor(props: EditorProps) {
  const { context, shape, path, id, label, isRequired, outer = shape } = props;
  const { text, root, isOff, onText } = context;
  const view = shown(shape, root, text, path);
  const { kind } = shape;
  const put = (raw: string) => onText(set(text, path, raw));
  const usual = outer.fallback === undefined ? "" : `${outer.fallback} unless given`;
  const about = `${id}-takes${outer.about ? ` ${id}-about` : ""}`;
  switch (kind.is) {
    case "text": {
      const common = { id, disabled: isOff, "aria-describedby": about, value: view.is === "value" ? view.text : "", placeholder: usual, autocomplete: "off", spellcheck: false };
      const write = (value: string) => onText(typed(text, path, value, isRequired));
      if (kind.isArea || (view.is === "value" && view.text.includes("\n"))) return <textarea {...common} class="area" rows={3} onInput={(event) => write(event.currentTarget.value)} />;
      const onInput = (event: { currentTarget: HTMLInputElement }) => write(event.currentTarget.value);
      if (kind.isSecret) return <input {...common} class="input" type="password" onInput={onInput} />;
      return <input {...common} class="input" inputMode={kind.format === "email" ? "email" : kind.format.startsWith("ur") ? "url" : undefined} onInput={onInput} />;
    }
    case "number":
      return <Number_ {...props} raw={view.is === "value" ? view.raw : undefined} wantsInteger={kind.isInteger} usual={usual} about={about} />;
    case "boolean":
    case "choice": {
      const options = kind.is === "boolean" ? ["true", "false"].map((raw) => ({ raw, label: raw })) : kind.options;
      const all = outer.isNullable ? [...options, { raw: "null", label: "null" }] : options;
      const value = view.is === "value" ? all.find((one) => same(one.raw, view.raw))?.raw : view.is === "null" ? "null" : undefined;
      return (
        <select class="select" id={id} disabled={isOff} aria-describedby={about} value={value ?? ""} onChange={(event) => (event.currentTarget.value === "" ? onText(remove(text, path)) : put(event.currentTarget.value))}>
          <option value="" disabled={isRequired}>
            {isRequired ? "choose" : usual ? `not set: ${usual}` : "not set"}
          </option>
          {all.map((one) => (
            <option key={one.raw} value={one.raw}>
              {one.label}
            </option>
          ))}
        </select>
      );
    }
    case "constant":
      return <input class="input" id={id} readOnly aria-describedby={about} value={kind.raw} />;
    case "object":
      if (view.is === "absent" && path.length > 0 && !isRequired) return null;
      return <Members context={context} path={path} fields={kind.fields()} isInner={path.length > 0} />;
    case "map":
      return view.is === "value" ? <MapRows context={context} path={path} value={kind.value()} node={view.node} label={label} /> : isRequired ? <Begin put={put} raw="{}" isOff={isOff} /> : null;
    case "array":
      return <Items context={context} path={path} item={kind.item()} node={view.is === "value" ? view.node : undefined} label={label} />;
    case "branches":
      // A branch that is itself a choice: rare enough to be typed.
      return <Box context={context} id={id} path={path} raw={view.is === "value" ? view.raw : undefined} isRequired={isRequired} why="one of several" />;
    case "raw":
      return <Box context={context} id={id} path={path} raw={view.is === "value" ? view.raw : undefined} isRequired={isRequired} why={kind.why} usual={usual} />;
  }
}

function Begin({ put, raw, isOff }: { put: (raw: string) => void; raw: string; isOff: boolean }) {
  return (
    <button type="button" class="button small" disabled={isOff} onClick={() => put(raw)}>
      Begin
    </button>
  );
}

function Members({ context, path, fields, isInner }: { context: Context; path: Path; fields: Field[]; isInner: boolean }) {
  if (fields.length === 0) return <p class="faint">{isInner ? "It has no members of its own." : "It takes no arguments."}</p>;
  return (
    <div class={isInner ? "form-inner" : "form-outer"}>
      {fields.map((field) => (
        <FieldRow key={field.name} context={context} path={[...path, field.name]} field={field} />
      ))}
    </div>
  );
}

function Items({ context, path, item, node, label }: { context: Context; path: Path; item: Shape; node: Node | undefined; label: string }) {
  const count = node?.kind === "array" ? node.items.length : 0;
  const add = () => context.onText(node ? set(context.text, [...path, count], fresh(item)) : set(context.text, path, `[${fresh(item)}]`));
  return (
    <div class="form-inner">
      {Array.from({ length: count }, (_, at) => (
        <FieldRow key={at} context={context} path={[...path, at]} field={{ name: label, isRequired: true, shape: item }} label={`${label} ${at + 1}`} onRemove={() => context.onText(remove(context.text, [...path, at]))} />
      ))}
      <button type="button" class="button small" disabled={context.isOff} onClick={add}>
        Add to {label}
      </button>
    </div>
  );
}

function MapRows({ context, path, value, node, label }: { context: Context; path: Path; value: Shape; node: Node; label: string }) {
  const [name, setName] = useState("");
  const names = node.kind === "object" ? [...new Set(node.members.map((one) => one.name))] : [];
  const add = () => {
    context.onText(set(context.text, [...path, name], fresh(value)));
    setName("");
  };
  return (
    <div class="form-inner">
      {names.map((one) => (
        <FieldRow key={one} context={context} path={[...path, one]} field={{ name: one, isRequired: true, shape: value }} onRemove={() => context.onText(remove(context.text, [...path, one]))} />
      ))}
      <span class="form-add">
        <input class="input" aria-label="New name" placeholder="name" value={name} disabled={context.isOff} onInput={(event) => setName(event.currentTarget.value)} />
        <button type="button" class="button small" disabled={context.isOff || names.includes(name)} onClick={add}>
          Add to {label}
        </button>
      </span>
    </div>
  );
}

/** Keeps what is half typed for as long as the text stands as this field left it. */
function useDraft(raw: string | undefined) {
  const [draft, setDraft] = useState<{ typed: string; left: string | undefined; flaw: string | undefined } | null>(null);
  const held = draft && draft.left === raw ? draft : null;
  return { typed: held?.typed ?? raw ?? "", flaw: held?.flaw, setDraft };
}

function useFlaw(context: Context, path: Path, flaw: string | undefined) {
  const key = path.join(".");
  // Before anybody can press a button again.
  useLayoutEffect(() => {
    context.onFlaw?.(key, flaw);
    return () => context.onFlaw?.(key, undefined);
  }, [key, flaw]);
}

function Number_({ context, path, id, raw, wantsInteger, usual, about }: EditorProps & { raw: string | undefined; wantsInteger: boolean; usual: string; about: string }) {
  const { typed: value, flaw, setDraft } = useDraft(raw);
  useFlaw(context, path, flaw);
  const write = (next: string) => {
    const number = next.trim();
    const isGood = wantsInteger ? isInteger(number) : isNumber(number);
    const wrong = number === "" || isGood ? undefined : `this is no ${wantsInteger ? "integer" : "number"} as JSON writes it`;
    // An item of a list keeps its place while it is typed anew.
    const stays = typeof path.at(-1) === "number";
    setDraft({ typed: next, left: isGood ? number : stays ? raw : undefined, flaw: stays && number === "" ? "a number is missing" : wrong });
    if (isGood) context.onText(set(context.text, path, number));
    else if (!stays) context.onText(remove(context.text, path));
  };
  return (
    <>
      <input class="input" id={id} inputMode={wantsInteger ? "numeric" : "decimal"} autocomplete="off" disabled={context.isOff} aria-describedby={about} aria-invalid={flaw ? true : undefined} placeholder={usual} value={value} onInput={(event) => write(event.currentTarget.value)} />
      {flaw && <p class="bad small">{flaw}</p>}
    </>
  );
}

function Box({ context, id, path, raw, isRequired, why, usual = "" }: { context: Context; id: string; path: Path; raw: string | undefined; isRequired: boolean; why: string; usual?: string }) {
  const { typed: value, flaw, setDraft } = useDraft(raw);
  useFlaw(context, path, flaw);
  const write = (next: string) => {
    const stays = typeof path.at(-1) === "number";
    const read = readBox(next);
    const isEmpty = next.trim() === "";
    if ("raw" in read) context.onText(set(context.text, path, read.raw));
    else if (!stays) context.onText(remove(context.text, path));
    const left = "raw" in read ? read.raw : stays ? raw : undefined;
    setDraft({ typed: next, left, flaw: "flaw" in read && (!isEmpty || stays) ? read.flaw : undefined });
  };
  return (
    <>
      <textarea class="area" id={id} rows={Math.min(8, Math.max(2, value.split("\n").length))} spellcheck={false} disabled={context.isOff} aria-invalid={flaw ? true : undefined} aria-describedby={`${id}-takes`} aria-required={isRequired} placeholder={usual || `JSON: ${why}`} value={value} onInput={(event) => write(event.currentTarget.value)} />
      {flaw && <p class="bad small">{flaw}</p>}
    </>
  );
}
