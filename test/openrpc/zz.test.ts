import { test } from "vitest";
import { createServer } from "callwire";
import { methods } from "../../examples/demo/methods.ts";
test("x", () => { console.log(JSON.stringify(JSON.parse(createServer(methods).receive('{"jsonrpc":"2.0","method":"rpc.discover","id":1}') as string),null,1)); });
