// The session of a portal in the name of one job, or of none.
import type { PortalFacts, Reply } from './classify.ts';
import type { Call, Identity, Session } from './session.ts';

/** Says whether something may still be written in the name of a job; rejects once another worker has it. */
export interface WriteLease {
  check(): Promise<void>;
}

/** Sends calls in the session; those that change something only while the lease stands. */
export class Caller {
  readonly #session: Session;
  readonly #lease: WriteLease | null;

  constructor(session: Session, lease: WriteLease | null) {
    this.#session = session;
    this.#lease = lease;
  }

  /** What the classification of replies knows of this portal. */
  get portal(): PortalFacts {
    return this.#session.portal;
  }

  /** Ends with the portal; for work that several calls share. */
  get signal(): AbortSignal {
    return this.#session.signal;
  }

  /** See {@link Session.identity}. */
  identity(signal: AbortSignal): Promise<Identity> {
    return this.#session.identity(signal);
  }

  /** See {@link Session.call}. */
  call(call: Call, signal: AbortSignal): Promise<Reply> {
    const lease = this.#lease;
    const mayWrite = lease && call.method !== 'GET' && !call.isRead ? { mayWrite: () => lease.check() } : {};
    return this.#session.call({ ...call, ...mayWrite }, signal);
  }
}
