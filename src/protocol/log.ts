/** Where the library logs; pino and similar loggers fit as they are. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Writes warnings and errors to the console unchanged, drops the rest. The short form, for clients in pages. */
export const plainLog: Log = {
  debug() {},
  info() {},
  warn: (fields, message) => console.warn(message, fields),
  error: (fields, message) => console.error(message, fields),
};

/** A logger that throws, on a full disk for example, must not fail calls. */
export function safeLog(log: Log): Log {
  const steady =
    (level: keyof Log) =>
    (fields: object, message: string): void => {
      try {
        log[level](fields, message);
      } catch {
        // There is nowhere left to report it.
      }
    };
  return {
    debug: steady("debug"),
    info: steady("info"),
    warn: steady("warn"),
    error: steady("error"),
  };
}

/** Drops everything. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };
