// Tells open pages that something has changed, so that they reload.
import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Log } from '../../model/log.ts';
import type { Overview } from '../../service/overview.ts';

/** Most open event streams; further pages do not refresh. */
const mostListeners = 100;
const lookMs = 2000;
/** Checks between two comments that keep proxies from closing a silent connection. */
const beatEvery = 8;

/** Checks for changes while pages listen. */
export class ChangeEvents {
  readonly #overview: Overview;
  readonly #log: Log;
  readonly #listeners = new Set<ServerResponse>();
  #timer: NodeJS.Timeout | null = null;
  #sign = '';
  #looks = 0;
  #isLooking = false;

  constructor(overview: Overview, log: Log) {
    this.#overview = overview;
    this.#log = log;
  }

  /** Answers with a stream of events; false when too many listen already. */
  listen(response: ServerResponse, headers: Record<string, string>): boolean {
    if (this.#listeners.size >= mostListeners) return false;
    response.writeHead(200, { ...headers, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
    response.write('retry: 5000\n\n');
    this.#listeners.add(response);
    response.once('close', () => this.#leave(response));
    response.on('error', () => this.#leave(response));
    this.#timer ??= setInterval(() => void this.#look(), lookMs).unref();
    return true;
  }

  close(): void {
    for (const response of this.#listeners) {
      response.end();
      response.socket?.destroySoon(); // a client that does not read would keep the server open
    }
    this.#listeners.clear();
    this.#stop();
  }

  #leave(response: ServerResponse): void {
    this.#listeners.delete(response);
    if (this.#listeners.size === 0) this.#stop();
  }

  #stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    this.#sign = '';
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const view = await this.#overview.view();
      const inboxes = view.inboxes.map(({ at: _at, ...inbox }) => inbox);
      const sign = hash('sha256', JSON.stringify({ ...view, inboxes }));
      if (this.#sign !== '' && sign !== this.#sign) this.#send('event: changed\ndata: \n\n');
      else if (this.#looks++ % beatEvery === 0) this.#send(': \n\n');
      this.#sign = sign;
    } catch (error) {
      this.#log.debug({ err: error }, 'checking for changes failed');
    } finally {
      this.#isLooking = false;
    }
  }

  #send(text: string): void {
    for (const response of this.#listeners) {
      if (response.writableLength > 0)
        response.destroy(); // it does not read; the browser reconnects
      else response.write(text);
    }
  }
}
