import type { TransportName } from "../state/settings.ts";
import { literal, type Sketch, schemeOf, variableOf } from "./sketch.ts";

const links: Readonly<Record<TransportName, readonly [name: string, entry: string]>> = {
  http: ["httpLink", "callwire/http"],
  websocket: ["webSocketLink", "callwire/ws"],
  sse: ["sseLink", "callwire/sse"],
};

/** The call with callwire's client. */
export function typescript(sketch: Sketch): string {
  const { address, method, params, headerNames } = sketch;
  const [link, entry] = links[sketch.transport];
  const given = params === undefined ? "" : `, ${literal(params)}`;
  const headers = headerNames.map(
    (name) =>
      `      ${JSON.stringify(name)}: \`${schemeOf(name)}\${process.env.${variableOf(name)}}\`,`,
  );
  const options =
    headers.length === 0 ? "" : `, {\n    headers: {\n${headers.join("\n")}\n    },\n  }`;
  return [
    `import { createClient } from "callwire";`,
    `import { ${link} } from "${entry}";`,
    "",
    "const client = createClient(",
    `  ${link}(${JSON.stringify(address)}${options}),`,
    ...(sketch.version === "1.0" ? ['  { version: "1.0" },'] : []),
    ");",
    "",
    ...(sketch.isStream
      ? [
          `for await (const item of client.stream(${JSON.stringify(method)}${given})) {`,
          "  console.log(item);",
          "}",
        ]
      : [
          `const result = await client.call(${JSON.stringify(method)}${given});`,
          "console.log(result);",
        ]),
  ].join("\n");
}
