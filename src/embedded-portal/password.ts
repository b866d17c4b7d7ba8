// Passwords: scrypt, compared in constant time, a few at once, because each takes memory and a thread that files need too.
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { Semaphore } from '../util/concurrency.ts';
import { Refusal } from './refusal.ts';

/** As strong as N = 2^17, r = 8, p = 1 by the advice of OWASP (Password Storage Cheat Sheet), in a quarter of the memory. */
const cost = { N: 32_768, r: 8, p: 3 } as const;
const keyBytes = 32;

const scryptOf = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

const derive = (password: string, salt: Buffer, { N, r, p }: { N: number; r: number; p: number }): Promise<Buffer> =>
  scryptOf(password.normalize('NFC'), salt, keyBytes, { N, r, p, maxmem: 256 * N * r });

/** `scrypt:N:r:p:salt:key` (salt and key base64url) of a password, with a new salt. */
export const hashPassword = async (password: string): Promise<string> => {
  const salt = randomBytes(16);
  const key = await derive(password, salt, cost);
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64url'), key.toString('base64url')].join(':');
};

const pattern = /^scrypt:(\d{1,7}):(\d{1,2}):(\d{1,2}):([\w-]+):([\w-]+)$/;

export const isPasswordHash = (text: string): boolean => pattern.test(text);

/** True for a hash that costs less to guess than those which are made today. */
export const isWeakHash = (hash: string): boolean => {
  const [, N, r, p] = pattern.exec(hash) ?? [];
  return Number(N) * Number(r) * Number(p) < cost.N * cost.r * cost.p;
};

/** True when the password is the one of the hash; as slow for a wrong hash as for a wrong password. */
export const checkPassword = async (password: string, hash: string): Promise<boolean> => {
  const match = pattern.exec(hash);
  if (match === null) {
    await derive(password, Buffer.alloc(16), cost);
    return false;
  }
  const [, N, r, p, salt = '', key = ''] = match;
  const found = await derive(password, Buffer.from(salt, 'base64url'), { N: Number(N), r: Number(r), p: Number(p) });
  const expected = Buffer.from(key, 'base64url');
  return expected.length === found.length && timingSafeEqual(expected, found);
};

const threads = 2;

/** How many may wait; a person waits a few seconds behind them. */
const mostWaiting = 50;

/** Runs a check when it is its turn. Throws a Refusal (503) at once where too many wait. */
export const loginQueue = () => {
  const slots = new Semaphore(threads);
  const { signal } = new AbortController();
  let present = 0;
  return async <T>(check: () => Promise<T>): Promise<T> => {
    if (present >= threads + mostWaiting) throw new Refusal(503, 'Too many people log in at once; try again.');
    present += 1;
    try {
      await slots.acquire(signal);
      return await check().finally(() => slots.release());
    } finally {
      present -= 1;
    }
  };
};
