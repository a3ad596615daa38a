import { message, type Sketch, schemeOf, variableOf } from "./sketch.ts";

/** The call as a curl command; streams arrive as events. */
export function curl(sketch: Sketch): string {
  const lines = [
    `curl ${sketch.isStream ? "-N " : ""}${quoted(sketch.address.replace(/^ws/, "http"))}`,
    `  -H ${quoted("content-type: application/json")}`,
    ...(sketch.isStream ? [`  -H ${quoted("accept: text/event-stream")}`] : []),
    ...sketch.headerNames.map((name) => `  -H "${name}: ${schemeOf(name)}$${variableOf(name)}"`),
    `  -d ${quoted(JSON.stringify(message(sketch)))}`,
  ];
  return lines.join(" \\\n");
}

function quoted(text: string): string {
  return /^[\w:/.@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
