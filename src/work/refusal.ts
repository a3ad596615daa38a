import { RpcError, serverBusy } from "../protocol/errors.ts";

/** There is no room for more work; the caller may try later. */
export function workRefused(): RpcError {
  return new RpcError(serverBusy.code, serverBusy.message, serverBusy.data, serverBusy);
}
