// A connection to Redis that sends what one turn of the event loop asked for in one system call.
import type { Redis } from 'ioredis';
import { EndableRedis } from './client.ts';

/**
 * A client whose commands leave together at the end of the turn of the event loop in which they were made, in
 * their order. Each command keeps its own reply. (ioredis' auto-pipelining joins the commands of one tick only, leaves
 * scripts out, and makes one reply wait for all.)
 */
export class BatchingRedis extends EndableRedis {
  override sendCommand(...args: Parameters<Redis['sendCommand']>): unknown {
    const socket = this.stream;
    if (socket && socket.writableCorked === 0) {
      socket.cork();
      setImmediate(() => socket.uncork());
    }
    return super.sendCommand(...args);
  }
}
