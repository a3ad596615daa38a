/** How callers present a credential, in the words of OpenAPI; for descriptions of a service, such as the card of an agent. */
export type AuthScheme =
  | { readonly type: "http"; readonly scheme: string }
  | { readonly type: "apiKey"; readonly in: "header"; readonly name: string }
  | { readonly type: "mutualTLS" };
