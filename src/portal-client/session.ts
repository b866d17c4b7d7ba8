// The session with one portal: login on demand, shared by all calls, renewed once when the portal forgets it.
import { paths } from '../dataset-api/paths.ts';
import { PortalBusyError, PortalLoginError, PortalRefusedError } from '../model/errors.ts';
import { AdaptiveSlots, abortable } from '../util/concurrency.ts';
import { withoutSecrets } from '../util/secrets.ts';
import { answers, type PortalFacts, type Reply, situationOf } from './answers.ts';
import { failureOf } from './classify.ts';
import { type FileReply, Http, type HttpRequest } from './http.ts';
import { credentialsHint, type Identity, type Live, logIn } from './login.ts';
import type { PortalHooks, PortalSettings } from './settings.ts';

/** A request of the API in the name of the logged-in user. */
export interface Call extends HttpRequest {
  /** Names the kind of request, such as `create node`, to know whether it worked before. */
  action: string;
  /** Name of the file that is sent. */
  upload?: string;
  /** True for what saves a node: overlapping saves deadlock on many portals, then fewer are sent at once. */
  isSave?: boolean;
  /** Runs between a renewed login and the repeat; a write checks there whether it must still be sent. */
  beforeRepeat?: (signal: AbortSignal) => Promise<void>;
}

/** How long an unused session is kept, milliseconds. */
const idleMs = 60_000;

/**
 * How often one request is sent again because its session was over: on portals whose sessions end early, and where no session
 * has carried out a write yet, so that something in between may take its cookies away.
 */
const [mostRenewals, mostUnproven] = [10, 3];

/** How long a log-out may take, milliseconds. */
const logoutMs = 2000;

/** A session is renewed before a portal ends it in the middle of the work (embedded ones after twelve hours), milliseconds. */
const renewMs = 6 * 3_600_000;

/** The session of one portal; lazy: nothing is sent before the first call. */
export class Session {
  readonly http: Http;
  readonly saves: AdaptiveSlots;
  private readonly facts: PortalFacts;
  private readonly settings: PortalSettings;
  private readonly hooks: PortalHooks;
  private readonly closing = new AbortController();
  private readonly worked = new Set<string>();
  private hasWritten = false;
  private live: Live | null = null;
  private pending: Promise<Live> | null = null;
  private refused: PortalLoginError | null = null;
  private idle: NodeJS.Timeout | undefined;

  constructor(settings: PortalSettings, hooks: PortalHooks) {
    this.settings = settings;
    this.hooks = hooks;
    const { origin, pathname } = new URL(settings.url);
    const url = `${origin}${pathname.replace(/\/+$/, '')}`;
    this.facts = { name: settings.name, url, proven: false, user: null, redact: (text) => this.redact(text) };
    this.http = new Http(settings, hooks, this.facts);
    this.saves = new AdaptiveSlots(settings.connections);
  }

  /** What errors about replies need to know of this portal. */
  get portal(): PortalFacts {
    return this.facts;
  }

  /** Ends with the portal; for work that several calls share. */
  get signal(): AbortSignal {
    return this.closing.signal;
  }

  /**
   * Who is logged in; logs in when no one is.
   * @throws PortalLoginError when the portal refused the login, now or earlier (then nothing is sent).
   */
  async identity(signal: AbortSignal): Promise<Identity> {
    return (await this.current(signal)).identity;
  }

  /** Forgets session and refusal and logs in again; calls made at once share one login. */
  async login(signal: AbortSignal): Promise<Identity> {
    if (this.pending === null) {
      this.refused = null;
      this.live = null;
    }
    return (await this.current(signal)).identity;
  }

  /**
   * Sends a request in the session and resolves with its successful reply. A session that is over is renewed by one login for
   * all waiting calls, and the request sent again: as often as it takes on a portal whose sessions end early.
   * @throws PortalSessionError when the session is over each time; PortalError as `failureOf`.
   */
  async call(call: Call, signal: AbortSignal): Promise<Reply> {
    this.logoutLater();
    for (let renewals = 0; ; renewals++) {
      const live = await this.current(signal);
      if (live.isAnonymous && call.method !== 'GET' && !call.isRead) throw this.readOnly(call);
      if (renewals > 0) await call.beforeRepeat?.(signal);
      const { reply, portal } = await this.send(call, live, signal);
      // What is forbidden to a fresh session as well is no fault of the session.
      const known = { ...portal, worked: renewals === 0 && this.worked.has(call.action) };
      const isLost = !live.isAnonymous && answers[situationOf(reply, known)].logsIn === true;
      if (!isLost || renewals === (this.hasWritten ? mostRenewals : mostUnproven))
        return this.accept(reply, call, known);
      await this.drop(live, reply, call);
    }
  }

  /** Forgets a session that is over, so that the next call logs in. @throws PortalLoginError where a token replaces it */
  private async drop(live: Live, reply: Reply, { action }: Call): Promise<void> {
    const failure = failureOf(reply, this.facts);
    if (live.authorization !== null) {
      this.refused = new PortalLoginError(failure.message, failure.request, {
        hint: 'the portal rejected the configured token; create a new one, then start again',
      });
      throw this.refused;
    }
    if (this.live !== live) return;
    this.live = null;
    const { status } = reply;
    this.hooks.log.warn({ portal: this.facts.name, action, status }, 'session was lost, logging in again');
  }

  /** See {@link Http.file}; asked for in the session. */
  async file<T>(path: string, take: (reply: FileReply) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { cookies, authorization } = await this.current(signal);
    const cookie = cookies.header(path);
    const headers = { ...(cookie === '' ? {} : { cookie }), ...(authorization === null ? {} : { authorization }) };
    return this.http.file(path, headers, take, signal);
  }

  /** An unused session is ended: portals keep one for weeks. */
  private logoutLater(): void {
    clearTimeout(this.idle);
    this.idle = setTimeout(() => void this.logout(), idleMs);
    this.idle.unref();
  }

  /** Ends the session on the portal, where there is one; the next call logs in again. Never rejects. */
  async logout(): Promise<void> {
    const { live } = this;
    this.live = null;
    await this.end(live);
  }

  /** Ends shared work, logs out and closes the connections. */
  async close(): Promise<void> {
    clearTimeout(this.idle);
    this.closing.abort(new Error(`the client of portal ${this.facts.name} was closed`));
    await this.end(this.live);
    await this.http.close();
  }

  private async end(live: Live | null): Promise<void> {
    if (live === null || live.authorization !== null || live.isAnonymous || live.isEnded) return;
    live.isEnded = true;
    const headers = { 'content-type': 'application/json' };
    const call = { action: 'log out', method: 'POST', path: paths.logout, headers, body: '' } as const;
    try {
      await this.send(call, live, AbortSignal.timeout(logoutMs));
    } catch (error) {
      this.hooks.log.debug({ portal: this.facts.name, err: error }, 'could not log out');
    }
  }

  private async current(signal: AbortSignal): Promise<Live> {
    signal.throwIfAborted();
    if (this.refused !== null) throw this.refused;
    if (this.live !== null && performance.now() - this.live.since < renewMs) return this.live;
    this.pending ??= this.logIn().finally(() => {
      this.pending = null;
    });
    return abortable(this.pending, signal);
  }

  private async send(call: Call, live: Live, signal: AbortSignal): Promise<{ reply: Reply; portal: PortalFacts }> {
    const cookie = live.cookies.header(call.path);
    const headers: Record<string, string> = { ...call.headers };
    if (cookie !== '') headers.cookie = cookie;
    if (live.authorization !== null) headers.authorization = live.authorization;
    if (live.token !== null && call.method !== 'GET') headers['x-csrf-token'] = live.token;
    const reply = await this.http.exchange({ ...call, headers }, signal);
    live.cookies.store(call.path, reply.headers['set-cookie']);
    const isLoggedOut = cookie !== '' && live.cookies.header(call.path) === '';
    const user = live.isAnonymous ? null : live.identity.name;
    return { reply, portal: { ...this.facts, user, isLoggedOut, upload: call.upload } };
  }

  private accept(reply: Reply, call: Call, portal: PortalFacts): Reply {
    if (reply.status < 200 || reply.status >= 300) throw failureOf(reply, portal);
    this.worked.add(call.action);
    this.hasWritten ||= call.method !== 'GET' && !call.isRead;
    return reply;
  }

  private async logIn(): Promise<Live> {
    try {
      const live = await logIn({ http: this.http, settings: this.settings, hooks: this.hooks }, this.signal);
      this.live = live;
      this.facts.proven = true;
      return live;
    } catch (error) {
      if (error instanceof PortalLoginError) await this.remember(error);
      throw error;
    }
  }

  /** A refused login is never tried again by itself: five failures block the account (recorded behaviour 5). */
  private async remember(error: PortalLoginError): Promise<void> {
    this.refused = error;
    try {
      await this.hooks.onLoginRefused?.(error);
    } catch (cause) {
      this.hooks.log.warn({ portal: this.facts.name, err: cause }, 'the refused login could not be reported');
    }
  }

  /** Not a refused login: that would pause a portal whose exports need none. */
  private readOnly({ method, path }: Call): PortalRefusedError {
    return new PortalRefusedError(
      `portal ${this.facts.name}: it has no login, so it can only be exported`,
      { method, path, mayHaveHappened: false },
      { hint: credentialsHint },
    );
  }

  private redact(text: string): string {
    const secrets = [
      this.settings.password,
      this.settings.token ?? '',
      this.live?.token ?? '',
      ...(this.live?.cookies.values() ?? []),
    ];
    return withoutSecrets(text, secrets);
  }
}

/** The right of a job to write; `check` rejects once another worker has the job. */
export interface WriteLease {
  check(): Promise<void>;
}

/** Sends calls in the session; writes only while the lease of a job is valid. */
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

  identity(signal: AbortSignal): Promise<Identity> {
    return this.#session.identity(signal);
  }

  call(call: Call, signal: AbortSignal): Promise<Reply> {
    const lease = this.#lease;
    const mayWrite = lease && call.method !== 'GET' && !call.isRead ? { mayWrite: () => lease.check() } : {};
    const send = () => this.#session.call({ ...call, ...mayWrite }, signal);
    if (!call.isSave) return send();
    return this.#session.saves.run(send, (error) => error instanceof PortalBusyError, signal);
  }
}
