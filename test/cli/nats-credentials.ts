import { nkeys } from "@nats-io/transport-node";

type KeyPair = ReturnType<typeof nkeys.createUser>;

/**
 * The config of a nats-server that trusts an operator, and a file with the credentials of one of
 * its users.
 */
export function operatorSetup(): { readonly config: string; readonly creds: string } {
  const operator = nkeys.createOperator();
  const account = nkeys.createAccount();
  const user = nkeys.createUser();
  const endless = { subs: -1, data: -1, payload: -1 };
  const connections = { conn: -1, leaf: -1, imports: -1, exports: -1, wildcards: true };
  const trusted = signed(operator, operator, { type: "operator" });
  const known = signed(account, operator, {
    type: "account",
    limits: { ...endless, ...connections },
    default_permissions: { pub: {}, sub: {} },
  });
  const jwt = signed(user, account, { type: "user", pub: {}, sub: {}, ...endless });
  return {
    config: `operator: "${trusted}"
      resolver: MEMORY
      resolver_preload: { ${account.getPublicKey()}: "${known}" }`,
    creds: `-----BEGIN NATS USER JWT-----
${jwt}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
${new TextDecoder().decode(user.getSeed())}
------END USER NKEY SEED------
`,
  };
}

/** The claims of an issuer about a user, in NATS's kind of JWT. */
function signed(subject: KeyPair, issuer: KeyPair, nats: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ typ: "JWT", alg: "ed25519-nkey" })}.${part({
    jti: subject.getPublicKey(),
    iat: Math.floor(Date.now() / 1000),
    iss: issuer.getPublicKey(),
    sub: subject.getPublicKey(),
    name: "test",
    nats: { version: 2, ...nats },
  })}`;
  return `${text}.${Buffer.from(issuer.sign(Buffer.from(text))).toString("base64url")}`;
}
