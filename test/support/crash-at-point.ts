// Preload (`node --import`) that numbers everything its process does outside of itself and makes a fault at one of it.
// A point is a write to the socket of Redis or of the portal, or a call that makes a change to files last.
// CRASH_REDIS = socket path, CRASH_PORTAL = port, CRASH_LOG = file that gets a line `<number> <kind> <what>` for each point.
// CRASH_AT = number of the point (from 1), CRASH_HOW = what happens there, see test/chaos/support/crash-mode.ts;
// then CRASH_LOG gets that point only. CRASH_REDIS_PID = process of Redis.
import { appendFileSync, promises } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { isMainThread } from 'node:worker_threads';

const { CRASH_REDIS, CRASH_PORTAL, CRASH_LOG = '', CRASH_HOW = '', CRASH_REDIS_PID } = process.env;
const at = Number(process.env.CRASH_AT ?? 0);
const victim = CRASH_HOW.startsWith('redis') ? Number(CRASH_REDIS_PID) : process.pid;
let points = 0;

const strike = (): void => {
  process.kill(victim, 'SIGKILL');
  // The signal ends this process before it continues.
  if (victim === process.pid) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};

/** Marks every run that is in progress as cancelled. */
const cancel = `
  for _, gate in ipairs(redis.call('SMEMBERS', 'sluice.gates')) do
    local run = redis.call('HGET', 'sluice.current-run:' .. gate, 'current')
    if run then redis.call('HSET', 'sluice.cancelled', run, '1') end
  end`;

/** Notes that the operator has paused the portal. */
const pause = `
  local reason = { code = 'paused', message = 'paused by the operator', hint = 'resume it' }
  redis.call('HSET', 'sluice.portal:local', 'pause', cjson.encode({ reason = reason, since = 1, probe = cjson.null }))`;

/** Runs a script over a connection that is no point itself. */
const evaluate = (script: string): void => {
  const socket = new Socket();
  socket.on('error', () => undefined).on('data', () => socket.destroy());
  connect?.apply(socket, [{ path: CRASH_REDIS }]);
  socket.write(`*3\r\n$4\r\nEVAL\r\n$${script.length}\r\n${script}\r\n$1\r\n0\r\n`);
};

/** With `cancel-kill`: points between the cancel and the kill. */
const killedAfter = 25;

/** Counts a point; true at the one whose reply or result is waited for. */
const pass = (kind: string, what: string): boolean => {
  points += 1;
  if (CRASH_HOW === 'cancel-kill' && points === at + killedAfter) strike();
  if (at > 0 && points !== at) return false;
  appendFileSync(CRASH_LOG, `${points} ${kind} ${what}\n`);
  if (at === 0) return false;
  if (CRASH_HOW.startsWith('cancel') || CRASH_HOW === 'pause') {
    evaluate(CRASH_HOW === 'pause' ? pause : cancel);
    return false;
  }
  if (!CRASH_HOW.endsWith('before')) return true;
  strike();
  return false;
};

const kinds = new WeakMap<Socket, 'redis' | 'portal'>();
const armed = new WeakSet<Socket>();

/** What a write says: the commands with the key of a script, or the line of a request. */
const wordsOf = (kind: 'redis' | 'portal', text: string): string => {
  if (kind === 'portal') return /^[A-Z]+ \S+/.exec(text)?.[0] ?? 'more of a body';
  const calls = [
    ...text.matchAll(/^\*\d+\r\n\$\d+\r\n([a-z]+)\r\n(?:\$\d+\r\n[^\r]*\r\n\$\d+\r\n\d+\r\n\$\d+\r\n([^\r]*))?/gim),
  ];
  return calls.map(([, name = '', key]) => (/^evalsha$/i.test(name) ? `${name} ${key}` : name)).join(' ');
};

const written = (socket: Socket, chunks: unknown[]): void => {
  const kind = kinds.get(socket);
  if (kind === undefined) return;
  const text = Buffer.concat(chunks.map((chunk) => Buffer.from(chunk as Buffer | string))).toString('latin1');
  if (pass(kind, wordsOf(kind, text))) armed.add(socket);
};

// Patched by name, as the stream machinery of Node calls them.
const sockets = Socket.prototype as unknown as Record<string, (this: Socket, ...args: never[]) => unknown>;
const { connect, _write, _writev } = sockets as Record<string, (...args: unknown[]) => unknown>;
if (!connect || !_write || !_writev) throw new Error('sockets of this Node are written to in another way');
Object.assign(Socket.prototype, {
  connect(this: Socket, ...args: unknown[]) {
    const [to] = (Array.isArray(args[0]) ? args[0] : args) as [{ path?: string; port?: number | string }];
    if (to.path !== undefined && to.path === CRASH_REDIS) kinds.set(this, 'redis');
    if (to.port !== undefined && String(to.port) === CRASH_PORTAL) kinds.set(this, 'portal');
    return connect.apply(this, args);
  },
  _write(this: Socket, chunk: unknown, ...rest: unknown[]) {
    written(this, [chunk]);
    return _write.call(this, chunk, ...rest);
  },
  _writev(this: Socket, chunks: { chunk: unknown }[], ...rest: unknown[]) {
    written(
      this,
      chunks.map(({ chunk }) => chunk),
    );
    return _writev.call(this, chunks, ...rest);
  },
  push(this: Socket, chunk: unknown, ...rest: [BufferEncoding?]) {
    if (chunk === null || !armed.delete(this)) return Readable.prototype.push.call(this, chunk, ...rest);
    if (CRASH_HOW !== 'withheld') strike();
    this.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
    return false;
  },
});

const durable = (table: Record<string, (...args: unknown[]) => unknown>, names: string[]): void => {
  for (const name of names) {
    const original = table[name];
    if (original === undefined) throw new Error(`no ${name} to patch`);
    table[name] = async function (this: unknown, ...args: unknown[]) {
      const isAwaited = pass('file', [name, ...args.filter((arg) => typeof arg === 'string')].join(' '));
      const result = await original.apply(this, args);
      if (isAwaited && CRASH_HOW !== 'withheld') strike();
      return result;
    };
  }
};

// Threads count for themselves, so only what the main thread does has a number.
if (isMainThread) {
  durable(promises as unknown as Record<string, () => unknown>, ['rename', 'link', 'unlink']);
  const handle = await promises.open(import.meta.filename);
  durable(Object.getPrototypeOf(handle), ['sync', 'datasync']);
  await handle.close();
  syncBuiltinESMExports();
}
