// The conformance suites import a function that Node 20 does not have, for a command that is not used here.
import { register } from "node:module";

if (!("globSync" in (await import("node:fs")))) {
  register(
    `data:text/javascript,${encodeURIComponent(`
      export async function load(url, context, next) {
        const loaded = await next(url, context);
        if (!/\\/conformance-\\d+\\/dist\\/index\\.js$/.test(url)) return loaded;
        const source = String(loaded.source).replace(/globSync as \\w+,|,globSync as \\w+/, "");
        return { ...loaded, source };
      }
    `)}`,
  );
}
