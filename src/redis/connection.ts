// How connections to Redis are made, and short questions to a server.
import type { RedisOptions } from 'ioredis';

/**
 * What reaches a Redis: `path`, or `host`, `port`, `tls`, `username`, `password`, `db`. Spread it into the options of
 * every connection. It leaves out `replyMapping`, which ioredis types in a way that no variable can be passed.
 */
export type RedisConnectionOptions = Omit<RedisOptions, 'replyMapping'>;
