import type { Id, Params } from "../protocol/message.ts";

/** What a notification says about a call. */
export type Notice =
  | { readonly kind: "cancel"; readonly id: Id }
  | { readonly kind: "progress"; readonly token: unknown; readonly value: unknown };

/** The notifications about calls, for protocols that have names of their own for them. */
export interface Notices {
  /** Tells the other end that nobody waits for a call any more; it then sends no reply. */
  cancel(id: Id): { readonly method: string; readonly params: Params };
  /** Undefined where a notification is about no call, but for a method. */
  read(method: string, params: unknown): Notice | undefined;
}
