import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { Chain } from "./chain.ts";
import { ethereumMethods } from "./methods.ts";

const ether = 10n ** 18n;
const chain = new Chain({ "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266": 10_000n * ether });
setInterval(() => chain.mine(), 500);

const server = createServer(ethereumMethods(chain));
const { url } = await serveHttp(server, { port: Number(process.env.PORT ?? 8545), path: "/" });
console.log(`A chain at ${url}`);
