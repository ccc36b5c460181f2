// Which namespace a list is read or a tool called as, where there are any.

import { namespaces } from "../store.ts";

interface Props {
  /** What the choice is for, before it. */
  words: string;
  /** What the field is called, where those words are not enough. */
  name?: string;
  namespace: string;
  onChoose: (namespace: string) => void;
}

export function NamespaceChoice({ words, name, namespace, onChoose }: Props) {
  const named = (namespaces.value ?? []).filter((one) => one.id !== null);
  if (named.length === 0) return null;
  return (
    <label>
      <span class="soft small">{words} </span>
      <select class="select" aria-label={name} title="Namespace" value={namespace} onChange={(event) => onChoose(event.currentTarget.value)}>
        <option value="">clients that name no namespace</option>
        {named.map((one) => (
          <option key={one.id} value={one.id ?? ""}>
            {one.id}
          </option>
        ))}
      </select>
    </label>
  );
}
