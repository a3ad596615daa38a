import { createServer } from "callwire";
import { command } from "../command.ts";
import { Failure, oneLine } from "../failure.ts";
import { loadModule } from "../load-module.ts";
import { serveUntilStopped } from "../serving.ts";
import { type Mount, playgroundOption, wireOptions } from "../wires.ts";

export const serve = command({
  usage: "<module> [options]",
  options: {
    ...wireOptions,
    path: { type: "string", value: "path", description: "path for HTTP (default /rpc)" },
    ...playgroundOption,
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
    if (path === "/" && flags.playground === true)
      throw new Failure("the playground is at /, so --path must be another");
    const mount = { path, ...(await offerOf(module, legacy)) };
    await serveUntilStopped([mount], flags, flags.playground === true);
  },
});

async function offerOf(module: string, legacy: boolean): Promise<Omit<Mount, "path">> {
  const { server, methods } = await loadModule(module);
  if (server !== undefined) {
    if (!legacy) return { server, speaks: "as the module says" };
    throw new Failure(
      `--legacy is for methods; ${module} exports a server with versions of its own`,
    );
  }
  try {
    return legacy
      ? {
          server: createServer(methods, { versions: ["1.0", "2.0"] }),
          speaks: "JSON-RPC 1.0 and 2.0",
        }
      : { server: createServer(methods), speaks: "JSON-RPC 2.0" };
  } catch (error) {
    throw new Failure(`${module} cannot be served: ${oneLine(error)}`, { cause: error });
  }
}
