import { WebSocket, WebSocketServer } from "ws";

// `ws` is imported only here, and this file with the first connection: most servers never need it, and it takes as long
// to load as the rest of `serveHttp`.

/** A WebSocket that says when it is about to close, so that queued replies still leave before the close frame. */
export class ClosingSocket extends WebSocket {
  beforeClose?: (code: number | undefined, reason: string | Buffer | undefined) => void;

  /** `ws` also calls this itself, if the peer closes or breaks the protocol. */
  override close(code?: number, reason?: string | Buffer): void {
    this.beforeClose?.(code, reason);
    super.close(code, reason);
  }
}

/** Takes over sockets after their upgrade requests. */
export class Upgrader extends WebSocketServer<typeof ClosingSocket> {
  constructor(settings: object) {
    super({ ...settings, noServer: true, clientTracking: false, WebSocket: ClosingSocket });
  }
}
