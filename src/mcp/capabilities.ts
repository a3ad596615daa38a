import { defined } from "../protocol/record.ts";

export interface Icon {
  readonly src: string;
  readonly mimeType?: string;
  readonly sizes?: readonly string[];
  readonly theme?: "light" | "dark";
}

/** Name and version of an MCP client or server. */
export interface Implementation {
  /** Identifies the program to programs. */
  readonly name: string;
  /** The version of the program. */
  readonly version: string;
  /** What users see instead of the name. */
  readonly title?: string;
  /** What the program does, in a sentence or two. */
  readonly description?: string;
  /** Images that hosts may show beside the title. */
  readonly icons?: readonly Icon[];
  /** Where users can read more. */
  readonly websiteUrl?: string;
}

/** The part of a client's or server's options that is sent to the peer. */
export function implementationOf(options: Implementation | undefined): Implementation {
  const { name, version, title, description, icons, websiteUrl } = options ?? {};
  if (typeof name !== "string" || typeof version !== "string") {
    throw new TypeError('options need `name` and `version`: { name: "example", version: "1.0.0" }');
  }
  return defined({ name, version, title, description, icons, websiteUrl });
}

/** Requests that a client supports. */
export interface ClientCapabilities {
  readonly roots?: { readonly listChanged?: boolean };
  readonly sampling?: { readonly context?: object; readonly tools?: object };
  /** Empty means forms only. */
  readonly elicitation?: { readonly form?: object; readonly url?: object };
  /** Until 2025-11-25; since then an extension. */
  readonly tasks?: object;
  readonly experimental?: Readonly<Record<string, object>>;
  readonly extensions?: Readonly<Record<string, object>>;
}

/** What a server offers. */
export interface ServerCapabilities {
  readonly tools?: { readonly listChanged?: boolean };
  readonly resources?: { readonly subscribe?: boolean; readonly listChanged?: boolean };
  readonly prompts?: { readonly listChanged?: boolean };
  readonly completions?: object;
  readonly logging?: object;
  /** Until 2025-11-25; since then an extension. */
  readonly tasks?: object;
  readonly experimental?: Readonly<Record<string, object>>;
  readonly extensions?: Readonly<Record<string, object>>;
}

/** Least severe first. */
export const logLevels = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
] as const;

export type LogLevel = (typeof logLevels)[number];

export function isLogLevel(level: unknown): level is LogLevel {
  return (logLevels as readonly unknown[]).includes(level);
}
