import { networkInterfaces } from "node:os";

/** Whether this machine can connect to itself over IPv6; containers often cannot. */
export const hasIpv6 = Object.values(networkInterfaces())
  .flat()
  .some((own) => own?.address === "::1");
