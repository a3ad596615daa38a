import type { MethodDefinition } from "../protocol/contract.ts";
import { RemoteError } from "../protocol/errors.ts";
import type { Middleware } from "../protocol/handle.ts";
import type { Reply } from "../protocol/message.ts";

type Idempotent = readonly string[] | ((method: string) => boolean);

interface ContractOptions {
  readonly contract?: unknown;
  readonly separator?: string;
  readonly idempotent?: Idempotent;
  readonly use?: readonly Middleware[];
}

/** Adds what the contract knows to the options: which methods are idempotent, and the names of declared errors. */
export function withContract<Options extends ContractOptions>(options: Options): Options {
  const { contract, separator = "/", idempotent, use = [] } = options;
  if (contract === undefined) return options;
  const definitions = new Map<string, MethodDefinition>();
  collect(contract as object, "", separator, definitions);
  const isListed = isIdempotent(idempotent);
  const nameErrors: Middleware = (next) => async (request, context) =>
    named(await next(request, context), definitions.get(request.method));
  return {
    ...options,
    idempotent: (method: string) => isListed(method) || !!definitions.get(method)?.idempotent,
    use: [...use, nameErrors],
  };
}

/** The option as a function; a single string must not match the names that it contains. */
export function isIdempotent(option: Idempotent = []): (method: string) => boolean {
  return typeof option === "function" ? option : (method) => [option].flat().includes(method);
}

function collect(
  group: object,
  prefix: string,
  separator: string,
  definitions: Map<string, MethodDefinition>,
): void {
  for (const [key, entry] of Object.entries(group)) {
    // A group may have a method called "kind", but that is not a string.
    if (typeof entry?.kind === "string") definitions.set(prefix + key, entry.definition);
    else if (typeof entry === "object")
      collect(entry, prefix + key + separator, separator, definitions);
  }
}

function named(reply: Reply | undefined, definition: MethodDefinition | undefined) {
  if (!reply?.error) return reply;
  const { code, message, data } = reply.error;
  const declared = Object.entries(definition?.errors ?? {}).find(([, one]) => one.code === code);
  const options = { declared: declared?.[0] ?? null };
  return { ...reply, error: new RemoteError(code, message, data, options) };
}
