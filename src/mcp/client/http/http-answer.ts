/** An HTTP response, whichever client brought it. */
export interface HttpAnswer {
  readonly status: number;
  header(name: string): string | undefined;
  /** The body; leaving the loop lets go of the connection. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Nobody reads the body. */
  discard(): Promise<void>;
}

export function isSuccess({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300;
}
