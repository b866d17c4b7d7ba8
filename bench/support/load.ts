// A load generator that costs little itself: requests are bytes made beforehand, answers are read by their length.
import { connect, type Socket } from 'node:net';

/** A request; the header lines `host` and `content-length` are added. */
export interface Shot {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: Buffer | string;
}

/** The bytes of a request to `url`. */
export const bytesOf = (url: string, { method, path, headers = {}, body = '' }: Shot): Buffer => {
  const payload = Buffer.from(body);
  const lines = Object.entries({ host: new URL(url).host, ...headers, 'content-length': String(payload.length) });
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`),
    payload,
  ]);
};

/** One connection; requests one after the other. */
export class Connection {
  readonly #socket: Socket;
  #buffer: Buffer = Buffer.alloc(0);
  #answered: ((body: Buffer) => void) | null = null;
  #failed: ((error: Error) => void) | null = null;

  constructor(url: string) {
    this.#socket = connect(Number(new URL(url).port), '127.0.0.1').setNoDelay(true);
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#socket.on('error', (error) => this.#failed?.(error));
    this.#socket.on('close', () => this.#failed?.(new Error('the server closed the connection')));
  }

  /** Sends a request; resolves with the body of its answer, which must be 200. */
  send(request: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#answered = resolve;
      this.#failed = reject;
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#failed = null;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
    const end = this.#buffer.indexOf('\r\n\r\n');
    if (end === -1) return;
    const head = this.#buffer.toString('latin1', 0, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN);
    if (!head.startsWith('HTTP/1.1 200') || Number.isNaN(length)) {
      this.#failed?.(new Error(`unexpected answer: ${this.#buffer.toString('utf8').slice(0, 500)}`));
      return;
    }
    if (this.#buffer.length < end + 4 + length) return;
    const body = this.#buffer.subarray(end + 4, end + 4 + length);
    this.#buffer = Buffer.alloc(0);
    this.#answered?.(body);
  }
}

/** Runs `once` on `connections` connections again and again for `seconds`; returns how often it ended per second. */
export const perSecond = async (
  url: string,
  { connections, seconds }: { connections: number; seconds: number },
  once: (connection: Connection, number: number) => Promise<unknown>,
): Promise<number> => {
  let number = 0;
  const begun = performance.now();
  const until = begun + seconds * 1000;
  const work = async (): Promise<void> => {
    const connection = new Connection(url);
    while (performance.now() < until) {
      number += 1;
      await once(connection, number);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: connections }, work));
  return (number / (performance.now() - begun)) * 1000;
};
