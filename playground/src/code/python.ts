import { message, type Sketch, schemeOf, variableOf } from "./sketch.ts";

/** The call with the standard library of Python 3. */
export function python(sketch: Sketch): string {
  const headers = [
    `        "content-type": "application/json",`,
    ...(sketch.isStream ? [`        "accept": "text/event-stream",`] : []),
    ...sketch.headerNames.map(
      (name) =>
        `        ${literal(name, "")}: f"${schemeOf(name)}{os.environ['${variableOf(name)}']}",`,
    ),
  ];
  return [
    "import json",
    ...(sketch.headerNames.length > 0 ? ["import os"] : []),
    "from urllib.request import Request, urlopen",
    "",
    `call = ${literal(message(sketch), "")}`,
    "request = Request(",
    `    ${literal(sketch.address.replace(/^ws/, "http"), "")},`,
    "    data=json.dumps(call).encode(),",
    "    headers={",
    ...headers,
    "    },",
    ")",
    "with urlopen(request) as response:",
    ...(sketch.isStream
      ? [
          "    for line in response:",
          '        if line.startswith(b"data:"):',
          "            print(json.loads(line[5:]))",
        ]
      : [
          "    reply = json.load(response)",
          'if "error" in reply and reply["error"]:',
          '    raise RuntimeError(reply["error"])',
          'print(reply["result"])',
        ]),
  ].join("\n");
}

/** A JSON value as Python writes it. */
function literal(value: unknown, indent: string): string {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  // JSON writes astral characters as they are, and so does Python.
  if (typeof value !== "object") return JSON.stringify(value);
  const deeper = `${indent}    `;
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((member) => literal(member, deeper))
    : Object.entries(value).map(
        ([key, member]) => `${JSON.stringify(key)}: ${literal(member, deeper)}`,
      );
  const [begin, end] = isList ? ["[", "]"] : ["{", "}"];
  const short = `${begin}${parts.join(", ")}${end}`;
  if (short.length <= 72 && !short.includes("\n")) return short;
  return `${begin}\n${parts.map((part) => `${deeper}${part},`).join("\n")}\n${indent}${end}`;
}
