import { invalidRequest } from "../../protocol/errors.ts";
import type { ErrorObject } from "../../protocol/message.ts";
import { copyString } from "../../protocol/string-copy.ts";

/** A name that is longer is no name to route by; NATS takes no more than 4 KiB of subjects at a time. */
const longestName = 200;
const mostKept = 10_000;
/** What the subjects of all workers begin with. */
export const ofWorkers = "_CALLWIRE.";

/** What is answered to a call that is not where its method is called: who may send to one subject must not reach the methods of another. */
export const calledElsewhere: ErrorObject = invalidRequest("this is called at another subject");

/** Where the calls of one service go. The engine routes by these names, and permissions are given by them. */
export class Subjects {
  readonly base: string;
  /** Batches. Any worker answers them, whatever is in them. */
  readonly batch: string;
  /** Calls that no worker has subscribed to: somebody has to say that there is no such method. */
  readonly any: string;
  /** Where those hear who are about to leave: whom nobody else takes, they tell so. */
  readonly leaving: string;
  /** Every worker hears what is sent here. It lies elsewhere, so that `base.>` does not match it. */
  readonly workers: string;
  readonly #known = new Map<string, string>();

  constructor(base: string) {
    requireSubject(base);
    this.base = base;
    this.batch = `${base}.$batch`;
    this.any = `${base}.$any`;
    this.leaving = `${base}.$leaving`;
    this.workers = `${ofWorkers}${base}.workers`;
  }

  /** The address of one worker, to which those who deal with it reply. */
  worker(id: string): string {
    return `${ofWorkers}${this.base}.${id}`;
  }

  /** `math/add` and `math.add` are called at `base.math.add`; characters that NATS does not like are written as in URLs. */
  of(method: string): string {
    // Not even kept in mind: a caller could fill the memory with them.
    if (method.length > longestName) return this.any;
    const known = this.#known.get(method);
    if (known !== undefined) return known;
    const subject = this.#written(method);
    if (this.#known.size >= mostKept) this.#known.clear();
    this.#known.set(copyString(method), copyString(subject));
    return subject;
  }

  #written(method: string): string {
    try {
      return `${this.base}.${method.split(/[/.]/).map(token).join(".")}`;
    } catch {
      // Half of a surrogate pair has no form in UTF-8.
      return this.any;
    }
  }
}

/** Refuses what the names of methods cannot be put behind. */
export function requireSubject(base: string): void {
  if (typeof base === "string" && /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/.test(base)) return;
  throw new TypeError(`a subject is words of letters, digits, - and _ with dots, not "${base}"`);
}

function token(part: string): string {
  if (part === "") return "%";
  return encodeURIComponent(part).replace(
    /[!'()*~]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
