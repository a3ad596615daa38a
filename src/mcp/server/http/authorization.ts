import type { HttpMessage } from "../../../http/http-message.ts";
import { HttpTransport } from "../../../http/http-transport.ts";
import type { Refusal } from "../../../http/refusal.ts";
import { isRefusal } from "../../../protocol/handle.ts";
import type { Log } from "../../../protocol/log.ts";
import type { ErrorObject, MaybePromise } from "../../../protocol/message.ts";
import type { Principal } from "../../../protocol/origin.ts";
import type { McpServer } from "../mcp-server.ts";
import { answered, failed, notAdmitted, unavailable } from "./mcp-refusals.ts";

export interface AuthorizationOptions {
  /** The URL of this endpoint, as clients and tokens name it. */
  readonly resource: string;
  /** The authorization servers that issue tokens for it. */
  readonly authorizationServers: readonly string[];
  /** Returns the principal of a token; undefined refuses it. It must check signature and expiry. */
  readonly verify: (token: string) => MaybePromise<Principal | undefined>;
  /** Scopes that every request needs. @default none */
  readonly requiredScopes?: readonly string[];
  /** All scopes, for the metadata. @default the required ones */
  readonly scopesSupported?: readonly string[];
  /** A name to be shown to users. @default none */
  readonly resourceName?: string;
}

/** The principal of a request, or its refusal; wrapped, since a principal may have members of any name. */
export type Admitted =
  | { readonly principal: Principal | undefined }
  | { readonly refusal: Refusal };

/** This server as a resource server of OAuth 2.1 (RFC 9728). */
export class Authorization {
  readonly #options: AuthorizationOptions;
  readonly #metadataUrl: string;

  constructor(options: AuthorizationOptions) {
    this.#options = options;
    const { origin } = new URL(options.resource);
    this.#metadataUrl = origin + metadataPath(options.resource);
  }

  /** Finds the principal of a request, or a refusal that says how to get a token. */
  async check(header: string | undefined, log: Log): Promise<Admitted> {
    if (header === undefined) return { refusal: this.#unauthorized(undefined) };
    const [, token] = /^Bearer +([\w.~+/-]+=*)$/i.exec(header) ?? [];
    if (token === undefined) return { refusal: this.#unauthorized("invalid_token") };
    let principal: Principal | undefined;
    try {
      principal = await this.#options.verify(token);
    } catch (error) {
      // Not the fault of the client, which need not get another token.
      log.warn({ err: error }, "a token could not be verified");
      return { refusal: unavailable };
    }
    if (principal === undefined || !isFor(principal, this.#options.resource)) {
      return { refusal: this.#unauthorized("invalid_token") };
    }
    const { requiredScopes = [] } = this.#options;
    const missing = requiredScopes.filter((scope) => principal.scopes?.includes(scope) !== true);
    return missing.length === 0
      ? { principal }
      : { refusal: this.#forbidden(requiredScopes.join(" ")) };
  }

  /** Adds the scope that a refused call needs. */
  challenge(
    status: number,
    error: ErrorObject | undefined,
    headers: Readonly<Record<string, string>> = {},
  ): Readonly<Record<string, string>> {
    if ((status !== 401 && status !== 403) || "www-authenticate" in headers) return headers;
    const { scope } = (error?.data ?? {}) as { scope?: unknown };
    const kind = status === 401 ? "invalid_token" : "insufficient_scope";
    const asked = typeof scope === "string" ? scope : undefined;
    return { ...headers, "www-authenticate": this.#challenge(kind, asked) };
  }

  #unauthorized(kind: string | undefined): Refusal {
    const scope = this.#options.requiredScopes?.join(" ");
    return {
      ...answered(401, undefined, { code: -32001, message: "Unauthorized" }),
      headers: { "www-authenticate": this.#challenge(kind, scope === "" ? undefined : scope) },
    };
  }

  #forbidden(scope: string): Refusal {
    return {
      ...answered(403, undefined, { code: -32001, message: "Insufficient scope" }),
      headers: { "www-authenticate": this.#challenge("insufficient_scope", scope) },
    };
  }

  #challenge(kind: string | undefined, scope: string | undefined): string {
    const parts = [
      ...(kind === undefined ? [] : [`error="${kind}"`]),
      ...(scope === undefined
        ? []
        : [`scope="${scope.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "")}"`]),
      `resource_metadata="${this.#metadataUrl}"`,
    ];
    return `Bearer ${parts.join(", ")}`;
  }
}

/** A valid token for another resource does not count. */
function isFor({ claims }: Principal, resource: string): boolean {
  const aud = claims?.aud;
  if (aud === undefined) return true;
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return audiences.some((each) => typeof each === "string" && same(each, resource));
}

function same(one: string, other: string): boolean {
  return one.replace(/\/$/, "") === other.replace(/\/$/, "");
}

/** The path of the metadata of a resource. */
function metadataPath(resource: string): string {
  const { pathname } = new URL(resource);
  return `/.well-known/oauth-protected-resource${pathname === "/" ? "" : pathname}`;
}

/** Where clients look for it: those that do not know the path of the resource look at the root. */
export function metadataPaths(resource: string): readonly string[] {
  return [metadataPath(resource), "/.well-known/oauth-protected-resource"];
}

export function resourceMetadata(options: AuthorizationOptions): object {
  const { resource, authorizationServers, requiredScopes, scopesSupported, resourceName } = options;
  const scopes = scopesSupported ?? requiredScopes;
  return {
    resource,
    authorization_servers: authorizationServers,
    bearer_methods_supported: ["header"],
    ...(scopes !== undefined && { scopes_supported: scopes }),
    ...(resourceName !== undefined && { resource_name: resourceName }),
  };
}

/** A request whose principal is being looked for. */
interface Applicant {
  refuse(refusal: Refusal): void;
  admitted(principal: Principal | undefined): void;
}

export type Admission = (message: HttpMessage, request: Applicant) => void;

/**
 * Finds the principal of a request before anything else, since a session belongs to one: by its token,
 * or by the middleware of the server.
 */
export function admission(
  { admit, log }: McpServer,
  authorization: Authorization | undefined,
): Admission {
  const find = async (message: HttpMessage): Promise<Admitted> => {
    if (authorization !== undefined) {
      return authorization.check(message.head.get("authorization"), log);
    }
    const decision = await admit?.(new HttpTransport(message, undefined));
    return isRefusal(decision) ? { refusal: notAdmitted(decision) } : { principal: decision };
  };
  return (message, request) => {
    if (authorization === undefined && admit === undefined) {
      request.admitted(undefined);
      return;
    }
    find(message)
      .then((found) => {
        if ("refusal" in found) request.refuse(found.refusal);
        else request.admitted(found.principal);
      })
      .catch((error: unknown) => {
        log.error({ err: error }, "a request could not be answered");
        request.refuse(failed);
      });
  };
}
