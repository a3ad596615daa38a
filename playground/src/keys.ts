import { call, isRunning, stop } from "./state/calls.ts";
import { pane } from "./state/view.ts";

/** Ctrl-Enter makes the call, a slash goes to the search, Escape cancels the running call. */
export function listenToKeys(): void {
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
      event.preventDefault();
      void call();
    } else if (event.key === "/" && !isTyping(event)) {
      event.preventDefault();
      pane.value = "methods";
      document.getElementById("search")?.focus();
    } else if (event.key === "Escape" && isRunning.value && !event.defaultPrevented) stop();
  });
}

/** Inputs that accept no text, so that a slash can be a shortcut there. */
const withoutText = /^(radio|checkbox|button|submit|reset|range|color|file)$/;

function isTyping(event: KeyboardEvent): boolean {
  const [first] = event.composedPath();
  if (first instanceof HTMLInputElement) return !withoutText.test(first.type);
  return (
    first instanceof HTMLElement &&
    (first.isContentEditable || /^(TEXTAREA|SELECT)$/.test(first.tagName))
  );
}
