import type { ServerNotifications } from "./model/messages.ts";
import type { DocumentUri, TextDocumentContentChangeEvent } from "./model/structures.ts";
import type { PositionEncoding } from "./position-encoding.ts";
import { TextDocument } from "./text-document.ts";

type Params<Method extends keyof ServerNotifications> = ServerNotifications[Method]["params"];

/** Most changes, and characters in them, that wait until a document is read; stops memory exhaustion. */
const mostWaiting = 1_000;
const mostCharacters = 1024 * 1024;

/** An open document, and changes that were not made yet. */
interface OpenDocument {
  document: TextDocument;
  version: number;
  waiting: TextDocumentContentChangeEvent[];
  characters: number;
}

/**
 * The documents that the client has open, each in its latest version. Changes are applied when a document is
 * read, because applying many at once is faster.
 */
export class Documents implements Iterable<TextDocument> {
  readonly #open = new Map<DocumentUri, OpenDocument>();
  readonly #encoding: () => PositionEncoding;

  constructor(encoding: () => PositionEncoding) {
    this.#encoding = encoding;
  }

  /** Undefined if the client does not have the document open. */
  get(uri: DocumentUri): TextDocument | undefined {
    const open = this.#open.get(uri);
    return open === undefined ? undefined : latest(open);
  }

  get size(): number {
    return this.#open.size;
  }

  *[Symbol.iterator](): Iterator<TextDocument> {
    for (const open of this.#open.values()) yield latest(open);
  }

  /** Internal, as the following. */
  open({ textDocument }: Params<"textDocument/didOpen">): void {
    const document = new TextDocument(textDocument, this.#encoding());
    const { version } = document;
    this.#open.set(textDocument.uri, { document, version, waiting: [], characters: 0 });
  }

  /** False if the document is not open. */
  change({ textDocument, contentChanges }: Params<"textDocument/didChange">): boolean {
    const open = this.#open.get(textDocument.uri);
    if (open === undefined) return false;
    open.version = textDocument.version;
    for (const change of contentChanges) {
      open.waiting.push(change);
      open.characters += change.text.length;
    }
    if (open.waiting.length > mostWaiting || open.characters > mostCharacters) latest(open);
    return true;
  }

  close({ textDocument }: Params<"textDocument/didClose">): void {
    this.#open.delete(textDocument.uri);
  }
}

/** Makes the changes that wait. */
function latest(open: OpenDocument): TextDocument {
  const { document, version, waiting } = open;
  if (version === document.version && waiting.length === 0) return document;
  // Emptied first: a change that is invalid fails once, and not for each reader.
  open.waiting = [];
  open.characters = 0;
  open.document = document.changed(waiting, version);
  return open.document;
}
