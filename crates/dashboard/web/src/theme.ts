// Light or dark, dense or not: what the system says until the user says otherwise.

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
export type Density = "roomy" | "dense";

export const theme = signal<Theme>(kept("manifold.theme", ["system", "light", "dark"]));
export const density = signal<Density>(kept("manifold.density", ["roomy", "dense"]));

export function applyTheme(): void {
  effect(() => {
    const root = document.documentElement;
    if (theme.value === "system") delete root.dataset.theme;
    else root.dataset.theme = theme.value;
    root.dataset.density = density.value;
    localStorage.setItem("manifold.theme", theme.value);
    localStorage.setItem("manifold.density", density.value);
  });
}

/** Whether it is dark now, whoever decided so. */
export function isDark(): boolean {
  return theme.value === "dark" || (theme.value === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
}

export function switchTheme(): void {
  theme.value = isDark() ? "light" : "dark";
}

export function switchDensity(): void {
  density.value = density.value === "dense" ? "roomy" : "dense";
}

function kept<T extends string>(name: string, choices: [T, ...T[]]): T {
  const word = localStorage.getItem(name);
  return choices.find((one) => one === word) ?? choices[0];
}
