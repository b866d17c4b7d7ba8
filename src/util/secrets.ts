// Secrets: compared, and taken out of what others wrote, such as a server that echoes them.
import { hash, timingSafeEqual } from 'node:crypto';

export const isSameSecret = (a: string, b: string): boolean =>
  timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'));

/** As it is; in JSON, also that of PHP; in an address, a form, and a header. */
const spellingsOf = (secret: string): string[] => {
  const json = JSON.stringify(secret).slice(1, -1);
  const unicode = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const php = json.replaceAll('/', '\\/').replace(/[^\0-\x7f]/g, unicode);
  const form = new URLSearchParams([['', secret]]).toString().slice(1);
  return [secret, json, php, encodeURIComponent(secret), form, Buffer.from(secret).toString('base64')];
};

/** A text with `[redacted]` for each secret, however it is spelt. */
export const withoutSecrets = (text: string, secrets: readonly string[]): string =>
  secrets
    .filter((secret) => secret.length > 2)
    .flatMap(spellingsOf)
    .sort((one, other) => other.length - one.length) // one may be a part of another
    .reduce((clean, secret) => clean.replaceAll(secret, '[redacted]'), text);
