// The portal of the specification.
import { usualExtensions } from '../../dataset-api/file-types.ts';
import type { Answer } from '../answer.ts';
import { isLocalAddress } from '../call.ts';
import { otherFields, resourceFields, specifiedDatasetFields } from '../content/fields.ts';
import { cleanFileName, freeName, mimeOf } from '../content/public-names.ts';
import { readSpecNode } from '../content/spec-input.ts';
import { fileItem } from '../content/view.ts';
import { Datastore } from '../datastore/datastore.ts';
import { bodyParsers, chooseFormat, formats } from '../media/formats.ts';
import { pageHandler, unknownPage } from '../pages/public-page.ts';
import type { Call, Profile, Wire } from '../portal.ts';
import { Refusal } from '../refusal.ts';
import { catalogueHandler } from '../resources/catalogue.ts';
import { datastoreResource } from '../resources/datastore.ts';
import { fileResource } from '../resources/file.ts';
import { nodeResource } from '../resources/node.ts';
import { searchHandler, searchKnown } from '../resources/search.ts';
import { guardedFiles, systemHandlers } from '../resources/system.ts';
import { termResource } from '../resources/term.ts';
import { userResource } from '../resources/user.ts';

/** True for a 404 of the site or of a route that goes to a browser, which asks for a page. */
const lacksPage = ({ request: { method, headers } }: Call, { status, contentType }: Answer): boolean =>
  status === 404 &&
  contentType.startsWith('text/html') &&
  (method === 'GET' || method === 'HEAD') &&
  /text\/html/i.test(headers.accept ?? '');

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
  finish: (call, sent) => {
    const answer = lacksPage(call, sent) ? { ...sent, ...unknownPage(call) } : sent;
    return call.user.uid === 0 && answer.headers?.['set-cookie'] === undefined
      ? answer
      : { ...answer, headers: { ...answer.headers, 'cache-control': 'private, no-store' } };
  },
};

export const specProfile: Profile = {
  name: 'spec',
  siteName: 'sluice portal',
  resources: {
    node: nodeResource,
    user: userResource,
    datastore: datastoreResource,
    file: fileResource,
    taxonomy_term: termResource,
  },
  fields: { dataset: specifiedDatasetFields, resource: resourceFields, ...otherFields },
  readNode: readSpecNode,
  uploads: {
    nameOf: (name) => cleanFileName(name, usualExtensions),
    mimeOf,
    // A file that replaces one of the same name takes over its public address.
    publicName: (name, isTaken, freed) =>
      freed.find(({ filename }) => filename === name)?.name ?? freeName(name, isTaken),
    item: fileItem,
  },
  savedWith: () => undefined,
  mostGroupedAtOnce: Number.POSITIVE_INFINITY,
  races: false,
  openDatastore: (parts) => new Datastore(parts),
  wire: specWire,
  site: [...systemHandlers, guardedFiles, searchHandler(searchKnown), catalogueHandler, pageHandler],
};
