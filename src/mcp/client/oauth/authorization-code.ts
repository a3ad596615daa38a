/** A secret for one authorization, and what proves it afterwards. */
export interface Pkce {
  readonly verifier: string;
  readonly challenge: string;
}

export async function makePkce(): Promise<Pkce> {
  const verifier = randomText();
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  return { verifier, challenge: base64Url(new Uint8Array(digest)) };
}

/** 256 bits that nobody can guess. */
export function randomText(): string {
  return base64Url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64Url(bytes: Uint8Array): string {
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
