import type { Middleware } from "../protocol/handle.ts";
import type { Metadata } from "./model.ts";

/** One thing that an agent can do. */
export interface AgentSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** At least one. */
  readonly tags: readonly string[];
  readonly examples?: readonly string[];
  /** Media types that it takes, if they differ from those of the agent. */
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
  readonly securityRequirements?: readonly SecurityRequirement[];
}

export interface AgentExtension {
  readonly uri: string;
  readonly description?: string;
  /** Whether clients that do not declare it are refused. */
  readonly required?: boolean;
  readonly params?: Metadata;
}

export interface AgentInterface {
  readonly url: string;
  readonly protocolBinding: string;
  readonly protocolVersion: string;
  readonly tenant?: string;
}

/** One way to authenticate; exactly one member. */
export interface SecurityScheme {
  readonly apiKeySecurityScheme?: {
    readonly location: "header" | "query" | "cookie";
    readonly name: string;
    readonly description?: string;
  };
  readonly httpAuthSecurityScheme?: {
    readonly scheme: string;
    readonly bearerFormat?: string;
    readonly description?: string;
  };
  readonly oauth2SecurityScheme?: Readonly<Record<string, unknown>>;
  readonly openIdConnectSecurityScheme?: {
    readonly openIdConnectUrl: string;
    readonly description?: string;
  };
  readonly mtlsSecurityScheme?: { readonly description?: string };
}

export interface SecurityRequirement {
  readonly schemes: Readonly<Record<string, { readonly list: readonly string[] }>>;
}

/** A JWS over the card, without its payload. */
export interface CardSignature {
  readonly protected: string;
  readonly signature: string;
  readonly header?: Metadata;
}

/** Signs a card, given in its canonical form. */
export type CardSigner = (canonical: string) => Promise<CardSignature>;

/** Describes an agent: who made it, where it is, and what it can do. */
export interface AgentCard {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly supportedInterfaces: readonly AgentInterface[];
  readonly capabilities: {
    readonly streaming?: boolean;
    readonly pushNotifications?: boolean;
    readonly extendedAgentCard?: boolean;
    readonly extensions?: readonly AgentExtension[];
  };
  readonly defaultInputModes: readonly string[];
  readonly defaultOutputModes: readonly string[];
  readonly skills: readonly AgentSkill[];
  readonly provider?: { readonly organization: string; readonly url: string };
  readonly documentationUrl?: string;
  readonly iconUrl?: string;
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>;
  readonly securityRequirements?: readonly SecurityRequirement[];
  readonly signatures?: readonly CardSignature[];
}

/**
 * The part of the card that the user writes; the rest follows from how the agent is served. Security schemes follow from
 * the middleware, unless they are given.
 */
export interface AgentDescription
  extends Partial<
    Omit<AgentCard, "name" | "description" | "supportedInterfaces" | "capabilities" | "signatures">
  > {
  readonly name: string;
  readonly description: string;
  /** Extensions that the agent supports. @default none */
  readonly extensions?: readonly AgentExtension[];
  /** False refuses the streaming methods. @default true */
  readonly streaming?: boolean;
}

/** What the agent supports, besides what its description says. */
export interface CardFacts {
  readonly push: boolean;
  readonly extendedCard: boolean;
  /** The middleware around every call. */
  readonly use: readonly Middleware[];
}

/** The parts of a card that do not depend on its address. */
export function cardOf(
  description: AgentDescription,
  has: CardFacts,
): Omit<AgentCard, "supportedInterfaces"> {
  const { extensions, streaming = true, skills = [], version = "1.0.0", ...rest } = description;
  const { name } = description;
  const own: AgentSkill = {
    id: "agent",
    name,
    description: description.description,
    tags: ["agent"],
  };
  return {
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    ...securityOf(has.use),
    ...rest,
    version,
    capabilities: {
      streaming,
      pushNotifications: has.push,
      extendedAgentCard: has.extendedCard,
      ...(extensions !== undefined && { extensions }),
    },
    skills: skills.length === 0 ? [own] : skills,
  };
}

/** The ways to authenticate that the middleware accepts; any one of them is enough. */
function securityOf(
  use: readonly Middleware[],
): Pick<AgentCard, "securitySchemes" | "securityRequirements"> {
  const named = new Map<string, SecurityScheme>();
  for (const scheme of use.flatMap(({ schemes = [] }) => schemes)) {
    if (scheme.type === "http")
      named.set(scheme.scheme, { httpAuthSecurityScheme: { scheme: scheme.scheme } });
    else if (scheme.type === "apiKey")
      named.set("apiKey", { apiKeySecurityScheme: { location: scheme.in, name: scheme.name } });
    else named.set("mutualTls", { mtlsSecurityScheme: {} });
  }
  if (named.size === 0) return {};
  return {
    securitySchemes: Object.fromEntries(named),
    securityRequirements: [...named.keys()].map((name) => ({ schemes: { [name]: { list: [] } } })),
  };
}

/** The card at its address, with the members that clients of 0.3 read if the agent supports it. */
export function addressedCard(
  card: Omit<AgentCard, "supportedInterfaces">,
  url: string,
  hasLegacy: boolean,
): AgentCard {
  const at = (protocolVersion: string): AgentInterface => ({
    url,
    protocolBinding: "JSONRPC",
    protocolVersion,
  });
  if (!hasLegacy) return { ...card, supportedInterfaces: [at("1.0")] };
  return { ...card, supportedInterfaces: [at("1.0"), at("0.3")], ...legacyMembers(card, url) };
}

function legacyMembers(
  { capabilities, securitySchemes, securityRequirements }: Omit<AgentCard, "supportedInterfaces">,
  url: string,
): Metadata {
  return {
    ...(securitySchemes !== undefined && {
      securitySchemes: Object.fromEntries(
        Object.entries(securitySchemes).map(([name, scheme]) => [
          name,
          { ...scheme, ...legacyScheme(scheme) },
        ]),
      ),
    }),
    url,
    preferredTransport: "JSONRPC",
    protocolVersion: "0.3.0",
    supportsAuthenticatedExtendedCard: capabilities.extendedAgentCard === true,
    ...(securityRequirements !== undefined && {
      security: securityRequirements.map(({ schemes }) =>
        Object.fromEntries(Object.entries(schemes).map(([name, { list }]) => [name, list])),
      ),
    }),
  };
}

/** A security scheme as 0.3 writes it, after OpenAPI. */
function legacyScheme(scheme: SecurityScheme): Metadata {
  const { apiKeySecurityScheme, httpAuthSecurityScheme, oauth2SecurityScheme } = scheme;
  if (apiKeySecurityScheme !== undefined) {
    const { location, name } = apiKeySecurityScheme;
    return { type: "apiKey", in: location, name };
  }
  if (httpAuthSecurityScheme !== undefined) return { type: "http", ...httpAuthSecurityScheme };
  if (oauth2SecurityScheme !== undefined) return { type: "oauth2", ...oauth2SecurityScheme };
  if (scheme.openIdConnectSecurityScheme !== undefined)
    return { type: "openIdConnect", ...scheme.openIdConnectSecurityScheme };
  return { type: "mutualTLS" };
}
