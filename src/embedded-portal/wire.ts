// How requests are read and answers written under the specification.
import { isLocalAddress } from './call.ts';
import { bodyParsers, chooseFormat, formats } from './media/formats.ts';
import type { Wire } from './portal.ts';
import { Refusal } from './refusal.ts';

/** Answers to a logged-in user are not cacheable, and a Host that is not ours is not repeated. */
export const specWire: Wire = {
  formats,
  chooseFormat,
  resultFormats: { datastore: 'yaml' },
  readers: { ...bodyParsers, 'multipart/form-data': null },
  ignoresCase: true,
  explains: true,
  skipsBody: () => false,
  malformedMime: (message) => new Refusal(406, message),
  longestReason: 200,
  pathOf: (path) => path.replace(/\/{2,}/g, '/'),
  believesHost: isLocalAddress,
  csrfTokenOf: ({ request }) => String(request.headers['x-csrf-token'] ?? ''),
  cookieAttributes: '; SameSite=Lax',
  finish: (call, answer) =>
    call.user.uid === 0 && answer.headers?.['set-cookie'] === undefined
      ? answer
      : { ...answer, headers: { ...answer.headers, 'cache-control': 'private, no-store' } },
};
