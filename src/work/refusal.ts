import { RpcError } from "../protocol/errors.ts";
import { serverBusy } from "../protocol/standard-errors.ts";

/** The limit of work is reached; the caller may retry later. */
export function workRefused(): RpcError {
  return new RpcError(serverBusy.code, serverBusy.message, serverBusy.data, serverBusy);
}
