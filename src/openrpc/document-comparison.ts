import { readDocument } from "./document-reading.ts";
import type { JsonSchema, JsonSchemaObject } from "./json-schema.ts";
import { type Components, type Misfit, misfits } from "./schema-fit.ts";
import type { DescribedError, OpenrpcDocument, OpenrpcMethod } from "./specification.ts";

/** What changed. More kinds may be added. */
export type ChangeKind =
  | "method-added"
  | "method-removed"
  | "method-renamed"
  | "method-kind"
  | "method-deprecated"
  | "param-required"
  | "param-narrower"
  | "param-order"
  | "result-wider"
  | "item-wider"
  | "error-code"
  | "error-added"
  | "error-removed"
  | "not-idempotent";

/** A difference between two documents. */
export interface DocumentChange {
  readonly kind: ChangeKind;
  /** Whether callers of the old document may fail with the new one. */
  readonly breaking: boolean;
  readonly method: string;
  /** Where in the params, result or item, such as `params.user.name`. */
  readonly path?: string;
  /** One sentence for people. */
  readonly message: string;
}

/**
 * Compares two OpenRPC documents, and reports what breaks callers of the old one: methods that were removed or renamed, params
 * that became required or narrower, wider results and items, and other error codes.
 * @example
 * ```ts
 * import { compareDocuments, type OpenrpcDocument } from "callwire/openrpc";
 *
 * declare const before: OpenrpcDocument;
 * declare const after: OpenrpcDocument;
 * const breaking = compareDocuments(before, after).filter((change) => change.breaking);
 * for (const { method, message } of breaking) console.log(`${method}: ${message}`);
 * ```
 */
export function compareDocuments(
  before: OpenrpcDocument,
  after: OpenrpcDocument,
): readonly DocumentChange[] {
  const old = readDocument(before);
  const next = readDocument(after);
  const known = new Map(next.methods.map((method) => [method.name, method]));
  const added = new Map(known);
  for (const { name } of old.methods) added.delete(name);
  const changes: DocumentChange[] = [];
  for (const method of old.methods) {
    const now = known.get(method.name);
    if (now !== undefined) changes.push(...changesOf(method, now, old, next));
    else changes.push(gone(method, added));
  }
  for (const name of added.keys()) {
    changes.push({ kind: "method-added", breaking: false, method: name, message: "is new" });
  }
  return changes;
}

/** A method that was removed; a new one with the same params and results counts as its new name. */
function gone(method: OpenrpcMethod, added: Map<string, OpenrpcMethod>): DocumentChange {
  const signature = signatureOf(method);
  const renamed = [...added.values()].filter((other) => signatureOf(other) === signature);
  const [only, second] = renamed;
  const { name } = method;
  if (only === undefined || second !== undefined || !declaresTypes(method)) {
    return { kind: "method-removed", breaking: true, method: name, message: "was removed" };
  }
  added.delete(only.name);
  const message = `was renamed to ${only.name}`;
  return { kind: "method-renamed", breaking: true, method: name, message };
}

/** Whether a method declares types; methods that declare none all look alike. */
function declaresTypes({
  params,
  result,
  "x-params": all,
  "x-stream": stream,
}: OpenrpcMethod): boolean {
  const isOpen = Object.keys(Object(result?.schema ?? {})).length === 0;
  return params.length > 0 || all !== undefined || stream !== undefined || !isOpen;
}

function signatureOf({ params, result, "x-params": all, "x-stream": stream }: OpenrpcMethod) {
  const listed = params.map(({ name, required, schema }) => [name, required, schema]);
  return JSON.stringify([listed, result?.schema, all, stream]);
}

function changesOf(
  before: OpenrpcMethod,
  after: OpenrpcMethod,
  old: OpenrpcDocument,
  next: OpenrpcDocument,
): DocumentChange[] {
  const method = before.name;
  const make = (kind: ChangeKind, breaking: boolean, message: string): DocumentChange => ({
    kind,
    breaking,
    method,
    message,
  });
  const streamed = before["x-stream"];
  const streams = after["x-stream"];
  if ((streamed === undefined) !== (streams === undefined)) {
    const message = streams === undefined ? "no longer streams" : "now streams";
    return [make("method-kind", true, message)];
  }
  const uploads = after["x-upload"];
  if ((before["x-upload"] === undefined) !== (uploads === undefined)) {
    const message = uploads === undefined ? "no longer takes an upload" : "now takes an upload";
    return [make("method-kind", true, message)];
  }
  const oldSchemas = old.components?.schemas ?? {};
  const newSchemas = next.components?.schemas ?? {};
  const changes = paramChanges(before, after, oldSchemas, newSchemas);
  // What the server sends now must be what callers expected.
  const wider = (kind: ChangeKind, root: string, now: JsonSchema, expected: JsonSchema): void => {
    const options = { sent: newSchemas, accepted: oldSchemas, refusesUnknown: false };
    for (const misfit of misfits(now, expected, options)) {
      const path = root + misfit.path;
      const message = `${path} ${wasOnce(misfit)}`;
      changes.push({ kind, breaking: true, method, path, message });
    }
  };
  if (streamed !== undefined && streams !== undefined) {
    wider("item-wider", "item", streams.item, streamed.item);
  } else if (before.result !== undefined) {
    wider("result-wider", "result", after.result?.schema ?? true, before.result.schema);
  }
  if (before["x-idempotent"] === true && after["x-idempotent"] !== true) {
    changes.push(
      make("not-idempotent", true, "is no longer idempotent, but callers may repeat it"),
    );
  }
  if (after.deprecated === true && before.deprecated !== true) {
    changes.push(make("method-deprecated", false, "is deprecated"));
  }
  return [...changes, ...errorChanges(before, after)];
}

/** The misfit as seen by callers that expect the old schema. */
function wasOnce({ kind, what }: Misfit): string {
  return kind === "required"
    ? "may now be missing"
    : `may now be something else; callers expect that it ${what}`;
}

function paramChanges(
  before: OpenrpcMethod,
  after: OpenrpcMethod,
  oldSchemas: Components,
  newSchemas: Components,
): DocumentChange[] {
  const method = before.name;
  const options = { sent: oldSchemas, accepted: newSchemas, refusesUnknown: true };
  const found = misfits(paramsOf(before), paramsOf(after), options);
  const changes = found.map(({ kind, path: inner, what }): DocumentChange => {
    const path = `params${inner}`;
    const changed = kind === "required" ? "param-required" : "param-narrower";
    const message = `${path} ${what.replace(/^(is|has|does)\b/, "now $1")}`;
    return { kind: changed, breaking: true, method, path, message };
  });
  const names = before.params.map(({ name }) => name);
  const order = after.params.map(({ name }) => name).slice(0, names.length);
  const moved = after.paramStructure !== "by-name" && names.some((name, i) => order[i] !== name);
  const isSame = names.every((name) => after.params.some((param) => param.name === name));
  if (moved && isSame) {
    const message = `positional params have a different order: ${order.join(", ")}`;
    changes.push({ kind: "param-order", breaking: true, method, message });
  }
  return changes;
}

/** All params as one schema. */
function paramsOf({ params, "x-params": all }: OpenrpcMethod): JsonSchema {
  if (all !== undefined) return all;
  const schema: JsonSchemaObject = {
    type: "object",
    properties: Object.fromEntries(params.map(({ name, schema }) => [name, schema])),
    required: params.filter(({ required }) => required === true).map(({ name }) => name),
    additionalProperties: params.length === 0,
  };
  return schema;
}

function errorChanges(before: OpenrpcMethod, after: OpenrpcMethod): DocumentChange[] {
  const method = before.name;
  const isNamed = [before, after].every(
    (own) => own["x-errors"] !== undefined || !own.errors?.length,
  );
  const old = errorsOf(before, isNamed);
  const now = errorsOf(after, isNamed);
  const gone = without(old, now);
  const added = without(now, old);
  const changes: DocumentChange[] = [];
  for (const { name, code } of gone) {
    const other = added.find((error) => error.name === name);
    if (other === undefined) {
      const message = `the error ${name} (${code}) was removed`;
      changes.push({ kind: "error-removed", breaking: false, method, message });
    } else {
      const message = `the error ${name} has the code ${other.code}, not ${code}`;
      changes.push({ kind: "error-code", breaking: true, method, message });
    }
  }
  for (const { name, code } of added) {
    if (gone.some((error) => error.name === name)) continue;
    const message = `the error ${name} (${code}) is new`;
    changes.push({ kind: "error-added", breaking: false, method, message });
  }
  return changes;
}

type ErrorName = Pick<DescribedError, "name" | "code">;

/** Documents of other servers have no names of errors; their messages serve instead. */
function errorsOf(method: OpenrpcMethod, isNamed: boolean): readonly ErrorName[] {
  if (isNamed) return method["x-errors"] ?? [];
  return (method.errors ?? []).map(({ code, message }) => ({ name: `"${message}"`, code }));
}

function without(all: readonly ErrorName[], others: readonly ErrorName[]): readonly ErrorName[] {
  return all.filter(
    ({ name, code }) => !others.some((other) => other.name === name && other.code === code),
  );
}
