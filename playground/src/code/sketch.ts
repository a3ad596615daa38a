import type { ParamsValue } from "../schema/params.ts";
import type { TransportName, VersionName } from "../state/settings.ts";

/** What the generated programs need to know about the current call. */
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

/** The part of a header value before the secret. */
export function schemeOf(header: string): string {
  return header.toLowerCase() === "authorization" ? "Bearer " : "";
}

/** A value as a JavaScript literal, on several lines if it is long. */
export function literal(value: unknown, indent = ""): string {
  if (Array.isArray(value)) {
    return bracketed(
      "[",
      value.map((member) => literal(member, `${indent}  `)),
      "]",
      indent,
    );
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "undefined";
  const members = Object.entries(value).map(
    ([key, member]) => `${keyText(key)}: ${literal(member, `${indent}  `)}`,
  );
  return bracketed("{", members, "}", indent);
}

function keyText(key: string): string {
  // A member that is written __proto__ would set the prototype.
  return /^[A-Za-z_$][\w$]*$/.test(key) && key !== "__proto__" ? key : JSON.stringify(key);
}

function bracketed(begin: string, parts: readonly string[], end: string, indent: string): string {
  if (parts.length === 0) return begin + end;
  const line = begin === "{" ? `{ ${parts.join(", ")} }` : `[${parts.join(", ")}]`;
  if (line.length <= 60 && !line.includes("\n")) return line;
  return `${begin}\n${parts.map((part) => `${indent}  ${part},\n`).join("")}${indent}${end}`;
}
