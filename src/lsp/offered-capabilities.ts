import { isRecord } from "../protocol/record.ts";
import { type Members, memberAt } from "./member-path.ts";
import {
  clientCapabilities,
  registrationMethods,
  requiredOptions,
  serverCapabilities,
} from "./model/capabilities.ts";
import { TextDocumentSyncKind } from "./model/enumerations.ts";
import type { Registration, ServerCapabilities } from "./model/structures.ts";

/** Options that must be there and can be known, by path. */
const knownOptions: Readonly<Record<string, Members>> = {
  diagnosticProvider: { interFileDependencies: false, workspaceDiagnostics: false },
  "workspace.workspaceFolders": { supported: true },
};

/** The capabilities of a server that implements these methods, joined with those that it declares itself. */
export function offeredCapabilities(
  methods: readonly string[],
  own: ServerCapabilities = {},
): ServerCapabilities {
  const offered: Members = {
    textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental },
  };
  for (const method of methods) {
    const path = serverCapabilities[method];
    if (path !== undefined) offer(offered, path);
  }
  return joined(offered, own as Members) as ServerCapabilities;
}

/** The capabilities of a client that implements these methods. */
export function supportedCapabilities(methods: readonly string[], showsProgress: boolean): Members {
  const supported: Members = { general: { positionEncodings: ["utf-16"] } };
  if (showsProgress) offer(supported, "window.workDoneProgress");
  for (const method of methods) {
    const path = clientCapabilities[method];
    // These paths hold details, not whether the client implements the method.
    if (path === "window.showMessage") continue;
    if (path === "textDocument.publishDiagnostics")
      supported.textDocument = { publishDiagnostics: {} };
    else if (path !== undefined) offer(supported, path);
  }
  return supported;
}

/** Fails if options are missing without which no client could use a method. */
export function mustBeComplete(capabilities: ServerCapabilities, methods: readonly string[]): void {
  for (const method of methods) {
    const provider = providerOf(serverCapabilities[method] ?? "");
    const options = memberAt(capabilities, provider);
    for (const name of requiredOptions[provider] ?? []) {
      if (isRecord(options) && options[name] !== undefined) continue;
      throw new TypeError(`"${method}" needs the option capabilities.${provider}.${name}`);
    }
  }
}

/** Whether a registration includes a method, also as an option: `resolveProvider` includes `completionItem/resolve`. */
export function isOfferedBy({ method, registerOptions }: Registration, wanted: string): boolean {
  if (method === wanted) return true;
  const [provider = "", ...option] = (serverCapabilities[wanted] ?? "").split(".");
  const isPart = method === registrationMethods[wanted] || serverCapabilities[method] === provider;
  return isPart && (option.length === 0 || Boolean(memberAt(registerOptions, option.join("."))));
}

/** Merges `b` into a copy of `a`; where both have a member, that of `b` counts. */
export function joined(a: Members, b: Members): Members {
  const result = { ...a };
  for (const [name, value] of Object.entries(b)) {
    const before = result[name];
    if (value === undefined) continue;
    result[name] = isRecord(before) && isRecord(value) ? joined(before, value) : value;
  }
  return result;
}

/** Sets the member at a path to `true`, or to options if it must be options. */
function offer(capabilities: Members, path: string): void {
  const names = path.split(".");
  let at = capabilities;
  for (let depth = 1; depth < names.length; depth++) {
    at = optionsIn(at, names[depth - 1] as string, names.slice(0, depth).join("."));
  }
  const last = names.at(-1) as string;
  if (requiredOptions[path] !== undefined) optionsIn(at, last, path);
  else if (!isRecord(at[last])) at[last] = true;
}

function optionsIn(at: Members, name: string, path: string): Members {
  const before = at[name];
  const options = isRecord(before) ? before : { ...knownOptions[path] };
  at[name] = options;
  return options;
}

/** The part of a path that has options: `semanticTokensProvider` of `semanticTokensProvider.full`. */
function providerOf(path: string): string {
  return path.replace(/Provider\..*/, "Provider");
}
