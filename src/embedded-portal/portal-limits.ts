// What one request may ask of the portal.

/** Bounds of a portal. Sizes in bytes, times in milliseconds. */
export interface PortalLimits {
  /** Largest body that is not an upload. */
  bodyBytes: number;
  /** Largest file. */
  fileBytes: number;
  /** Time in which the headers must have come. */
  headersMs: number;
  /** Longest pause within a body. */
  bodyIdleMs: number;
  /** Least average speed of a body that has been coming for longer than {@link PortalLimits.bodyIdleMs}, bytes a second. */
  bodyRate: number;
  /** Longest time that a client may take for the next part (64 kB) of an answer. */
  answerIdleMs: number;
  /** Longest silence on a connection that waits for something; longer than any import that is waited for. */
  silenceMs: number;
  /** Connections that one address may have at once; proxies that are trusted have as many as they like. */
  connectionsPerAddress: number;
}

/** Bounds that no real use meets. */
export const defaultLimits: PortalLimits = {
  bodyBytes: 2_000_000,
  fileBytes: 20_000_000_000,
  headersMs: 20_000,
  bodyIdleMs: 30_000,
  bodyRate: 500,
  answerIdleMs: 60_000,
  silenceMs: 180_000,
  connectionsPerAddress: 1024,
};
