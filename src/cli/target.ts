import { Failure } from "./failure.ts";
import { isServerUrl } from "./link-from-url.ts";

/** The address that comes first; what a verb needs after it is up to the verb. */
export function addressFrom(verb: string, positionals: readonly string[]): [string, string[]] {
  const [url, ...rest] = positionals;
  if (url === undefined) {
    throw new Failure(`${verb} needs an address; see "callwire ${verb} --help"`);
  }
  if (!isServerUrl(url) && /^[\w.-]+(:\d+)?(\/|$)/.test(url)) {
    const hint = `did you mean ${JSON.stringify(`http://${url}`)}?`;
    throw new Failure(`${JSON.stringify(url)} is no address; ${hint}`);
  }
  return [url, rest];
}

/** The address, the method and the words of the params. */
export function targetFrom(
  verb: string,
  positionals: readonly string[],
): { url: string; method: string; words: string[] } {
  const [url, [method, ...words]] = addressFrom(verb, positionals);
  if (method === undefined) {
    throw new Failure(`${verb} needs a method after the address; see "callwire ${verb} --help"`);
  }
  return { url, method, words };
}
