/** Whether it stands for every address of the machine. */
export function isAnyAddress(host: string): boolean {
  return host === "0.0.0.0" || host === "::" || host === "";
}

/** An address as it stands in a URL. */
export function hostName(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** The name under which this machine reaches what listens at the address. */
export function reachable(host: string): string {
  return isAnyAddress(host) ? "localhost" : hostName(host);
}

/** Why listening failed, in a sentence. */
export function listenError(error: NodeJS.ErrnoException, port: number, host: string): Error {
  const sentences: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} of ${host} is already in use`,
    EACCES: `listening on port ${port} needs more rights`,
    EADDRNOTAVAIL: `${host} is no address of this machine`,
    ENOTFOUND: `${host} is no known address`,
  };
  const sentence = sentences[error.code ?? ""] ?? error.message;
  return Object.assign(new Error(sentence, { cause: error }), { code: error.code });
}
