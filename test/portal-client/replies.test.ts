import { describe, expect, it } from 'vitest';
import type { Reply } from '../../src/portal-client/answers.ts';
import { failureOf, wrongShape } from '../../src/portal-client/replies.ts';
import { wordsOf } from '../../src/portal-client/reply-text.ts';

const reply = (status: number, text = '', over: Partial<Reply> = {}): Reply => ({
  method: 'GET',
  path: '/api/dataset/node/12',
  status,
  reason: 'OK',
  headers: {},
  text,
  ...over,
});
const proven = { name: 'city', url: 'http://city.test', proven: true, user: null, redact: (text: string) => text };
const unknown = { ...proven, proven: false };
const page =
  '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML+RDFa 1.0//EN">\n<html><head>\n<title>Page not found | City &amp; Co</title></head></html>';

describe("the portal's own words", () => {
  it.each([
    ['a one-element list', '["Wrong username or password."]', 'x', 'Wrong username or password.'],
    ['a bare JSON string', '"Access denied"', 'x', 'Access denied'],
    ['bare text', 'Access denied\n', 'x', 'Access denied'],
    ['a YAML list', '---\n- Access denied for user admin\n', 'x', 'Access denied for user admin'],
    [
      'errors of the editing form',
      '{"form_errors":{"title":"Title field is required.","field_license][und][select":"An illegal <em>choice</em>."}}',
      'x',
      'title: Title field is required.; field_license: An illegal choice.',
    ],
    ['an error object', '{"help":"…","success":false,"error":{"message":"Not found"}}', 'x', 'Not found'],
    ['a page', page, 'Not Found', 'Page not found | City & Co'],
    [
      'the reason phrase of an empty body',
      '',
      'Not found : Could not find the controller.',
      'Could not find the controller.',
    ],
    ['a reason phrase that begins with a colon', '', ': Invalid JSON.', 'Invalid JSON.'],
    ['a plain reason phrase', '', 'Bad Gateway', 'Bad Gateway'],
    ['markup and entities', '["Node &#039;<em class=\\"placeholder\\">x</em>&#039; &lt;b&gt;"]', 'x', "Node 'x' <b>"],
    ['control characters', '["a\\u001b[31m\\u0000b\\r\\nc"]', 'x', 'a [31m b c'],
  ])('are found in %s', (_, text, reason, words) => {
    expect(wordsOf({ text, reason })).toBe(words);
  });

  it('are cut to one readable line', () => {
    expect(wordsOf({ text: JSON.stringify(['x'.repeat(5000)]), reason: '' })).toHaveLength(300);
  });
});

describe('a reply that is no success', () => {
  it.each([
    [408, '["m"]', 'portal-unreachable', true],
    [425, '["m"]', 'portal-unreachable', true],
    [429, '["m"]', 'portal-unreachable', true],
    [500, '', 'portal-unreachable', true],
    [503, page, 'portal-unreachable', true],
    [500, '["Field validation errors"]', 'portal-refused', false],
    [500, '["You cannot upload so many files."]', 'portal-refused', false],
    [500, '["No Datastore Managers are active."]', 'portal-refused', false],
    [400, '["Invalid JSON."]', 'portal-refused', false],
    [401, '["CSRF validation failed"]', 'portal-session', true],
    [401, '["Missing required argument username"]', 'portal-refused', false],
    [403, '["Access denied for user x"]', 'portal-refused', false],
    [406, '{"form_errors":{"title":"Title field is required."}}', 'portal-refused', false],
    [413, page, 'portal-refused', false],
    [422, '["no"]', 'portal-refused', false],
    [404, '["Node 12 could not be found"]', 'portal-gone', true],
    [404, '["Der Node 12 konnte nicht gefunden werden."]', 'portal-gone', true],
    [404, '["Es gibt 3 andere"]', 'portal-refused', false],
    [404, '["There is no user with ID X."]', 'portal-refused', false],
    [404, page, 'portal-reply', true],
  ])('%i %s is %s', (status, text, code, retryable) => {
    expect(failureOf(reply(status, text), proven)).toMatchObject({ code, retryable, request: { status } });
  });

  it('names portal, method, path, status, words and what to do', () => {
    const error = failureOf(reply(406, '["Node type is required"]', { method: 'POST' }), proven);
    expect(error.message).toBe('portal city: POST /api/dataset/node/12 answered 406: Node type is required');
    expect(error.hint).toMatch(/\w/);
  });

  it('says where an importer is enabled on a portal that has none', () => {
    const none = reply(500, '', {
      reason: 'Internal Server Error : An error occurred (0): No Datastore Managers are active',
    });
    expect(failureOf(none, proven).hint).toContain('enable one there (/admin/modules');
  });

  it('404 for a part of the API that is not offered is told from a node that is gone', () => {
    const missing = reply(404, '', {
      reason: 'Not found : Could not find resource datastore.',
      path: '/api/dataset/datastore/1',
    });
    expect(failureOf(missing, proven)).toMatchObject({ code: 'portal-refused' });
  });

  it('404 by a site that never was this API is told apart', () => {
    expect(failureOf(reply(404, page), unknown)).toMatchObject({ code: 'portal-not-api' });
    expect(failureOf(reply(404, '{"detail":"Not Found"}'), unknown)).toMatchObject({ code: 'portal-not-api' });
  });

  it('a 500 to a write may have happened, a 500 that says the input is wrong is permanent', () => {
    expect(failureOf(reply(500, '', { method: 'PUT' }), proven).request.mayHaveHappened).toBe(true);
    const strict = 'Internal Server Error : An error occurred (22001): SQLSTATE[22001]: Data too long for column title';
    expect(failureOf(reply(500, '', { method: 'POST', reason: strict }), proven)).toMatchObject({
      code: 'portal-refused',
      request: { mayHaveHappened: true },
    });
  });

  it('names the fields that an editing form refused', () => {
    const text = '{"form_errors":{"field_frequency][und":"An illegal choice","title":"Title field is required."}}';
    expect(failureOf(reply(406, text), proven).request.formErrors).toEqual(['field_frequency', 'title']);
  });
});

describe('words that would steer a terminal', () => {
  it('reach no message: control and bidirectional characters are taken out', () => {
    const { message } = failureOf(reply(400, '"\\u001b[2Jno\\u202eevil\\u2066\\u009b1m"'), proven);
    expect(message).toBe('portal city: GET /api/dataset/node/12 answered 400: [2Jnoevil 1m');
  });
});

describe('a success of the wrong shape', () => {
  it('is another site before the first login, and a failure afterwards', () => {
    expect(wrongShape(reply(200, page), unknown, 'a node')).toMatchObject({
      code: 'portal-not-api',
      message:
        'portal city: GET /api/dataset/node/12 answered 200 with an HTML page ("Page not found | City & Co") instead of a node',
    });
    expect(wrongShape(reply(200, '{}'), proven, 'a node')).toMatchObject({ code: 'portal-reply', retryable: true });
  });
});

describe('messages that lead further', () => {
  it('show the first words of what came instead of JSON', () => {
    const notice = '<br />\n<b>Notice</b>: Undefined index: body in <b>/srv/a.php</b><br />\n[{"nid":"1"}]';
    expect(wrongShape(reply(200, notice), proven, 'a node').message).toContain(
      'something else ("Notice: Undefined index',
    );
    expect(wrongShape(reply(200, '\u001f\ufffd\b\u0000'), proven, 'a node').message).toContain(
      'with gzip without a header for it instead of a node',
    );
  });

  it.each([
    ['https://new.test/api/dataset/node/12', 'https://new.test'],
    ['https://new.test/open/api/dataset/node/12', 'https://new.test/open'],
    ['nowhere else', 'nowhere else'],
  ])('suggest of a redirect to %s what the configuration takes', (location, url) => {
    const error = failureOf(reply(301, '', { headers: { location } }), proven);
    if (url.startsWith('http')) expect(error.hint).toMatch(new RegExp(`: ${url}$`));
    else expect(error.hint).toContain('set its url');
  });
});
