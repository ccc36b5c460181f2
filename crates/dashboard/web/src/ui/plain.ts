// No text turns the page around or hides some of itself: characters that would have what follows them read the other way,
// and those that nobody sees, are written out in every text, title and label that is drawn. What is typed, copied and sent
// keeps them. They are the terminal's (`admin::is_unsafe`), but for line ends and tabs, which a page shows as blanks.

import { type ComponentChildren, options, type VNode } from "preact";

const UNSAFE = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const ATTRIBUTES = ["title", "aria-label", "placeholder", "alt"] as const;

export function plain(text: string): string {
  return text.replace(UNSAFE, (found) => {
    const hex = found.codePointAt(0)?.toString(16) ?? "";
    return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, "0")}`;
  });
}

function fit(child: ComponentChildren): ComponentChildren {
  if (typeof child === "string") return plain(child);
  return Array.isArray(child) && child.some((one) => typeof one === "string") ? child.map(fit) : child;
}

/** Has it so in all that is drawn from now on. */
export function keepTextPlain(): void {
  const before = options.vnode;
  options.vnode = (vnode: VNode<Partial<Record<(typeof ATTRIBUTES)[number], unknown>>>) => {
    const { type, props } = vnode;
    if (typeof type === "string") {
      props.children = fit(props.children);
      for (const name of ATTRIBUTES) {
        const value = props[name];
        if (typeof value === "string") props[name] = plain(value);
      }
    }
    before?.(vnode);
  };
}
