// No text turns the page around: characters that would have what follows them read the other way are written out, in every
// text and title that is drawn. What is typed, copied and sent keeps them.

import { type ComponentChildren, options, type VNode } from "preact";

const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export function plain(text: string): string {
  return text.replace(TURNING, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function fit(child: ComponentChildren): ComponentChildren {
  if (typeof child === "string") return plain(child);
  return Array.isArray(child) && child.some((one) => typeof one === "string") ? child.map(fit) : child;
}

/** Has it so in all that is drawn from now on. */
export function keepTextPlain(): void {
  const before = options.vnode;
  options.vnode = (vnode: VNode<{ title?: unknown }>) => {
    const { type, props } = vnode;
    if (typeof type === "string") {
      props.children = fit(props.children);
      if (typeof props.title === "string") props.title = plain(props.title);
    }
    before?.(vnode);
  };
}
