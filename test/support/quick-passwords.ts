// Loaded before everything else, in vitest's workers and in the processes they start: scrypt at the lowest cost there is.
// The hashes still name the cost of the product, which takes a quarter of a second of a core for each login.
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

const { scrypt, scryptSync } = crypto;
const quick = { N: 2 };

Object.assign(crypto, {
  scrypt: (...[password, salt, bytes, options, done]: Parameters<typeof scrypt>) =>
    scrypt(password, salt, bytes, { ...options, ...quick }, done),
  scryptSync: (...[password, salt, bytes, options]: Parameters<typeof scryptSync>) =>
    scryptSync(password, salt, bytes, { ...options, ...quick }),
});
syncBuiltinESMExports();
