import type { Id, Params } from "../protocol/message.ts";

/** A notification about a call. */
export type Notice =
  | { readonly kind: "cancel"; readonly id: Id }
  | { readonly kind: "progress"; readonly token: unknown; readonly value: unknown };

/** Notifications about calls, for protocols with their own names for them. */
export interface Notices {
  /** The notification that cancels a call; the peer then sends no reply. */
  cancel(id: Id): { readonly method: string; readonly params: Params };
  /** Undefined if a notification is for a method, and not about a call. */
  read(method: string, params: unknown): Notice | undefined;
}
