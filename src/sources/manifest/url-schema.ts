// The keys of a resource whose file is fetched from the web: `url` and the name it gets.
import { z } from 'zod';
import { tellsType } from '../../dataset-api/file-types.ts';
import { optional } from '../../model/optional-key.ts';
import type { ResourceSource } from '../../model/wish.ts';

const address = z
  .url({ protocol: /^https?$/, error: 'must be a full address that begins with http:// or https://' })
  .refine((text) => !hasCredentials(text), {
    error: 'must not hold a user or password: addresses are logged; put the file where anybody may read it',
  });

const hasCredentials = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && (url.username !== '' || url.password !== '');
};

/** See the head of this file. */
export const urlShape = {
  url: optional(address, {
    description: 'Instead of a local file: one that is fetched, and fetched again when it changes.',
    examples: ['https://example.org/spending.csv'],
  }),
  name: optional(
    z.string().regex(/^(?!\.{1,2}$)[^/\\\p{Cc}]{1,200}$/u, {
      error: 'must be a file name without folders, such as `spending.csv`',
    }),
    {
      description:
        'File name on the portal, for a `url`. Default: the end of the address if it looks like a file name, else what its server says.',
      examples: ['spending.csv'],
    },
  ),
};

/** The source of a resource with `url`. */
export const urlSource = (url: string, name: string | undefined): ResourceSource => {
  if (name !== undefined) return { kind: 'url', url, name, isNamed: true };
  const last = lastPart(url);
  return { kind: 'url', url, name: last, isNamed: tellsType(last) };
};

const lastPart = (url: string): string => {
  const part = URL.parse(url)?.pathname.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(part).replace(/[/\\\p{Cc}]/gu, '_') || 'file';
  } catch {
    return part || 'file';
  }
};
