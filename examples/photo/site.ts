import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { methods } from "./methods.ts";
import { buildPage } from "./page.ts";

/** Serves the page and the method that it calls. */
export async function openSite(port: number) {
  const page = await buildPage();
  const http = await serveHttp(createServer(methods), {
    port,
    mounts: {
      "/": (request, response) => {
        const { type, body } = page.get(request.url ?? "") ?? {};
        response.writeHead(body === undefined ? 404 : 200, {
          "content-type": type ?? "text/plain",
        });
        response.end(body ?? "Not found");
      },
    },
  });
  return { url: new URL("/", http.url).href, close: () => http.close() };
}
