import { isThenable, type MaybePromise } from "../protocol/message.ts";
import type { LspServerHandlers } from "./handlers.ts";
import type { LspCall } from "./lsp-call.ts";
import type {
  Diagnostic,
  DocumentDiagnosticReport,
  DocumentDiagnosticReportProgress,
  DocumentUri,
} from "./model/structures.ts";

type Handler = NonNullable<LspServerHandlers["textDocument/diagnostic"]>;

/**
 * Sends diagnostics after each change to a client that does not request them: one handler of
 * `textDocument/diagnostic` serves both kinds of clients. While it works on a document, further changes of the document
 * wait and are then handled once.
 */
export class PushedDiagnostics {
  readonly #handler: Handler;
  /** Documents that are being diagnosed; true if they changed meanwhile. */
  readonly #busy = new Map<DocumentUri, boolean>();

  constructor(handler: Handler) {
    this.#handler = handler;
  }

  changed(uri: DocumentUri, call: LspCall<DocumentDiagnosticReportProgress>): void {
    if (this.#busy.has(uri)) {
      this.#busy.set(uri, true);
      return;
    }
    const version = call.documents.get(uri)?.version;
    if (version === undefined) return;
    this.#busy.set(uri, false);
    const failed = (thrown: unknown): void => {
      call.log.error({ err: thrown, uri }, "the handler of textDocument/diagnostic failed");
      this.#done(uri, call);
    };
    try {
      const report: MaybePromise<unknown> = this.#handler({ textDocument: { uri } }, call);
      if (!isThenable(report)) this.#report(uri, version, report, call);
      else report.then((value) => this.#report(uri, version, value, call)).then(undefined, failed);
    } catch (thrown) {
      failed(thrown);
    }
  }

  /** The client closed a document; what it shows of it is removed. */
  closed(uri: DocumentUri, { client }: LspCall): void {
    client.notify("textDocument/publishDiagnostics", { uri, diagnostics: [] });
  }

  #report(
    uri: DocumentUri,
    version: number,
    report: unknown,
    call: LspCall<DocumentDiagnosticReportProgress>,
  ): void {
    const { client, documents } = call;
    const { items, related } = itemsOf(report as DocumentDiagnosticReport);
    // Diagnostics of an older version would be shown in wrong places.
    if (items !== undefined && documents.get(uri)?.version === version) {
      client.notify("textDocument/publishDiagnostics", { uri, version, diagnostics: items });
    }
    for (const [other, diagnostics] of related) {
      client.notify("textDocument/publishDiagnostics", { uri: other, diagnostics });
    }
    this.#done(uri, call);
  }

  #done(uri: DocumentUri, call: LspCall<DocumentDiagnosticReportProgress>): void {
    const isStale = this.#busy.get(uri) === true;
    this.#busy.delete(uri);
    if (isStale) this.changed(uri, call);
  }
}

/** The diagnostics of a report and of the documents related to it; undefined if they have not changed. */
function itemsOf(report: DocumentDiagnosticReport): {
  readonly items: Diagnostic[] | undefined;
  readonly related: readonly [DocumentUri, Diagnostic[]][];
} {
  const related = Object.entries(report.relatedDocuments ?? {}).flatMap(
    ([uri, other]): [DocumentUri, Diagnostic[]][] =>
      other.kind === "full" ? [[uri, other.items]] : [],
  );
  return { items: report.kind === "full" ? report.items : undefined, related };
}
