/** Codes of errors that LSP adds to those of JSON-RPC; throw them as `RpcError`s of `callwire`. */
export const LspErrorCode = {
  /** A request came before `initialize` was answered. */
  ServerNotInitialized: -32002,
  UnknownErrorCode: -32001,
  /** The request is valid but cannot be fulfilled; the message is shown to the user. */
  RequestFailed: -32803,
  /** The server cancelled the request; the data of a diagnostics request may ask to send it again. */
  ServerCancelled: -32802,
  /** The document changed so that the result would be useless. */
  ContentModified: -32801,
  /** The client cancelled the request. */
  RequestCancelled: -32800,
} as const;
