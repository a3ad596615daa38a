/** The Language Server Protocol: language servers and clients for them. @module callwire/lsp */
export {
  type LspLink,
  type LspSocketLinkOptions,
  type LspStdioLinkOptions,
  lspChannelLink,
  lspIpcLink,
  lspSocketLink,
  lspStdioLink,
} from "./client-links.ts";
export type { ProgressListener } from "./client-side.ts";
export type { Configuration } from "./configuration.ts";
export type { ConnectedClient, RegisteredCapability, RegistrationOf } from "./connected-client.ts";
export type { Documents } from "./documents.ts";
export { LspErrorCode } from "./errors.ts";
export { type LspFlags, lspFlags } from "./flags.ts";
export type { LspClientHandlers, LspServerHandlers } from "./handlers.ts";
export type { LspCall, WorkDoneProgress } from "./lsp-call.ts";
export {
  type LspClient,
  type LspClientOptions,
  type LspEvent,
  type LspRequestOptions,
  lspClient,
} from "./lsp-client.ts";
export { type LspServer, type LspServerOptions, lspServer } from "./lsp-server.ts";
export {
  ApplyKind,
  CodeActionKind,
  CodeActionTag,
  CodeActionTriggerKind,
  CompletionItemKind,
  CompletionItemTag,
  CompletionTriggerKind,
  DiagnosticSeverity,
  DiagnosticTag,
  DocumentDiagnosticReportKind,
  DocumentHighlightKind,
  FailureHandlingKind,
  FileChangeType,
  FileOperationPatternKind,
  FoldingRangeKind,
  InitializeErrorCodes,
  InlayHintKind,
  InlineCompletionTriggerKind,
  InsertTextFormat,
  InsertTextMode,
  LanguageKind,
  MarkupKind,
  MessageType,
  MonikerKind,
  NotebookCellKind,
  PositionEncodingKind,
  PrepareSupportDefaultBehavior,
  RegularExpressionEngineKind,
  ResourceOperationKind,
  SemanticTokenModifiers,
  SemanticTokenTypes,
  SignatureHelpTriggerKind,
  SymbolKind,
  SymbolTag,
  TextDocumentSaveReason,
  TextDocumentSyncKind,
  TokenFormat,
  UniquenessLevel,
  WatchKind,
} from "./model/enumerations.ts";
export type {
  ClientNotifications,
  ClientRequests,
  ServerNotifications,
  ServerRequests,
} from "./model/messages.ts";
export type * from "./model/structures.ts";
export type { RequestEvents } from "./request-events.ts";
export { type ServeLspOptions, serveLsp } from "./serve.ts";
export { TextDocument } from "./text-document.ts";
export type { WorkInProgress } from "./work-in-progress.ts";
