/** How long a call may take if neither its caller nor the server sets a timeout. */
export const defaultTimeoutMs = 60_000;

/** How long running calls may take to finish when a server or a connection closes. */
export const defaultDrainMs = 10_000;

/** How long to wait for a peer that does not read. */
export const defaultWriteTimeoutMs = 10_000;

/** How long a link waits for a connection. */
export const defaultConnectTimeoutMs = 10_000;

/** The oldest version of TLS that servers and links use. */
export const defaultMinTlsVersion = "TLSv1.2";

/** Interval of keep-alive comments on a silent event stream. */
export const defaultKeepAliveMs = 15_000;

/** How long an event stream can be resumed after its end. */
export const defaultReplayKeepMs = 60_000;

/** Longest reply that a client reads over HTTP. */
export const defaultMaxReplyBytes = 10 * 1024 * 1024;

/** Most memory that the running calls of a server hold. */
export const defaultMaxRunningBytes = 192 * 1024 * 1024;
