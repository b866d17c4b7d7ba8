// A client of Redis that can be ended at any moment and sends the commands of one turn of the event loop in one system call.
import { Redis, type RedisOptions } from 'ioredis';

/** What ioredis keeps of commands that were sent before a connection broke; it is not in its types. */
interface Stash {
  prevCommandQueue?: { shift(): { command: { reject(error: Error): void } } | undefined } | null;
}

/**
 * An ioredis client that ends in every state. ioredis 6.0 forgets two things when it is disconnected between the break of
 * a connection and the next one: that nothing will notify it of an end while it waits for its next try, and the commands
 * in progress when the connection broke. A worker of the queue that is closed then would wait forever. (Known to
 * both: redis/ioredis#2169 and #2197, taskforcesh/bullmq#4585.)
 */
export class EndableRedis extends Redis {
  constructor(options: Omit<RedisOptions, 'replyMapping'>) {
    super(options);
    this.on('end', () => this.#rejectStash());
  }

  /** Made by the queue for its blocking connections. */
  override duplicate(override: RedisOptions = {}): Redis {
    return new EndableRedis({ ...this.options, ...override });
  }

  override disconnect(reconnect = false): void {
    // As a client that has not connected yet, it ends at once.
    if (!reconnect && this.status === 'reconnecting') this.status = 'wait';
    super.disconnect(reconnect);
  }

  #rejectStash(): void {
    const stash = (this as Stash).prevCommandQueue;
    for (let item = stash?.shift(); item; item = stash?.shift()) {
      item.command.reject(new Error('Connection is closed.')); // the words by which the queue knows such an error
    }
  }
}

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
