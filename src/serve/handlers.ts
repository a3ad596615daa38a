import type { NodeHandler } from "../transports/http/node.ts";

/** Handlers of requests by path; one at a path that ends with a slash has all that is below it. */
export class Handlers {
  readonly #exact = new Map<string, NodeHandler>();
  /** Longest first, so that the nearest one answers. */
  readonly #below: [path: string, handler: NodeHandler][] = [];

  add(path: string, handler: NodeHandler): void {
    if (!path.startsWith("/")) throw new TypeError(`the path "${path}" must begin with a slash`);
    if (!path.endsWith("/")) this.#exact.set(path, handler);
    else {
      this.#below.push([path, handler]);
      this.#below.sort(([a], [b]) => b.length - a.length);
    }
  }

  at(path: string): NodeHandler | undefined {
    return this.#exact.get(path) ?? this.#below.find(([place]) => path.startsWith(place))?.[1];
  }
}
