import { isRecord } from "../../protocol/record.ts";
import type { ContentBlock } from "../content.ts";
import type { Meta } from "../meta-keys.ts";

const validName = /^[A-Za-z][A-Za-z0-9_-]{0,31}$/;

/** Hosts find the pages of tools by this scheme, so it stays. */
const uiScheme = "ui://";

/** How a gateway names the tools, prompts and resources of one server, so that those of two never clash. */
export class Prefix {
  readonly #names: string;
  readonly #scheme: string;

  /** An empty prefix leaves all names as they are. */
  constructor(prefix: string) {
    if (prefix !== "" && !validName.test(prefix)) {
      throw new TypeError(
        `"${prefix}" cannot be a prefix; use 1 to 32 letters, digits, "_" and "-", the first a letter`,
      );
    }
    this.#names = prefix === "" ? "" : `${prefix}_`;
    // Schemes have no underscores, and are compared without case.
    this.#scheme = prefix === "" ? "" : `${prefix.toLowerCase().replaceAll("_", "-")}+`;
  }

  /** Two servers with the same one would share their URIs. */
  get scheme(): string {
    return this.#scheme;
  }

  /** A tool or prompt. */
  name(name: string): string {
    return this.#names + name;
  }

  /** A URI or a template: `file:///a` becomes `files+file:///a`. */
  uri(uri: string): string {
    return uri.startsWith(uiScheme)
      ? uiScheme + this.#scheme + uri.slice(uiScheme.length)
      : this.#scheme + uri;
  }

  /** The URI as the server knows it; the reverse of `uri`. */
  ownUri(uri: string): string {
    const start = uri.startsWith(uiScheme) ? uiScheme : "";
    return start + uri.slice(start.length + this.#scheme.length);
  }

  /** Content with the URIs that clients can read. */
  content<C extends object>(block: C): C {
    if (this.#scheme === "" || !isRecord(block)) return block;
    const { type, uri, resource } = block as Partial<Record<string, unknown>>;
    if (type === "resource_link" && typeof uri === "string") {
      return { ...(block as C), uri: this.uri(uri) };
    }
    if (type !== "resource" || !isRecord(resource) || typeof resource.uri !== "string") {
      return block as C;
    }
    return { ...(block as C), resource: { ...resource, uri: this.uri(resource.uri) } };
  }

  contents(blocks: readonly ContentBlock[]): readonly ContentBlock[] {
    return this.#scheme === "" ? blocks : blocks.map((block) => this.content(block));
  }

  /** The `_meta` of a tool, in which extensions name the resource that shows its results. */
  meta(meta: Meta): Meta {
    const { ui, "ui/resourceUri": older } = meta;
    const resourceUri = isRecord(ui) ? ui.resourceUri : undefined;
    return {
      ...meta,
      ...(typeof resourceUri === "string" && {
        ui: { ...(ui as object), resourceUri: this.uri(resourceUri) },
      }),
      ...(typeof older === "string" && { "ui/resourceUri": this.uri(older) }),
    };
  }
}
