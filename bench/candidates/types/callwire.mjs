import { callsFile, methodsFile, schemas } from "./program.mjs";

export const methods = methodsFile({
  imports: 'import { method } from "callwire";',
  entry({ name, i }) {
    const { params, result, body } = schemas(i);
    return `${name}: method({ params: ${params}, result: ${result} }, ${body})`;
  },
});

export const head = `import { createClient, type Link } from "callwire";
import type { methods } from "./methods.ts";
declare const link: Link;
const client = createClient<typeof methods>(link);`;

export default () => ({
  name: "callwire",
  methods,
  calls: callsFile({
    head,
    call: ({ group, name }, params) => `client.api.${group}.${name}(${params})`,
  }),
});
