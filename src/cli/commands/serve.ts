import { createServer, type ServerOptions } from "callwire";
import { createMetrics, metricsPage } from "callwire/observability";
import { command } from "../command.ts";
import { Failure, oneLine } from "../failure.ts";
import { loadModule } from "../load-module.ts";
import { serveUntilStopped } from "../serving.ts";
import { type Mount, wireOptions } from "../wires.ts";

export const serve = command({
  usage: "<module> [options]",
  options: {
    ...wireOptions,
    path: { type: "string", value: "path", description: "path for HTTP (default /rpc)" },
    legacy: { type: "boolean", description: "speak JSON-RPC 1.0 beside 2.0" },
    metrics: { type: "boolean", description: "count calls, and show them at /metrics" },
  },
  examples: [
    ["callwire serve ./methods.ts", "what the module exports as `methods` or by default"],
    ["callwire serve ./methods.js --port 3000 --path /api", "at another address"],
  ],
  async run(flags, positionals) {
    const [module, extra] = positionals;
    if (module === undefined)
      throw new Failure('serve needs a module; see "callwire serve --help"');
    if (extra !== undefined)
      throw new Failure(`serve takes one module, not ${JSON.stringify(extra)} too`);
    const { path = "/rpc", legacy = false } = flags;
    if (!/^\/[^\s?#]*$/.test(path))
      throw new Failure(`--path begins with "/", unlike ${JSON.stringify(path)}`);
    const metrics = flags.metrics === true ? createMetrics() : undefined;
    const offer = await offerOf(module, {
      ...(legacy ? { versions: ["1.0", "2.0"] } : undefined),
      ...(metrics === undefined ? undefined : { use: [metrics.middleware] }),
    });
    await serveUntilStopped(
      [{ path, ...offer }],
      flags,
      metrics === undefined ? {} : { "/metrics": metricsPage(metrics) },
    );
  },
});

async function offerOf(module: string, options: ServerOptions): Promise<Omit<Mount, "path">> {
  const { server, methods } = await loadModule(module);
  if (server !== undefined) {
    if (options.versions !== undefined) {
      throw new Failure(
        `--legacy is for methods; ${module} exports a server with versions of its own`,
      );
    }
    if (options.use !== undefined) {
      throw new Failure(
        `--metrics is for methods; ${module} exports a server with middleware of its own`,
      );
    }
    return { server, speaks: "as the module says" };
  }
  try {
    const speaks = options.versions === undefined ? "JSON-RPC 2.0" : "JSON-RPC 1.0 and 2.0";
    return { server: createServer(methods, options), speaks };
  } catch (error) {
    throw new Failure(`${module} cannot be served: ${oneLine(error)}`, { cause: error });
  }
}
