export interface Icon {
  readonly src: string;
  readonly mimeType?: string;
  readonly sizes?: readonly string[];
  readonly theme?: "light" | "dark";
}

/** How a program that speaks MCP names itself. */
export interface Implementation {
  /** Identifies the program to programs. */
  readonly name: string;
  /** The version of the program. */
  readonly version: string;
  /** What users see in place of the name. */
  readonly title?: string;
  /** What the program does, in a sentence or two. */
  readonly description?: string;
  /** Images that hosts may show beside the title. */
  readonly icons?: readonly Icon[];
  /** Where users can read more. */
  readonly websiteUrl?: string;
}

/** The part of someone's options that the other end is told. */
export function implementationOf(options: Implementation): Implementation {
  const { name, version, title, description, icons, websiteUrl } = options;
  return {
    name,
    version,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(icons !== undefined && { icons }),
    ...(websiteUrl !== undefined && { websiteUrl }),
  };
}

/** What a client can be asked for. */
export interface ClientCapabilities {
  readonly roots?: { readonly listChanged?: boolean };
  readonly sampling?: { readonly context?: object; readonly tools?: object };
  /** Empty means forms only. */
  readonly elicitation?: { readonly form?: object; readonly url?: object };
  /** Until 2025-11-25; later it is an extension. */
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
  /** Until 2025-11-25; later it is an extension. */
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
