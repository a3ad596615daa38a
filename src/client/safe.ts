import type { DeclaredErrors } from "../protocol/contract.ts";
import type { WireError } from "../protocol/errors.ts";
import type { Values } from "../protocol/json-value.ts";
import type { CallResult } from "./contract.ts";

/** The outcome of a call, as a value. */
export type Settled<Value, Errors, V extends Values = "json"> =
  | { readonly ok: true; readonly value: Value; readonly error?: undefined }
  | {
      readonly ok: false;
      readonly value?: undefined;
      readonly error: DeclaredErrors<Errors, V> | WireError;
    };

/**
 * Resolves with the value or the error of a call, narrowed by `error.code`, or by name with `isRpcError`. Other errors
 * are thrown.
 * @example
 * ```ts
 * import { safe } from "callwire";
 *
 * const sum = await safe(api.math.add({ a: 2, b: 3 }));
 * if (sum.ok) console.log(sum.value);
 * else console.log(sum.error.code, sum.error.message);
 * ```
 */
export async function safe<Value, Errors, V extends Values = "json">(
  call: CallResult<Value, Errors, V>,
): Promise<Settled<Value, Errors, V>> {
  try {
    return { ok: true, value: await call };
  } catch (error) {
    if (isOfWire(error)) return { ok: false, error: error as DeclaredErrors<Errors, V> };
    throw error;
  }
}

function isOfWire(error: unknown): boolean {
  return error instanceof Error && (error.name === "RpcError" || error.name === "WireError");
}
