/** Whether it means all addresses of the machine. */
export function isAnyAddress(host: string): boolean {
  return host === "0.0.0.0" || host === "::" || host === "";
}

/** An address as written in a URL. */
export function hostName(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** The host by which this machine reaches a server that listens on the address. */
export function reachable(host: string): string {
  return isAnyAddress(host) ? "localhost" : hostName(host);
}

/** Explains why listening failed. */
export function listenError(error: NodeJS.ErrnoException, port: number, host: string): Error {
  const sentences: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} of ${host} is already in use`,
    EACCES: `listening on port ${port} needs more permissions`,
    EADDRNOTAVAIL: `${host} is not an address of this machine`,
    ENOTFOUND: `the address ${host} cannot be resolved`,
  };
  const sentence = sentences[error.code ?? ""] ?? error.message;
  return Object.assign(new Error(sentence, { cause: error }), { code: error.code });
}
