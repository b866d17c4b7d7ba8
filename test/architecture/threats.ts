/** Each threat of docs/explanation/security.md, with the file and title of the test that shows it is prevented. */
export const threats: Record<string, [file: string, title: string]> = {
  'fetch internal addresses, unless `sources.allow` names them': [
    'test/sources/fetch/guarded-client.test.ts',
    'connects to the address that it judged, whatever the name says a moment later',
  ],
  'post notices to internal addresses': [
    'test/notify/notifier.test.ts',
    'gets nothing at a private address, and the notice is given up with the reason',
  ],
  'have its runs call a monitor at an internal address': [
    'test/notify/heartbeats.test.ts',
    'succeeds whatever becomes of its heartbeats: a private address of a manifest is not called',
  ],
  'obtain signed notices': [
    'test/notify/notifier.test.ts',
    'gets notices without a signature where its address is allowed',
  ],
  'exhaust memory': [
    'test/model/yaml/document.test.ts',
    'a file of millions of tiny values is refused before it is parsed',
  ],
  'crash the service repeatedly': [
    'test/queue/tree.test.ts',
    'is given up as poison after five kills in the same step, with that reason',
  ],
  'link, join or publish nodes through the file beside it': [
    'test/sources/manifest/sidecars.test.ts',
    'may not refer to nodes, set any field it likes, or choose a text format',
  ],
  'expose other files of the host': [
    'test/sources/gather/drop.test.ts',
    'refuses sidecars that are links, for they could show any file of the machine',
  ],
  'make sluice take files from another folder, also by swapping folders': [
    'test/sources/drop/take.test.ts',
    'puts the file of another folder back that was swapped in for the one that had settled',
  ],
  'exhaust memory or disk by decompression': [
    'test/tables/transform/adversarial.long.test.ts',
    'of archives and workbooks are stopped, too',
  ],
  'lose rows silently': [
    'test/tables/transform/adversarial.long.test.ts',
    'is a fault with sheet, row and cell, never a row that vanishes',
  ],
  'redirect the worker to an internal address': [
    'test/sources/fetch/guarded-client.test.ts',
    'does not follow a redirect inside, and says where from',
  ],
  'get the login of another server by a redirect': [
    'test/sources/fetch/credentials.test.ts',
    'of another server is not answered with a login, nor one that leads back',
  ],
  'reveal its own login by echoing it in messages and names': [
    'test/sources/fetch/credentials.test.ts',
    'does not repeat a login that a server echoes',
  ],
  'exhaust memory with a catalogue': [
    'test/sources/catalogue/json-ld.test.ts',
    'by a list of contexts is refused before it is expanded, with the place of the list',
  ],
  'block work with an endless catalogue': [
    'test/sources/catalogue/json-ld.test.ts',
    'takes down its own thread only, when it takes too long',
  ],
  'hold a job with a file that trickles: one has ten times `sources.body`, and a second for each 64 KB': [
    'test/sources/fetch/fetch.test.ts',
    'that only promises an answer, that goes silent, and that trickles',
  ],
  'delay `publish` beyond `--wait`': ['test/flow/portal-silent.test.ts', '%s ends publish once --wait is over'],
  'block work for other portals': [
    'test/flow/portal-down.test.ts',
    'is waited for over a kill of the service, holds up nobody else',
  ],
  'hang a run by a token, a cookie, or a reply or file that never ends': [
    'test/portal-client/http.test.ts',
    'a portal that only ever promises a reply has no more time than any other, be it of the API or a file',
  ],
  'exhaust memory by replies: those about nodes have 2 MB at most, those with rows 16 MB': [
    'test/portal-client/http.test.ts',
    'stops at a body that is larger than any reply of this API',
  ],
  'reveal a password, or part of it, by echoing it': [
    'test/portal-client/session.test.ts',
    'never shows parts of a password that',
  ],
  'send control sequences to a terminal': ['test/model/errors.test.ts', 'reaches no line that a command writes'],
  'reach the pages through a host name that resolves to loopback': [
    'test/web/server.test.ts',
    'on loopback refuses requests for',
  ],
  'see or do anything without the password, outside loopback': [
    'test/web/pages.test.ts',
    'nothing is shown or done before the login, but health and the stylesheet',
  ],
  'guess the password or the token at speed, by any way in': [
    'test/web/guesses.test.ts',
    'guesses by one way in close them all to that network, also for the right secret, and to nobody else',
  ],
  "have an operator's browser act": ['test/web/pages.test.ts', 'does nothing'],
  'run scripts through titles, messages, keys or addresses': [
    'test/web/pages.test.ts',
    'never becomes markup or a link that runs',
  ],
  'read other files through the address of a page': ['test/web/pages.test.ts', 'leads nowhere'],
  'occupy the service with open pages': ['test/web/pages.test.ts', 'are reported of changes, a bounded number of them'],
};
