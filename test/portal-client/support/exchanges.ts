// Exchanges with deployed releases, reduced to what tells their situations apart: request, status line, body.
import type { PortalFacts, Reply, Situation } from '../../../src/portal-client/answers.ts';

/** A: 7.x-1.18.16, B: 7.x-1.18.2, C: 7.x-1.14.7; P: something in front of a portal. */
type Release = 'A' | 'B' | 'C' | 'P';

/** One exchange, and the situation that it shows. */
export interface Exchange {
  situation: Situation;
  releases: Release[];
  reply: Reply;
  /** What differs from a logged-in account `creator` at the address `http://city.test/data`. */
  known: Partial<PortalFacts>;
}

const page = (title: string): string =>
  `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML+RDFa 1.0//EN">\n<html><head><title>${title} | City</title></head><body></body></html>`;

const exchange = (
  situation: Situation,
  releases: string,
  [request, status, text = '']: [request: string, status: string, text?: string],
  { headers = {}, ...known }: Partial<PortalFacts> & { headers?: Reply['headers'] } = {},
): Exchange => {
  const [method = '', path = ''] = request.split(' ');
  const reply = { method, path, status: Number(status.slice(0, 3)), reason: status.slice(4), headers, text };
  return { situation, releases: [...releases] as Release[], reply, known };
};

/** The message in the status line, as these portals say it, and in the body. */
const told = (request: string, status: string, message: string): [string, string, string] => [
  request,
  `${status} : ${message}`,
  JSON.stringify([message]),
];

/** A message in the status line alone: of what is thrown outside of the service. */
const thrown = (request: string, message: string): [string, string] => [
  request,
  `500 Internal Server Error : An error occurred ${message}`,
];

const login = 'POST /api/dataset/user/login';
const create = 'POST /api/dataset/node';
const update = 'PUT /api/dataset/node/7';
const read = 'GET /api/dataset/node/7';
const attach = 'POST /api/dataset/node/7/attach_file';
const importing = 'POST /api/dataset/datastore/7/import';
const status = 'GET /api/dataset/datastore/7';
const search = 'GET /api/action/datastore/search.json?resource_id=x&limit=1';

/** Exchanges of every situation that a reply shows. */
export const exchanges: Exchange[] = [
  exchange('logins-blocked', 'ABC', told(login, '406 Not Acceptable', 'Account is temporarily blocked.')),
  exchange('logins-blocked', 'AB', told(login, '406 Not Acceptable', 'This IP address is temporarily blocked.')),
  exchange('already-logged-in', 'ABC', told(login, '406 Not Acceptable', 'Already logged in as creator.')),
  exchange('account-blocked', 'ABC', [
    login,
    '403 : The username creator has not been activated or is blocked.',
    '["The username <em class=\\"placeholder\\">creator</em> has not been activated or is blocked."]',
  ]),
  exchange('no-login', 'P', [login, '404 Not Found', page('Page not found')]),
  exchange('no-login', 'P', [login, '405 Method Not Allowed', '']),
  exchange('login-page', 'P', [login, '403 Forbidden', page('Sign in')]),
  exchange('wrong-password', 'ABC', told(login, '401 Unauthorized', 'Wrong username or password.')),
  exchange('wrong-password', 'ABC', told(login, '401 Unauthorized', 'Missing required argument username')),
  exchange(
    'not-logged-in',
    'ABC',
    told('POST /api/dataset/user/logout', '406 Not Acceptable', 'User is not logged in.'),
  ),

  exchange('request-too-large', 'ABC', told(attach, '401 Unauthorized', 'Missing required argument field_name')),
  exchange('file-too-large', 'ABC', told(attach, '406 Not Acceptable', 'Failed to upload file. 1'), {
    upload: 'a.CSV',
  }),
  exchange('file-kind', 'ABC', told(attach, '406 Not Acceptable', 'Failed to upload file. 1'), { upload: 'a.parquet' }),
  exchange('file-kind', 'ABC', told(attach, '406 Not Acceptable', 'Failed to upload file. 1'), { upload: '.csv' }),
  exchange('body-too-large', 'P', [attach, '413 Request Entity Too Large', page('413')]),

  ...[
    read,
    create,
    update,
    'DELETE /api/dataset/node/7',
    attach,
    status,
    importing,
    'DELETE /api/dataset/datastore/7',
  ].map((request) => exchange('session-ended', 'ABC', told(request, '403', 'Access denied for user anonymous'))),
  exchange('session-ended', 'P', told(update, '403', 'CSRF validation failed')),
  exchange('session-ended', 'AB', [
    status,
    '403 : Access denied for user anonymous',
    '---\n- Access denied for user anonymous\n',
  ]),
  exchange('session-ended-silently', 'ABC', ['GET /api/dataset/node?pagesize=1', '200 OK', '[]'], {
    isLoggedOut: true,
  }),
  ...[create, read, importing].map((request) =>
    exchange('sent-home', 'ABC', [request, '302 Found'], { headers: { location: 'http://city.test/data/' } }),
  ),
  exchange('sent-home', 'ABC', [update, '302 Found'], { headers: { location: '/data' } }),
  exchange('argument-missing', 'ABC', told(create, '401 Unauthorized', 'Missing required argument field_name')),
  exchange('unauthorized', 'ABC', told(update, '401 Unauthorized', 'CSRF validation failed')),
  exchange('unauthorized', 'P', [update, '401 Unauthorized', '']),

  ...[status, importing, 'DELETE /api/dataset/datastore/7'].map((request) =>
    exchange('datastore-denied', 'AB', told(request, '403', 'Access denied for user creator')),
  ),
  exchange('denied', 'ABC', told(update, '403', 'Access denied for user Creator')),
  exchange('forbidden-suddenly', 'P', [update, '403 Forbidden', page('Forbidden')], { worked: true }),
  exchange('forbidden', 'P', [update, '403 Forbidden', page('Forbidden')]),
  exchange('forbidden', 'ABC', told(read, '403', 'Access denied for user anonymous'), { user: null }),

  exchange('table-missing', 'B', [
    search,
    '200 OK',
    '{"help":"Search","success":false,"error":{"message":"Table city.dkan_datastore_7 doesn\'t exist"}}',
  ]),
  exchange('table-missing', 'AB', [
    search,
    '200 OK',
    '{"error":{"message":"Caught exception: Error parsing CSV: {\\n \\"Message\\": \\"Invalid Input OTHER\\"}"}}',
  ]),
  exchange('table-absent', 'P', [
    search,
    '404 Not Found',
    '{"sql":"","error":{"message":"Caught exception: The resource has no datastore table."}}',
  ]),
  exchange('search-failed', 'A', [
    search,
    '200 OK',
    '{"error":{"message":"Exception Caught, please check logs for more information"}}',
  ]),
  exchange('search-broken', 'C', [search, '500 Service unavailable (with message)', page('Error')]),

  exchange(
    'busy',
    'AB',
    thrown(
      create,
      '(40001): SQLSTATE[40001]: Serialization failure: 1213 Deadlock found when trying to get lock; try restarting transaction',
    ),
  ),
  exchange(
    'busy',
    'AB',
    thrown(
      create,
      '(42000): SQLSTATE[42000]: Syntax error or access violation: 1305 SAVEPOINT savepoint_1 does not exist',
    ),
  ),
  exchange(
    'busy',
    'AB',
    thrown(
      update,
      '(HY000): SQLSTATE[HY000]: General error: 1205 Lock wait timeout exceeded; try restarting transaction',
    ),
  ),
  exchange('busy', 'AB', thrown(importing, '(0): Failed to get datastore variable lock, wait delay exceeded.')),
  exchange('busy', 'AB', thrown(status, '(0): Failed to get datastore variable lock, wait delay exceeded.')),
  exchange('database-down', 'ABC', thrown(read, '(2002): SQLSTATE[HY000] [2002] Connection refused')),
  exchange(
    'database-down',
    'A',
    thrown(
      importing,
      "(42000): SQLSTATE[42000]: Syntax error or access violation: 1142 CREATE command denied to user 'dkan'@'localhost' for table `dkan`.`dkan_datastore_1`",
    ),
  ),
  exchange(
    'database-down',
    'A',
    thrown(importing, "(HY000): SQLSTATE[HY000]: General error: 1114 The table 'dkan_datastore_1' is full"),
  ),

  exchange('no-importer', 'AB', thrown(importing, '(0): No Datastore Managers are active')),
  exchange(
    'csv-refused',
    'AB',
    thrown(importing, '(0): Error parsing CSV: {    "Message": "Invalid Input OTHER",    "Chunk": "a,b"}'),
  ),
  exchange(
    'too-many-columns',
    'AB',
    thrown(
      importing,
      '(42000): SQLSTATE[42000]: Syntax error or access violation: 1118 Row size too large (&gt; 8126). Changing some columns',
    ),
  ),
  exchange(
    'column-name',
    'AB',
    thrown(importing, "(42000): SQLSTATE[42000]: Syntax error or access violation: 1166 Incorrect column name ''"),
  ),
  exchange('header-missing', 'AB', thrown(importing, '(0): Unable to get headers from /srv/files/a.csv')),
  exchange(
    'cells-refused',
    'AB',
    thrown(
      importing,
      "(22007): SQLSTATE[22007]: Invalid datetime format: 1366 Incorrect string value: '\\xE9' for column `a`",
    ),
  ),
  exchange('import-cut', 'AB', [importing, '500 Internal Server Error']),
  exchange('import-cut', 'AB', [importing, '500 Internal Server Error : An error occurred.']),
  exchange('import-cut', 'AB', [importing, '500 Service unavailable (with message)', page('Error')]),
  exchange('import-cut', 'P', [importing, '504 Gateway Timeout', page('504 Gateway Time-out')]),

  exchange(
    'lost-reference',
    'AB',
    told(
      update,
      '500 Internal Server Error',
      'An error occurred (0): Invalid data value given. Be sure it matches the required data type and format. Value at node(): .',
    ),
  ),
  exchange('bundle-missing', 'AB', thrown(create, '(0): Missing bundle property on entity of type node.')),
  exchange('fields-refused', 'AB', [
    create,
    '500 Internal Server Error : An error occurred (0): Field validation errors',
    '["Field validation errors"]',
  ]),
  exchange(
    'form-shape',
    'AB',
    thrown(
      create,
      "(22007): SQLSTATE[22007]: Invalid datetime format: 1366 Incorrect integer value: 'select' for column `city`.`field_data_field_license`.`delta` at row 1",
    ),
  ),
  exchange(
    'value-refused',
    'AB',
    thrown(
      create,
      "(22001): SQLSTATE[22001]: String data, right truncated: 1406 Data too long for column 'title' at row 1",
    ),
  ),
  exchange(
    'value-refused',
    'AB',
    thrown(create, "(23000): SQLSTATE[23000]: Integrity constraint violation: 1048 Column 'tid' cannot be null"),
  ),
  exchange('value-refused', 'AB', [
    create,
    '500 Internal Server Error : An error occurred (0): Invalid option for field field_frequency',
    '["Invalid option for field field_frequency"]',
  ]),
  exchange('value-refused', 'ABC', [
    attach,
    '500 Internal Server Error : An error occurred (0): You cannot upload so many files.',
    '["You cannot upload so many files."]',
  ]),
  exchange(
    'value-refused',
    'C',
    thrown(
      update,
      "(22007): SQLSTATE[22007]: Invalid datetime format: 1366 Incorrect integer value: '' for column `city`.`field_data_field_upload`.`field_upload_grid` at row 1",
    ),
  ),
  exchange('form-refused', 'C', [
    create,
    '406 Not Acceptable : Title field is required.',
    '{"form_errors":{"title":"Title field is required."}}',
  ]),
  exchange('uuid-taken', 'P', told(create, '409 Conflict', 'A node with that uuid exists: nid 42')),

  exchange('not-this-api', 'P', [read, '404 Not Found', page('Page not found')], { proven: false, user: null }),
  exchange('not-this-api', 'P', [read, '200 OK', page('Welcome')], { proven: false, user: null }),
  exchange('page-missing', 'P', [read, '404 Not Found', page('Page not found')]),
  exchange('node-gone', 'ABC', told(read, '404 Not found', 'Node 7 could not be found')),
  exchange('node-gone', 'AB', told(importing, '404 Not found', 'Node 7 could not be found')),
  exchange('node-gone', 'ABC', told(update, '404 Not found', 'Der Node 7 konnte nicht gefunden werden.')),
  exchange('not-offered', 'C', [status, '404 Not found : Could not find resource datastore.']),
  exchange('not-offered', 'ABC', [attach, '404 Not found : Could not find the controller.']),
  exchange('not-offered', 'P', ['GET /ctools/autocomplete/taxonomy_term/a', '404 Not Found', page('Page not found')]),
  exchange('not-found', 'ABC', told('GET /api/dataset/user/9', '404 Not found', 'There is no user with ID 9.')),
  exchange('redirected', 'P', [update, '301 Moved Permanently'], { headers: { location: 'https://data.city.test/' } }),

  exchange('maintenance', 'ABC', [read, '503 Service unavailable', page('Site under maintenance')]),
  exchange('maintenance', 'ABC', [login, '503 Service unavailable', page('Site under maintenance')], {
    proven: false,
    user: null,
  }),
  exchange('rate-limited', 'P', [read, '429 Too Many Requests']),
  exchange('server-error', 'P', [read, '502 Bad Gateway', page('502 Bad Gateway')]),
  exchange('server-error', 'ABC', [create, '500 Service unavailable (with message)', page('Error')]),
  exchange('server-error', 'ABC', thrown(create, '(0): malformed mime type')),
  exchange('unknown', 'ABC', told(create, '406 Not Acceptable', 'Node type is required')),
  exchange('unknown', 'ABC', told(create, '400', 'Invalid JSON.')),
  exchange('odd-answer', 'P', [read, '200 OK', page('Please sign in')]),
  exchange('odd-answer', 'P', [read, '304 Not Modified']),
  exchange('odd-answer', 'P', [read, '302 Found'], { headers: { location: '/data/api/dataset/node/7' } }),
];
