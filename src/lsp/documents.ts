import type { ServerNotifications } from "./model/messages.ts";
import type { DocumentUri } from "./model/structures.ts";
import type { PositionEncoding } from "./position-encoding.ts";
import { TextDocument } from "./text-document.ts";

type Params<Method extends keyof ServerNotifications> = ServerNotifications[Method]["params"];

/** The documents that the client has open, each in its latest version. */
export class Documents implements Iterable<TextDocument> {
  readonly #open = new Map<DocumentUri, TextDocument>();
  readonly #encoding: () => PositionEncoding;

  constructor(encoding: () => PositionEncoding) {
    this.#encoding = encoding;
  }

  /** Undefined if the client does not have the document open. */
  get(uri: DocumentUri): TextDocument | undefined {
    return this.#open.get(uri);
  }

  get size(): number {
    return this.#open.size;
  }

  [Symbol.iterator](): Iterator<TextDocument> {
    return this.#open.values();
  }

  open({ textDocument }: Params<"textDocument/didOpen">): void {
    this.#open.set(textDocument.uri, new TextDocument(textDocument, this.#encoding()));
  }

  /** False if the document is not open. */
  change({ textDocument, contentChanges }: Params<"textDocument/didChange">): boolean {
    const { uri, version } = textDocument;
    const document = this.#open.get(uri);
    if (document !== undefined) this.#open.set(uri, document.changed(contentChanges, version));
    return document !== undefined;
  }

  close({ textDocument }: Params<"textDocument/didClose">): void {
    this.#open.delete(textDocument.uri);
  }
}
