// Passwords: scrypt, compared in constant time.
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';

const cost = { N: 16384, r: 8, p: 1 } as const;
const keyBytes = 32;

const derive = (password: string, salt: Buffer, options: ScryptOptions): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, keyBytes, options, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });

/** `scrypt:N:r:p:salt:key` (salt and key base64url) of a password, with a new salt. */
export const hashPassword = async (password: string): Promise<string> => {
  const salt = randomBytes(16);
  const key = await derive(password, salt, cost);
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64url'), key.toString('base64url')].join(':');
};

const pattern = /^scrypt:(\d{1,7}):(\d{1,2}):(\d{1,2}):([\w-]+):([\w-]+)$/;

/** True for a text that {@link hashPassword} could have made. */
export const isPasswordHash = (text: string): boolean => pattern.test(text);

/** True when the password is the one of the hash; as slow for a wrong hash as for a wrong password. */
export const checkPassword = async (password: string, hash: string): Promise<boolean> => {
  const match = pattern.exec(hash);
  if (match === null) {
    await derive(password, Buffer.alloc(16), cost);
    return false;
  }
  const [, N, r, p, salt = '', key = ''] = match;
  const options = { N: Number(N), r: Number(r), p: Number(p), maxmem: 256 * Number(N) * Number(r) };
  const found = await derive(password, Buffer.from(salt, 'base64url'), options);
  const expected = Buffer.from(key, 'base64url');
  return expected.length === found.length && timingSafeEqual(expected, found);
};
