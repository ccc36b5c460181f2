// What the rules of a namespace come to, tool by tool. The gateway decides; this puts it beside what clients are shown.

import type { ListedItem, NamespacePermissions, PermissionRule, ToolPermission } from "../types.ts";

export interface Cell {
  server: string;
  /** As the server calls it. */
  tool: string;
  /** As clients call it, where they are shown it. */
  shown?: string | undefined;
  /** The rule that names this very tool. */
  rule: PermissionRule | undefined;
  isAllowed: boolean;
  /** What decided. */
  by: string;
}

/** Every tool that is known, and those that a rule names. */
export function cellsOf(permissions: NamespacePermissions | null, items: ListedItem[]): Cell[] {
  if (!permissions) return [];
  const shown = new Map(items.map((one) => [`${one.server} ${one.original}`, one.name]));
  const ruleOf = (server: string, tool: string) => permissions.rules.find((one) => one.item === "tool" && one.server === server && one.name === tool);
  const known = (permissions.tools ?? []).map((one): Cell => ({ server: one.server, tool: one.name, shown: shown.get(`${one.server} ${one.name}`), rule: ruleOf(one.server, one.name), isAllowed: one.allow, by: because(one) }));
  const isKnown = (rule: PermissionRule) => known.some((one) => one.server === rule.server && one.tool === rule.name);
  // A pattern is no tool; a name may be one that nobody has seen yet.
  const named = permissions.rules.filter((rule) => rule.item === "tool" && !rule.name.includes("*") && !isKnown(rule));
  return [...known, ...named.map((rule): Cell => ({ server: rule.server, tool: rule.name, rule, isAllowed: rule.allow, by: ruled(rule.allow, rule.name) }))];
}

function ruled(allow: boolean, name: string): string {
  return `a rule ${allow ? "allows" : "denies"} ${name}`;
}

function because(one: ToolPermission): string {
  switch (one.by) {
    case "rule":
      return ruled(one.allow, one.rule ?? one.name);
    case "denied-tools":
      return `deniedTools of ${one.server}`;
    case "allowed-tools":
      return `allowedTools of ${one.server}`;
    case "server-default":
      return `the default of ${one.server}`;
    default:
      return "the default of the namespace";
  }
}

/** Returns whether a rule decides about any tool that is known. */
export function decidesAny(rule: PermissionRule, permissions: NamespacePermissions | null, cells: Cell[]): boolean {
  const isTold = (permissions?.tools ?? []).some((one) => one.by === "rule" && one.server === rule.server && one.rule === rule.name);
  return (rule.item === "tool" && isTold) || cells.some((one) => one.rule === rule);
}
