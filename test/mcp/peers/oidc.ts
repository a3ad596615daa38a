/** oidc-provider in this process, as a real authorization server. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";

export interface RunningProvider {
  readonly issuer: string;
  close(): Promise<void>;
}

/** Tokens are JWTs for the resource that they were asked for. */
const resourceIndicators = {
  enabled: true,
  getResourceServerInfo: (_: unknown, resource: string) => ({
    scope: "mcp write",
    audience: resource,
    accessTokenFormat: "jwt",
    accessTokenTTL: 60,
    jwt: { sign: { alg: "RS256" } },
  }),
  useGrantedResource: () => true,
};

interface Configuration {
  readonly features: object;
  readonly [name: string]: unknown;
}

export async function startProvider(
  { features, ...configuration }: Configuration,
  heard: (request: IncomingMessage) => void = () => {},
): Promise<RunningProvider> {
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    ...configuration,
    features: { ...features, resourceIndicators },
  });
  const answer = provider.callback();
  http.on("request", (request, response) => {
    heard(request);
    answer(request, response);
  });
  return {
    issuer,
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}
