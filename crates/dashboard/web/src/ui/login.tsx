// Where a login that has begun is finished: the link is shown, and opened by whoever reads its host.

import { signal } from "@preact/signals";
import { serverOf } from "../store.ts";
import type { LoginLink } from "../types.ts";
import { Dialog } from "./dialog.tsx";

const open = signal<{ server: string; link: LoginLink } | null>(null);

export function showLogin(server: string, link: LoginLink): void {
  open.value = { server, link };
}

/** Returns whether a browser may be sent there: by https, or to this machine. */
export function mayOpen(url: string): boolean {
  try {
    const { protocol, hostname } = new URL(url);
    return protocol === "https:" || (protocol === "http:" && ["127.0.0.1", "localhost", "[::1]"].includes(hostname));
  } catch {
    return false;
  }
}

export function Login() {
  const one = open.value;
  if (!one) return null;
  const close = () => {
    open.value = null;
  };
  const isIn = serverOf(one.server)?.signIn?.state === "ready";
  return (
    <Dialog title={isIn ? `Signed in to ${one.server}` : `Sign in to ${one.server}`} onClose={close}>
      {isIn ? (
        <p>Its tools are there.</p>
      ) : (
        <p>
          You sign in at <b>{one.link.host}</b>, in a browser on the machine of this gateway. Calls go on when you have.
        </p>
      )}
      <div class="buttons">
        <button type="button" class="button" onClick={close}>
          Close
        </button>
        {!isIn && mayOpen(one.link.url) && (
          <a class="button primary" href={one.link.url} target="_blank" rel="noopener noreferrer">
            Sign in
          </a>
        )}
      </div>
    </Dialog>
  );
}
