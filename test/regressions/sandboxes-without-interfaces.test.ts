import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { hostsOf, networkAddresses } from "../../src/cli/host-names.ts";

test("a server starts where the system does not list its network interfaces", () => {
  const { networkInterfaces } = os;
  const replace = (by: typeof networkInterfaces): void => {
    os.networkInterfaces = by;
    syncBuiltinESMExports();
  };
  onTestFinished(() => replace(networkInterfaces));
  replace(() => {
    throw new Error("uv_interface_addresses returned Unknown system error 97");
  });
  expect(hostsOf(undefined, "0.0.0.0")).toEqual(["localhost", "127.0.0.1", "[::1]", os.hostname()]);
  expect(networkAddresses("0.0.0.0")).toEqual([]);
});
