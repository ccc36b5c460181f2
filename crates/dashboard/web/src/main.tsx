// Signs in, then shows the shell around whatever page the address names.

import "../style.css";
import "./ui/ui.css";
import "./shell.css";
import "./pages/pages.css";

import { render } from "preact";
import { follow } from "./live.ts";
import { signIn } from "./session.ts";
import { Shell } from "./shell.tsx";
import { keepTextPlain } from "./ui/plain.ts";
import { applyTheme } from "./theme.ts";

keepTextPlain();
applyTheme();
const isIn = signIn();
const root = document.getElementById("app");
if (root) render(<Shell />, root);
await isIn;
follow();
