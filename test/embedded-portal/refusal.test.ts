import { expect, it } from 'vitest';
import { cleanReason, reasonPhrase } from '../../src/embedded-portal/refusal.ts';

it.each([
  [401, 'Unauthorized : no'],
  [404, 'Not found : no'],
  [406, 'Not Acceptable : no'],
  [403, ': no'],
  [409, ': no'],
])('the reason phrase of %i carries the message', (status, expected) => {
  expect(reasonPhrase(status, 'no')).toBe(expected);
});

it('a reason phrase is fit for a status line whatever it is made of', () => {
  expect(cleanReason('The username <em class="x">ann</em>\r\nset-cookie: a=b\u0000')).toBe(
    'The username ann  set-cookie: a=b',
  );
  expect(cleanReason('数据 é 😀')).toBe('?? é ?');
  expect(cleanReason('x'.repeat(1000))).toHaveLength(200);
});
