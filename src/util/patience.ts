// What keeps other servers from holding a connection, or a job that waits for it, for ever.
import { Client, type Dispatcher, errors } from 'undici';

/** The slowest body that is waited for in the long run. */
const slowestBytesPerMs = 64;

/**
 * Passes on a body until it trickles; then it rejects with `error`. A body has ten times the longest pause, and a second
 * for each 64 KB. Silence is left to undici.
 */
export async function* steady(
  body: AsyncIterable<Buffer>,
  { pauseMs, error }: { pauseMs: number; error: (bytes: number, ms: number) => Error },
): AsyncGenerator<Buffer> {
  const began = performance.now();
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    const ms = performance.now() - began;
    if (ms > 10 * pauseMs + bytes / slowestBytesPerMs) throw error(bytes, Math.round(ms));
    yield chunk;
  }
}

/** Gives up a request whose reply has no complete head in time: undici waits as long again after each preliminary one. */
export const headWithin =
  (ms: number): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) => {
    let timer: NodeJS.Timeout | undefined;
    return dispatch(options, {
      onRequestStart: (controller, context) => {
        timer = setTimeout(() => controller.abort(new errors.HeadersTimeoutError()), ms);
        handler.onRequestStart?.(controller, context);
      },
      onResponseStart: (controller, status, ...head) => {
        if (status >= 200) clearTimeout(timer);
        handler.onResponseStart?.(controller, status, ...head);
      },
      onResponseData: (controller, chunk) => handler.onResponseData?.(controller, chunk),
      onResponseEnd: (controller, trailers) => handler.onResponseEnd?.(controller, trailers),
      onResponseError: (controller, error) => {
        clearTimeout(timer);
        handler.onResponseError?.(controller, error);
      },
    });
  };

/** A pool takes a client that refused a request itself for busy, for ever; this one is free again. */
export class FreeClient extends Client {
  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return super.dispatch(options, handler) || (this.stats.size === 0 && !this.closed && !this.destroyed);
  }
}
