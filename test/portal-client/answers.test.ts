// The table of answers: a recorded exchange for every row.
import { describe, expect, it } from 'vitest';
import { isOutage } from '../../src/model/errors.ts';
import { answers, type PortalFacts, type Situation, situationOf } from '../../src/portal-client/answers.ts';
import { failureOf, networkFailure } from '../../src/portal-client/replies.ts';
import { exchanges } from './support/exchanges.ts';

const portal: PortalFacts = {
  name: 'city',
  url: 'http://city.test/data',
  proven: true,
  user: 'creator',
  redact: (text) => text,
};

const situations = Object.keys(answers) as Situation[]; // its own keys
const cases = exchanges.map((each) => ({
  ...each,
  title: `${each.releases.join('')} ${each.reply.method} ${each.reply.status} ${each.reply.reason.slice(0, 80)}`,
}));

describe('answers', () => {
  it.each(cases)('$title is $situation', ({ situation, reply, known }) => {
    expect(situationOf(reply, { ...portal, ...known })).toBe(situation);
  });

  it('have a recorded exchange for each situation that a reply shows', () => {
    const shown = new Set(exchanges.map(({ situation }) => situation));
    expect(situations.filter((each) => answers[each].status !== undefined && !shown.has(each))).toEqual([]);
  });

  it.each([
    ['ECONNREFUSED', 'connection-refused'],
    ['EAI_AGAIN', 'unknown-host'],
    ['UND_ERR_CONNECT_TIMEOUT', 'unreachable'],
    ['CERT_HAS_EXPIRED', 'certificate'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'handshake-failed'],
    ['UND_ERR_HEADERS_TIMEOUT', 'too-slow'],
    ['UND_ERR_RES_EXCEEDED_MAX_SIZE', 'too-long'],
    ['UND_ERR_SOCKET', 'no-reply'],
    ['ERR_ASSERTION', 'no-reply'],
    ['', 'no-reply'],
  ])('without a reply, code "%s" is %s', (code, situation) => {
    const fault = Object.assign(new Error('inside'), { code });
    expect(networkFailure({ method: 'GET', path: '/a' }, fault, portal).request.situation).toBe(situation);
  });

  it('carry the situation and whose fault it is, and show the first words of what they do not know', () => {
    const [reply] = exchanges.filter(({ situation }) => situation === 'unknown').map((each) => each.reply);
    if (!reply) throw new Error('no such exchange');
    const odd = { ...reply, status: 418, text: JSON.stringify([`I am a teapot ${'x'.repeat(400)}`]) };
    const error = failureOf(odd, portal);
    expect(error).toMatchObject({ code: 'portal-refused', request: { situation: 'unknown', fault: 'item' } });
    expect(error.message).toMatch(/^portal city: POST \/api\/dataset\/node answered 418: I am a teapot x+…$/);
  });

  it('are no outage where a file or an item is at fault, whatever their status', () => {
    for (const { situation, reply, known } of exchanges) {
      if (reply.status < 300) continue;
      const { fault } = answers[situation];
      const error = failureOf(reply, { ...portal, ...known });
      expect(error.request.fault).toBe(fault);
      if (fault === 'file' || fault === 'item' || fault === 'session') expect(isOutage(error), situation).toBe(false);
    }
  });

  it('an error inside the HTTP client is a fault of the network, with the address', () => {
    const inside = Object.assign(new Error('assert(!this.paused)'), { code: 'ERR_ASSERTION' });
    const error = networkFailure({ method: 'GET', path: '/sites/default/files/a.csv' }, inside, portal);
    expect(error).toMatchObject({ code: 'portal-unreachable', request: { fault: 'network', situation: 'no-reply' } });
    expect(error.message).toContain('GET /sites/default/files/a.csv got no reply');
  });
});
