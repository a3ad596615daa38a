import { callsFile, methodsFile, schemas } from "./program.mjs";

export default () => ({
  name: "trpc",
  methods: methodsFile({
    imports: 'import { initTRPC } from "@trpc/server";\nconst t = initTRPC.create();',
    entry({ name, i }) {
      const { params, result, body } = schemas(i);
      return `${name}: t.procedure.input(${params}).output(${result}).mutation(({ input }) => (${body})(input))`;
    },
    group: (entries) => `t.router({\n${entries}\n})`,
    root: (groups) => `t.router({\n${groups}\n})`,
  }),
  calls: callsFile({
    head: `import { createTRPCClient, type TRPCLink } from "@trpc/client";
import type { methods } from "./methods.ts";
declare const link: TRPCLink<typeof methods>;
const client = createTRPCClient<typeof methods>({ links: [link] });`,
    call: ({ group, name }, params) => `client.${group}.${name}.mutate(${params})`,
  }),
});
