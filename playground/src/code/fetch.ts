import { literal, message, type Sketch, schemeOf, variableOf } from "./sketch.ts";

/** The call with `fetch`, which browsers and Node have. */
export function fetchCode(sketch: Sketch): string {
  const headers = [
    `    "content-type": "application/json",`,
    ...(sketch.isStream ? [`    accept: "text/event-stream",`] : []),
    ...sketch.headerNames.map(
      (name) => `    ${JSON.stringify(name)}: \`${schemeOf(name)}\${${variableOf(name)}}\`,`,
    ),
  ];
  return [
    `const response = await fetch(${JSON.stringify(sketch.address.replace(/^ws/, "http"))}, {`,
    `  method: "POST",`,
    "  headers: {",
    ...headers,
    "  },",
    `  body: JSON.stringify(${literal(message(sketch), "  ")}),`,
    "});",
    "",
    ...(sketch.isStream
      ? [
          "// Each event is a message; the one without a method ends the stream.",
          "for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {",
          "  console.log(chunk);",
          "}",
        ]
      : [
          "const { result, error } = await response.json();",
          "if (error) throw new Error(error.message);",
          "console.log(result);",
        ]),
  ].join("\n");
}
