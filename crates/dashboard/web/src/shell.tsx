// The frame around every page: navigation, who is asked, how fresh it is, and what stands there without a session.

import { useEffect, useRef, useState } from "preact/hooks";
import { Keys, openPalette, Palette, useShortcuts } from "./palette.tsx";
import { Clients } from "./pages/clients.tsx";
import { Config } from "./pages/config.tsx";
import { Costs } from "./pages/costs.tsx";
import { Logs } from "./pages/logs.tsx";
import { Namespaces } from "./pages/namespaces.tsx";
import { Overview } from "./pages/overview.tsx";
import { Recordings } from "./pages/recordings.tsx";
import { ServerPage } from "./pages/server.tsx";
import { Servers } from "./pages/servers.tsx";
import { Tester } from "./pages/tester.tsx";
import { Tools } from "./pages/tools.tsx";
import { Traffic } from "./pages/traffic.tsx";
import { counted } from "./format.ts";
import { problems } from "./problems.ts";
import { href, PAGES, route } from "./router.ts";
import { ended, isSigningIn, refusedToken, session, useToken } from "./session.ts";
import { clients, gateway, link, servers, toolCount } from "./store.ts";
import { density, isDark, switchDensity, switchTheme, theme } from "./theme.ts";
import { Prose } from "./ui/basics.tsx";
import { Confirm } from "./ui/dialog.tsx";
import { Login } from "./ui/login.tsx";
import { Icon } from "./ui/icon.tsx";
import { plain } from "./ui/plain.ts";
import { Toasts } from "./ui/toast.tsx";

export function Shell() {
  useShortcuts();
  if (!session.value && !isSigningIn.value) return ended.value === null ? <TokenField /> : <Ended why={ended.value} />;
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={skip}>
        Skip to the page
      </a>
      <header class="top">
        <a class="brand" href={href("overview")} aria-label="Manifold">
          <Icon name="brand" />
          <b>manifold</b>
        </a>
        <Head />
        <div class="tools">
          <button type="button" class="button quiet find" onClick={openPalette} aria-label="Find a command" title="Find a command (Ctrl K)">
            <Icon name="find" />
            <span>Find</span>
          </button>
          <kbd aria-hidden="true">Ctrl K</kbd>
          <button type="button" class="button quiet square" onClick={switchDensity} aria-label={density.value === "dense" ? "Show rows with more room" : "Show rows densely"} title="Row height">
            <Icon name="rows" />
          </button>
          <button type="button" class="button quiet square" onClick={switchTheme} aria-label={theme.value && isDark() ? "Switch to light" : "Switch to dark"} title="Light or dark">
            <Icon name="theme" />
          </button>
        </div>
      </header>
      <Navigation />
      <main id="main" tabIndex={-1}>
        <Current />
      </main>
      <Palette />
      <Keys />
      <Confirm />
      <Login />
      <Toasts />
    </div>
  );
}

function skip(event: Event): void {
  // The address holds the route, so the jump is made by hand.
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Navigation() {
  const bar = useRef<HTMLElement>(null);
  const { page: current } = route.value;
  useEffect(() => {
    // Where the pages are a strip, the one that is open is seen.
    const [strip, entry] = [bar.current, bar.current?.querySelector<HTMLElement>("[aria-current]")];
    if (strip && entry) strip.scrollLeft = entry.offsetLeft - (strip.clientWidth - entry.offsetWidth) / 2;
  }, [current]);
  const errors = problems.value.filter((one) => one.isError).length;
  return (
    <nav ref={bar} class="nav" aria-label="Pages">
      {PAGES.map(({ page, name }) => (
        <a key={page} href={href(page)} aria-current={current === page ? "page" : undefined}>
          <Icon name={page} />
          {name}
          {page === "overview" && errors > 0 && (
            <span class="badge bad" aria-hidden="true">
              {errors}
            </span>
          )}
        </a>
      ))}
    </nav>
  );
}

/** One quiet line: what is served, and whether what is seen is how things are. */
function Head() {
  const word = link.value === "live" ? "live" : link.value === "connecting" ? "connecting" : "reconnecting";
  return (
    <p class="head">
      <span class={`link ${link.value}`} role="status">
        {word}
      </span>
      {gateway.value && servers.value && (
        <span class="clip">
          {counted(servers.value.length, "server")}, {counted(toolCount.value, "tool")} · {counted(clients.value?.length ?? 0, "client")}
        </span>
      )}
    </p>
  );
}

function Current() {
  const { page, id } = route.value;
  const place = `${page}/${id ?? ""}`;
  const isFirst = useRef(true);
  useEffect(() => {
    const name = PAGES.find((one) => one.page === page)?.name ?? "";
    document.title = plain(`${id ?? name} · Manifold`);
    if (!isFirst.current) scrollTo(0, 0);
    isFirst.current = false;
  }, [place]);
  switch (page) {
    case "servers":
      return id === undefined ? <Servers /> : <ServerPage key={id} id={id} />;
    case "tools":
      return id === undefined ? <Tools /> : <Tester key={id} name={id} />;
    case "traffic":
      return <Traffic />;
    case "logs":
      return <Logs />;
    case "namespaces":
      return <Namespaces />;
    case "config":
      return <Config />;
    case "clients":
      return <Clients />;
    case "costs":
      return <Costs />;
    case "recordings":
      return <Recordings />;
    default:
      return <Overview />;
  }
}

function Ended({ why }: { why: string }) {
  return (
    <main class="alone">
      <Icon name="brand" />
      <h1>This page's session has ended</h1>
      <p class="soft">
        <Prose text={why} />
      </p>
      <p>
        In a terminal, <code class="command">manifold open</code> opens a new one.
      </p>
    </main>
  );
}

function TokenField() {
  const [token, setToken] = useState("");
  return (
    <main class="alone">
      <Icon name="brand" />
      <h1>Manifold</h1>
      <p class="soft">
        <code class="command">manifold open</code> opens this page without a token. Where a gateway serves it over HTTP, its token opens it as well.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (token) useToken(token.trim());
        }}
      >
        <label class="field">
          <span>Token</span>
          <input class="input" type="password" autocomplete="off" value={token} onInput={(event) => setToken(event.currentTarget.value)} />
        </label>
        <button type="submit" class="button primary">
          Sign in
        </button>
      </form>
      {refusedToken.value && (
        <p class="bad" role="alert">
          <Prose text={refusedToken.value} />
        </p>
      )}
    </main>
  );
}
