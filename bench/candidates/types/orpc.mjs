import { callsFile, methodsFile, schemas } from "./program.mjs";

export default () => ({
  name: "orpc",
  methods: methodsFile({
    imports: 'import { os } from "@orpc/server";',
    entry({ name, i }) {
      const { params, result, body } = schemas(i);
      return `${name}: os.input(${params}).output(${result}).handler(({ input }) => (${body})(input))`;
    },
  }),
  calls: callsFile({
    head: `import type { RouterClient } from "@orpc/server";
import type { methods } from "./methods.ts";
declare const client: RouterClient<typeof methods>;`,
    call: ({ group, name }, params) => `client.${group}.${name}(${params})`,
  }),
});
