import { effect, signal } from "@preact/signals";
import { store, stored } from "./storage.ts";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];
export const theme = signal<Theme>("system");

export const tools = ["wire", "code", "measure", "history", "conformance"] as const;
export type Tool = (typeof tools)[number];
/** The panels beside the method. */
export const tool = signal<Tool>("wire");

/** Narrow screens show one of these at a time. */
export type Pane = "methods" | "call" | "tools";
export const pane = signal<Pane>("call");

/** Shows the call and puts the focus there. */
export function goToCall(): void {
  pane.value = "call";
  // On a narrow screen the panel becomes visible in the next frame.
  requestAnimationFrame(() => document.getElementById("call")?.focus());
}

export const isConnectOpen = signal(false);

export function keepView(): void {
  theme.value = themes.find((name) => name === stored("theme")) ?? "system";
  effect(() => {
    store("theme", theme.value);
    document.documentElement.dataset.theme = theme.value;
  });
  effect(() => {
    document.documentElement.dataset.pane = pane.value;
  });
}
