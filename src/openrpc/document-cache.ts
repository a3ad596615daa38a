import type { OpenrpcDocument } from "./specification.ts";

/** Most cached documents; callers differ in few ways. */
const mostKept = 64;

/** A cache of documents by the names of their methods. */
export class DocumentCache {
  readonly #byNames = new Map<string, OpenrpcDocument>();

  /** The cached document of these methods, or a new one. */
  of(names: readonly string[], make: () => OpenrpcDocument): OpenrpcDocument {
    const key = JSON.stringify(names);
    const kept = this.#byNames.get(key);
    if (kept !== undefined) return kept;
    const made = make();
    if (this.#byNames.size < mostKept) this.#byNames.set(key, made);
    return made;
  }
}
