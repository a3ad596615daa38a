import type { ParamsValue } from "../schema/params.ts";
import type { TransportName, VersionName } from "../state/settings.ts";

/** The call at hand, as the programs below need to know it. */
export interface Sketch {
  readonly address: string;
  readonly transport: TransportName;
  readonly version: VersionName;
  readonly method: string;
  readonly params: ParamsValue;
  readonly isStream: boolean;
  /** Names of headers; their values may be secret and become variables. */
  readonly headerNames: readonly string[];
}

/** The message itself. */
export function message({ version, method, params }: Sketch): object {
  const asked = { method, ...(params === undefined ? {} : { params }), id: 1 };
  return version === "1.0" ? { method, params: params ?? [], id: 1 } : { jsonrpc: "2.0", ...asked };
}

/** The variable that stands for a secret: TOKEN, X_API_KEY. */
export function variableOf(header: string): string {
  return header.toLowerCase() === "authorization"
    ? "TOKEN"
    : header.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
}

/** What comes before the secret in the value of a header. */
export function schemeOf(header: string): string {
  return header.toLowerCase() === "authorization" ? "Bearer " : "";
}

/** JSON over several lines where it would be long, the further ones indented. */
export function json(value: unknown, indent = ""): string {
  const short = JSON.stringify(value);
  if (short === undefined || short.length <= 60) return spaced(value);
  return JSON.stringify(value, null, 2).replaceAll("\n", `\n${indent}`);
}

/** On one line, with the spaces that people write. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value).map(
    ([key, member]) => `${JSON.stringify(key)}: ${spaced(member)}`,
  );
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}
