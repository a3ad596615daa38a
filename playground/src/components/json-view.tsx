import type { ComponentChildren } from "preact";
import { jsonText } from "../state/json-text.ts";
import { Scrollable } from "./scrollable.tsx";

const token =
  /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;

/** Longer text is shown without colours, so that the page stays fast. */
const mostColoured = 50_000;
/** Most characters that are shown; copying gives all of them. */
const mostShown = 200_000;

/** A value as JSON, coloured; every part of it is text. */
export function JsonView({ value, label }: { readonly value: unknown; readonly label?: string }) {
  return <JsonText text={jsonText(value, 2)} label={label} />;
}

export function JsonText({
  text,
  label,
}: {
  readonly text: string;
  readonly label?: string | undefined;
}) {
  const shown = text.length > mostShown ? `${text.slice(0, mostShown)}\n…` : text;
  return (
    <Scrollable class="json" label={label ?? "JSON"}>
      {shown.length > mostColoured ? shown : coloured(shown)}
    </Scrollable>
  );
}

function coloured(text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const match of text.matchAll(token)) {
    const [whole, quoted, colon, word, number] = match;
    if (match.index > at) parts.push(text.slice(at, match.index));
    const kind =
      quoted !== undefined
        ? colon === undefined
          ? "text"
          : "key"
        : word !== undefined
          ? "word"
          : "number";
    const inner = quoted ?? word ?? number ?? whole;
    parts.push(<span class={`json-${kind}`}>{inner}</span>);
    if (colon !== undefined) parts.push(colon);
    at = match.index + whole.length;
  }
  parts.push(text.slice(at));
  return parts;
}
