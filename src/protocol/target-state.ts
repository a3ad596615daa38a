/** The state of a server behind a gateway, as the gateway reports it and metrics count it. */
export interface TargetState {
  readonly upstream: string;
  readonly target: string;
  /** Whether it seems to be available, and may be called now. */
  readonly up: boolean;
  /** Calls in progress. */
  readonly inFlight: number;
  /** Calls that were sent to it. */
  readonly calls: number;
  /** Those that it did not answer. */
  readonly failures: number;
}
