import { head, methods } from "./callwire.mjs";
import { callsFile } from "./program.mjs";

export default () => ({
  name: "callwire-by-name",
  methods,
  calls: callsFile({
    head,
    call: ({ group, name }, params) => `client.call("${group}/${name}", ${params})`,
  }),
});
