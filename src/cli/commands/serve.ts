import { createServer, type Server } from "callwire";
import { command } from "../command.ts";
import { Failure, oneLine } from "../failure.ts";
import { loadModule } from "../load-module.ts";
import { serveUntilStopped } from "../serving.ts";
import { wireOptions } from "../wires.ts";

export const serve = command({
  summary: "serve the methods of a module",
  usage: "<module> [options]",
  options: {
    ...wireOptions,
    path: { type: "string", value: "path", description: "path for HTTP (default /rpc)" },
    legacy: { type: "boolean", description: "speak JSON-RPC 1.0 beside 2.0" },
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
    const server = await serverOf(module, legacy);
    const speaks = legacy ? "JSON-RPC 1.0 and 2.0" : "JSON-RPC 2.0";
    await serveUntilStopped([{ path, server, speaks }], flags);
  },
});

async function serverOf(module: string, legacy: boolean): Promise<Server> {
  const { server, methods } = await loadModule(module);
  if (server === undefined) {
    try {
      return createServer(methods, legacy ? { versions: ["1.0", "2.0"] } : {});
    } catch (error) {
      throw new Failure(`${module} cannot be served: ${oneLine(error)}`, { cause: error });
    }
  }
  if (legacy)
    throw new Failure(
      `--legacy is for methods; ${module} exports a server with versions of its own`,
    );
  return server;
}
