/** Validation of LSP messages against the protocol's model. @module callwire/lsp/validation */
import { ErrorCode } from "../protocol/errors.ts";
import type { Middleware } from "../protocol/handle.ts";
import { failure } from "../protocol/message.ts";
import { clientParams, serverParams, shapes } from "./model/shapes.ts";
import { type ShapeFault, shapeFault } from "./shape.ts";

export type { ShapeFault } from "./shape.ts";

/**
 * Middleware that refuses params which the protocol does not allow: a request gets -32602 with `path` and `expected`
 * in its data, a notification is dropped and logged. Methods outside of the protocol pass.
 * @example
 * ```ts
 * import { lspServer } from "callwire/lsp";
 * import { validateParams } from "callwire/lsp/validation";
 *
 * const server = lspServer({ "textDocument/hover": () => null }, { use: [validateParams("server")] });
 * ```
 */
export function validateParams(receiver: "server" | "client"): Middleware {
  const known = new Map(Object.entries(receiver === "server" ? serverParams : clientParams));
  return (next) => (request, context) => {
    const shape = known.get(request.method);
    const fault = shape === undefined ? undefined : shapeFault(request.params, shape, shapes);
    if (fault === undefined) return next(request, context);
    if (request.id !== undefined) return failure(invalid(fault));
    context.log.warn(
      { method: request.method, ...fault },
      "dropped a notification with invalid params",
    );
    return undefined;
  };
}

function invalid({ path, expected }: ShapeFault) {
  const details = `${path === "" ? "the params" : path} must be ${expected}`;
  return {
    code: ErrorCode.InvalidParams,
    message: "Invalid params",
    data: { path, expected, details },
  };
}
