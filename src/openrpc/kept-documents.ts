import type { OpenrpcDocument } from "./specification.ts";

/** Callers differ in few ways; more documents than this are made anew. */
const mostKept = 64;

/** Documents that were made before, by the names of the methods in them. */
export class KeptDocuments {
  readonly #byNames = new Map<string, OpenrpcDocument>();

  /** The one of these methods, made now if there is none. */
  of(names: readonly string[], make: () => OpenrpcDocument): OpenrpcDocument {
    const key = JSON.stringify(names);
    const kept = this.#byNames.get(key);
    if (kept !== undefined) return kept;
    const made = make();
    if (this.#byNames.size < mostKept) this.#byNames.set(key, made);
    return made;
  }
}
