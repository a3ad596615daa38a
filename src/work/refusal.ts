import { RpcError, serverBusy } from "../protocol/errors.ts";

/** The limit of work is reached; the caller may retry later. */
export function workRefused(): RpcError {
  return new RpcError(serverBusy.code, serverBusy.message, serverBusy.data, serverBusy);
}
