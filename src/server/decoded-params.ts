import { attachedOf, type ByteKind, describedIn, mayAttach } from "../protocol/attachments.ts";
import type { CallContext } from "../protocol/context.ts";
import type { MethodLimits } from "../protocol/contract.ts";
import { RpcError } from "../protocol/errors.ts";
import { failure, type Params, type Reply, type TypedPaths } from "../protocol/message.ts";
import { fileFault, ReceivedBytes } from "../protocol/received-bytes.ts";
import { asError, invalidParams, serverBusy } from "../protocol/standard-errors.ts";

/** What must have arrived before the handler runs; Blobs and streams arrive while it reads them. */
const collected: ReadonlySet<ByteKind> = new Set(["bytes"]);

/** Params with their rich values. Throws a TypeError if the types do not fit, and an RpcError if a limit is exceeded. */
export function decodedParams(
  params: Params | undefined,
  types: TypedPaths,
  call: CallContext,
  own: MethodLimits | undefined,
): Params | undefined | Promise<Params | undefined> {
  const { values, attachments, limits } = call;
  if (!mayAttach(types)) return values.decode(params, types) as Params | undefined;
  const described = describedIn(params, types);
  const { maxFiles = limits.maxFiles, maxFileBytes = limits.maxFileBytes } = own ?? {};
  const fault = fileFault(described, { maxFiles, maxFileBytes });
  if (fault !== undefined) throw fault;
  const attached = attachedOf(described);
  const bytes = new ReceivedBytes(attachments, maxFileBytes);
  const decode = (): Params | undefined =>
    values.decode(params, types, bytes) as Params | undefined;
  if (!attached.some(({ kind }) => collected.has(kind))) return decode();
  const hold = (more: number): Error | undefined =>
    call.holdToEnd(more) ? undefined : asError(serverBusy);
  return bytes.collect(attached, collected, { hold }).then(decode);
}

/** The limits of the methods that have their own. */
export function limitsOf(
  table: ReadonlyMap<string, { readonly definition: { readonly limits?: MethodLimits } }>,
): ReadonlyMap<string, MethodLimits> {
  const limits = new Map<string, MethodLimits>();
  for (const [name, { definition }] of table) {
    if (definition.limits !== undefined) limits.set(name, definition.limits);
  }
  return limits;
}

/** The reply to a call whose params could not be decoded. */
export function refusedParams(thrown: unknown): Reply {
  return failure(
    thrown instanceof RpcError ? thrown : invalidParams((thrown as TypeError).message),
  );
}
